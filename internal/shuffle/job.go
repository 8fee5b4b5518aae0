package shuffle

import (
	"math"
	"math/rand/v2"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// job is the state of the shuffle.
type job struct {
	c        *Config
	nodes    int
	reducers []reducer
	done     [][]int // of each node: its maps that are over, in that order
	maps     int     // that are over, in all
	needed   int     // before reducers begin
	left     int     // parts that have not been fetched
	pool     *tcp.Pool
	route    func(from, to int) netmodel.Route

	r   *Result
	end aqm.Time // of the last fetch; 0: not yet
}

// reducer fetches its part of every map.
type reducer struct {
	node   int
	order  []int32 // of the nodes to look at
	next   []int32 // of each node: how many of done are fetched or on the way
	busy   []bool  // of each node: a fetcher is there
	active int     // fetchers

	bytes       int64 // over the network
	first, last aqm.Time
}

func newJob(c *Config, pool *tcp.Pool, route func(from, to int) netmodel.Route, r *Result) *job {
	n := c.Network.Racks * c.Network.Nodes
	j := &job{
		c: c, nodes: n, pool: pool, route: route, r: r,
		reducers: make([]reducer, n*c.Job.Reducers), done: make([][]int, n),
	}
	j.left = n * c.Job.Maps * len(j.reducers)
	j.needed = int(math.Ceil(c.Job.SlowStart * float64(n*c.Job.Maps)))
	orders := rand.New(rand.NewPCG(c.Seed, streamOrders))
	for i := range j.reducers {
		order := make([]int32, n)
		for k, x := range orders.Perm(n) {
			order[k] = int32(x)
		}
		j.reducers[i] = reducer{node: i / c.Job.Reducers, order: order, next: make([]int32, n), busy: make([]bool, n)}
	}
	return j
}

// mapOver makes what a map has left available.
func (j *job) mapOver(now aqm.Time, m int) {
	node := m / j.c.Job.Maps
	j.done[node] = append(j.done[node], m)
	j.maps++
	if j.maps < j.needed {
		return
	}
	for i := range j.reducers {
		j.work(now, i)
	}
}

// work starts what fetches a reducer can.
func (j *job) work(now aqm.Time, i int) {
	r := &j.reducers[i]
	for k := int(r.next[r.node]); k < len(j.done[r.node]); k++ { // its own node's: no network
		r.next[r.node]++
		j.got(now, j.done[r.node][k], i)
	}
	for _, h := range r.order {
		if r.active >= j.c.Job.Parallel {
			return
		}
		waiting := len(j.done[h]) - int(r.next[h])
		if r.busy[h] || waiting == 0 {
			continue
		}
		f := &fetch{j: j, reducer: i, node: int(h), from: int(r.next[h])}
		f.to = f.from + min(waiting, j.c.Job.MaxOutputs)
		for _, m := range j.done[h][f.from:f.to] {
			f.size += j.c.part(m, i, len(j.reducers))
		}
		r.next[h] = int32(f.to)
		r.busy[h] = true
		r.active++
		if r.first == 0 {
			r.first = now
		}
		f.dial(now)
	}
}

// got takes a part as fetched.
func (j *job) got(now aqm.Time, m, reducer int) {
	if j.c.fetched != nil {
		j.c.fetched(m, reducer)
	}
	if j.left--; j.left == 0 {
		j.end = now
	}
}

// fetch is one connection to a node, for the parts of some of its maps. It is the
// client's application.
type fetch struct {
	tcp.NoApp
	j             *job
	reducer, node int
	from, to      int // of done[node]
	size, read    int64
	server        answer
}

func (f *fetch) dial(now aqm.Time) {
	f.read = 0
	f.server = answer{want: f.j.c.Job.Request, size: f.size}
	f.j.r.Fetches++
	f.j.pool.Dial(now, f.j.route(f.j.reducers[f.reducer].node, f.node), FlowJob, f, &f.server)
}

// Connected implements tcp.App.
func (f *fetch) Connected(now aqm.Time, e *tcp.End) { e.Write(now, f.j.c.Job.Request) }

// Read implements tcp.App.
func (f *fetch) Read(now aqm.Time, e *tcp.End, n int64) {
	if f.read += n; f.read < f.size {
		return
	}
	j, r := f.j, &f.j.reducers[f.reducer]
	j.r.TCP.count(e.Conn())
	r.bytes += f.size
	r.last = now
	r.busy[f.node] = false
	r.active--
	for _, m := range j.done[f.node][f.from:f.to] {
		j.got(now, m, f.reducer)
	}
	j.work(now, f.reducer)
}

// Closed implements tcp.App. A handshake that was given up is begun anew.
func (f *fetch) Closed(now aqm.Time, e *tcp.End, err error) {
	if err != nil {
		f.j.r.TCP.GivenUp++
		f.dial(now)
		return
	}
	e.Close(now)
}

// answer is a server's application: it waits for the request, answers and closes.
type answer struct {
	tcp.NoApp
	want, size int64
}

// Read implements tcp.App.
func (a *answer) Read(now aqm.Time, e *tcp.End, n int64) {
	if a.want > 0 {
		if a.want -= n; a.want <= 0 {
			e.Write(now, a.size)
			e.Close(now)
		}
	}
}
