package web

import (
	"errors"
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// Config is a simulation.
type Config struct {
	Rate   uint64  // bit/s; > 0; of the bottleneck, from the servers to the clients
	Access uint64  // bit/s; > 0; of the link that all servers share in front of it
	Back   uint64  // bit/s; > 0; of the link from the clients
	Limit  int     // packets; > 0; room in the bottleneck's queue
	AQM    aqm.AQM // on the bottleneck
	TCP    tcp.Config

	Model    Model
	Users    int     // of the closed form; or
	Arrivals float64 // connections a second, in the open form

	RTT Dist // milliseconds; of each connection over the empty network; rounded

	Seed    uint64
	Warmup  time.Duration // >= 0; what begins before it does not count
	Measure time.Duration // > 0; nor what begins after so much more
	Tail    time.Duration // >= 2 s; how much longer the network runs
}

// Validate returns all that is wrong, or nil.
func (c *Config) Validate() error {
	var errs []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("web: "+format, args...))
		}
	}
	require(c.Rate > 0 && c.Access > 0 && c.Back > 0, "rates = %d, %d and %d bit/s, must be > 0", c.Rate, c.Access, c.Back)
	require((c.Users > 0) != (c.Arrivals > 0), "Users = %d and Arrivals = %v, must be one of the two > 0", c.Users, c.Arrivals)
	require(c.RTT != nil, "RTT = nil, must be a distribution")
	require(c.Warmup >= 0 && c.Measure > 0 && c.Tail >= truncation && c.Warmup+c.Measure+c.Tail <= time.Hour,
		"times = %v, %v and %v, must be >= 0, > 0 and >= %v, and an hour at most", c.Warmup, c.Measure, c.Tail, truncation)
	return errors.Join(append(errs, c.Model.validate(), c.TCP.Validate())...)
}

// Result is what was measured.
type Result struct {
	First  Times // first exchanges of connections, from the opening of the connection
	Asked  Times // the same, from the writing of the request
	Follow Times // exchanges that follow, from the writing of the request

	Exchanges, Pages uint64 // completed within the time of measurement
	Connections      uint64 // opened in the whole run
	Failed           uint64 // of which the handshake was given up

	Link     netmodel.Stats // the bottleneck, within the time of measurement
	Back     netmodel.Stats // the way from the clients
	Delay    netmodel.Histogram
	QueueP99 int // packets; of samples each 5 ms
	Packets  uint64
}

// Handshake returns the response times of all exchanges, those that are first on their
// connection with the handshake.
func (r *Result) Handshake() *Times {
	t := r.First
	t.Merge(&r.Follow)
	return &t
}

// Request returns the response times of all exchanges without any handshake.
func (r *Result) Request() *Times {
	t := r.Asked
	t.Merge(&r.Follow)
	return &t
}

// run is a simulation that goes on.
type run struct {
	*Result
	net    *netmodel.Net
	pool   *tcp.Pool
	model  Model
	rtts   Dist
	routes []netmodel.Route // by milliseconds
	from   aqm.Time         // measurement
	to     aqm.Time
	free   *visit
	watch  func(now aqm.Time, u *user) // a page begins; nil but in tests
}

func (r *run) begun(now aqm.Time, t *Times) {
	if r.from <= now && now < r.to {
		t.Begun++
	}
}

func (r *run) ended(now aqm.Time, t *Times, began aqm.Time) {
	if r.from <= began && began < r.to {
		t.add(now - began)
	}
}

func (r *run) completed(now aqm.Time) {
	if r.from <= now && now < r.to {
		r.Exchanges++
	}
}

func (r *run) paged(now aqm.Time) {
	if r.from <= now && now < r.to {
		r.Pages++
	}
}

func (r *run) at(at aqm.Time, u *user) { r.net.Sim().At(at, u.wake) }

// route returns the way of a connection with the round-trip time of a uniform number.
func (r *run) route(u float64) netmodel.Route { return r.routes[r.milliseconds(u)] }

func (r *run) milliseconds(u float64) int { return int(r.rtts.Quantile(u) + .5) }

// build makes the network: all servers behind one link, and a wire behind the bottleneck
// and another behind the way back for each round-trip time.
func (r *run) build(c *Config) (bottleneck, back *netmodel.Link, err error) {
	access, err1 := r.net.Wire("servers", c.Access, 0, nil)
	bottleneck, err2 := r.net.Queue(netmodel.QueueConfig{Name: "bottleneck", Rate: c.Rate, Limit: c.Limit, AQM: c.AQM})
	back, err3 := r.net.Queue(netmodel.QueueConfig{Name: "back", Rate: c.Back, Limit: 1_000_000, AQM: aqm.TailDrop{}})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, nil, err
	}
	least, most := r.milliseconds(0x1p-54), r.milliseconds(1-0x1p-53)
	if least < 0 || most > 60_000 {
		return nil, nil, fmt.Errorf("web: RTT = %v ms, must be in [0, 60000]", c.RTT)
	}
	r.routes = make([]netmodel.Route, most+1)
	for ms := least; ms <= most; ms++ {
		half := time.Duration(ms) * time.Millisecond / 2
		down, err1 := r.net.Wire(fmt.Sprintf("%d ms down", ms), c.Access, half, bottleneck)
		up, err2 := r.net.Wire(fmt.Sprintf("%d ms up", ms), c.Access, half, back)
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		forward, err1 := r.net.Path(back, up)
		reverse, err2 := r.net.Path(access, bottleneck, down)
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		r.routes[ms] = netmodel.Route{Forward: forward, Reverse: reverse}
	}
	return bottleneck, back, nil
}

// start has the users wait for what is left of a think time, or the first connection
// arrive.
func (r *run) start(c *Config) {
	if c.Arrivals > 0 {
		a := &arrivals{run: r, stream: newStream(c.Seed, 0), mean: 1 / c.Arrivals}
		r.net.Sim().At(0, a.arrive)
		return
	}
	left := newResidual(c.Model.Think)
	for i := range c.Users {
		u := &user{run: r, stream: newStream(c.Seed, uint64(i)+1)}
		at := seconds(left.draw(u.stream.u(), u.stream.u()))
		c.Model.draw(u.stream, &u.page)
		u.wake = u.fetch
		r.at(at, u)
	}
}

// Run simulates.
func Run(c Config) (*Result, error) { return simulate(c, nil) }

func simulate(c Config, watch func(now aqm.Time, u *user)) (*Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &run{
		watch:  watch,
		Result: &Result{}, net: netmodel.New(), model: c.Model, rtts: c.RTT,
		from: aqm.Time(c.Warmup), to: aqm.Time(c.Warmup + c.Measure),
	}
	var err error
	if r.pool, err = tcp.NewPool(r.net, c.TCP); err != nil {
		return nil, err
	}
	bottleneck, back, err := r.build(&c)
	if err != nil {
		return nil, err
	}
	r.start(&c)

	r.net.Run(r.from)
	r.Packets = bottleneck.Stats().SentPackets
	bottleneck.Measure()
	back.Measure()
	const each = 5 * time.Millisecond
	queue := bottleneck.Watch(each, int(c.Measure/each))
	r.net.Run(r.to)
	r.Link, r.Back, r.Delay = bottleneck.Stats(), back.Stats(), *bottleneck.Sojourns()
	r.QueueP99 = p99(queue)
	r.net.Run(r.to + aqm.Time(c.Tail))
	r.Packets += bottleneck.Stats().SentPackets
	r.Connections, r.Failed = r.pool.Opened, r.pool.Failed
	return r.Result, nil
}

// p99 returns the queue's 99th percentile in packets.
func p99(s *netmodel.Series) int {
	most := 0
	for _, x := range s.Samples {
		most = max(most, x.Packets)
	}
	count := make([]int, most+1)
	for _, x := range s.Samples {
		count[x.Packets]++
	}
	left := len(s.Samples) / 100
	for q := most; q > 0; q-- {
		if left -= count[q]; left < 0 {
			return q
		}
	}
	return 0
}
