package shuffle

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
	"github.com/aqmkit/aqmkit/threshold"
)

func small() Config {
	t := tcp.DefaultConfig()
	t.SmallQueues, t.ReceiveWindow = true, 256<<10
	return Config{
		Network: Network{
			Racks: 2, Nodes: 2, Spines: 1, EdgeRate: 1e9, CoreRate: 10e9,
			EdgeDelay: 20 * time.Microsecond, CoreDelay: 10 * time.Microsecond, Buffer: 100,
		},
		TCP: t,
		Job: Job{
			Maps: 4, Slots: 2, MapTime: 5 * time.Millisecond, MapSpread: .5, Output: 4 << 20, Spread: .2,
			Reducers: 2, Parallel: 5, MaxOutputs: 20, SlowStart: .05, Request: 300,
		},
		Service: Requests{Rate: 500, Request: 200, Response: 2000},
		Seed:    1,
		MakeAQM: func(Port) (aqm.AQM, error) { return aqm.TailDrop{}, nil },
		Limit:   time.Minute,
	}
}

func marking(c *Config) {
	c.MakeAQM = func(p Port) (aqm.AQM, error) {
		return threshold.New(threshold.Config{Packets: int(20 * p.Rate / 1e9)})
	}
}

// TestConserved: every part is fetched exactly once, whatever is lost on the way, and
// what went over the network is what was not at home.
func TestConserved(t *testing.T) {
	c := small()
	c.Network.Buffer = 10
	parts := map[[2]int]int{}
	c.fetched = func(m, r int) { parts[[2]int{m, r}]++ }
	r, err := Run(c)
	require.NoError(t, err)
	assert.Len(t, parts, 4*4*8)
	want := int64(0)
	for p, n := range parts {
		assert.Equal(t, 1, n, p)
		if p[0]/4 != p[1]/2 { // not the reducer's own node
			want += c.part(p[0], p[1], 8)
		}
	}
	assert.Equal(t, want, r.Bytes)
	assert.Positive(t, r.Kinds[netmodel.KindData].Overflow, "the buffer is small")
	assert.Positive(t, r.TCP.Retransmits)
	assert.Positive(t, r.TCP.Stalls)
	assert.Equal(t, uint64(r.Fetches), r.TCP.Connections+r.TCP.GivenUp)

	var kinds, flows uint64
	for _, k := range r.Kinds {
		kinds += k.Arrived
	}
	for _, f := range r.Flows {
		flows += f.Arrived
	}
	assert.Equal(t, kinds, flows, "every packet is of one kind and of one flow")
}

// TestSame: equal seeds give equal results, others do not.
func TestSame(t *testing.T) {
	run := func(seed uint64) *Result {
		c := small()
		c.Seed = seed
		r, err := Run(c)
		require.NoError(t, err)
		return r
	}
	one := run(1)
	assert.Equal(t, one, run(1))
	assert.NotEqual(t, one.RunTime, run(2).RunTime)
}

// TestCommonRandomNumbers: what a scheme does changes neither when maps end, nor how
// large parts are, nor which requests come when and for whom, as far as either run goes.
func TestCommonRandomNumbers(t *testing.T) {
	type request struct {
		flow, from, to int
		at             aqm.Time
	}
	run := func(change func(*Config)) (all []request, r *Result) {
		c := small()
		c.Plain = Requests{Rate: 300, Request: 100, Response: 5000}
		change(&c)
		c.dialled = func(flow, from, to int, at aqm.Time) { all = append(all, request{flow, from, to, at}) }
		r, err := Run(c)
		require.NoError(t, err)
		return all, r
	}
	a, r1 := run(func(c *Config) { c.Network.Buffer = 10 })
	b, r2 := run(marking)
	require.NotEqual(t, r1.RunTime, r2.RunTime, "the schemes do differ")
	n := min(len(a), len(b))
	require.Greater(t, n, 50)
	assert.Equal(t, a[:n], b[:n])
	assert.Equal(t, r1.Bytes, r2.Bytes)
	_, r3 := run(func(c *Config) { c.Seed = 2 })
	assert.NotEqual(t, r1.Bytes, r3.Bytes)
}

// TestMapEnds: a node's maps run as many at a time as it has slots.
func TestMapEnds(t *testing.T) {
	c := small()
	c.Job.MapSpread = 0
	ends := c.mapEnds()
	require.Len(t, ends, 16)
	assert.Equal(t, []aqm.Time{5e6, 5e6, 10e6, 10e6}, ends[:4])
	c.Job.MapSpread = .5
	mean := 0.
	for _, at := range c.mapEnds() {
		assert.GreaterOrEqual(t, at, aqm.Time(2.5e6))
		assert.LessOrEqual(t, at, aqm.Time(15e6))
		mean += float64(at) / 16
	}
	assert.InDelta(t, 7.5e6, mean, 1.5e6)
}

// TestPart: sizes are within the spread, and their mean is the output's share.
func TestPart(t *testing.T) {
	c := small()
	sum := 0.
	const n = 2000
	for m := range n {
		size := float64(c.part(m, m%8, 8))
		assert.InDelta(t, 4<<17, size, .2*(4<<17)+1)
		sum += size / n
	}
	assert.InEpsilon(t, 4<<17, sum, .01)
}

// TestArrivals: Poisson, and for every node but one's own alike.
func TestArrivals(t *testing.T) {
	a := newArrivals(1, streamService, 1, 4, 1000)
	to := [4]int{}
	var last aqm.Time
	const n = 30000
	for range n {
		at, node := a.next()
		require.GreaterOrEqual(t, at, last)
		last = at
		to[node]++
	}
	assert.InEpsilon(t, n/1000., last.Sub(0).Seconds(), 4/math.Sqrt(n))
	assert.Zero(t, to[1])
	for _, node := range []int{0, 2, 3} {
		assert.InEpsilon(t, n/3., float64(to[node]), .03)
	}
}

// TestFetchesInTurn: a fetch takes all that waits at a node, or one part where that is
// the most, and the bytes are the same.
func TestFetchesInTurn(t *testing.T) {
	c := small()
	c.Job.Parallel = 1
	c.Service.Rate = 0
	one, err := Run(c)
	require.NoError(t, err)
	c.Job.MaxOutputs = 1
	each, err := Run(c)
	require.NoError(t, err)
	assert.Equal(t, 4*8*4-8*4, each.Fetches, "a connection for each part from elsewhere")
	assert.Less(t, one.Fetches, each.Fetches)
	assert.Equal(t, one.Bytes, each.Bytes)
}

// TestOthers: datagrams and plain TCP are not ECN-capable, and are counted apart.
func TestOthers(t *testing.T) {
	c := small()
	marking(&c)
	c.Probes = Probes{Rate: 1000, Size: 200}
	c.Plain = Requests{Rate: 300, Request: 100, Response: 20000}
	r, err := Run(c)
	require.NoError(t, err)
	assert.Positive(t, r.Flows[FlowJob].Marked)
	assert.Zero(t, r.Flows[FlowPlain].Marked)
	assert.Zero(t, r.Flows[FlowProbes].Marked)
	assert.Positive(t, r.Plain.Time.Count())
	assert.Zero(t, r.Plain.TCP.Reductions)
	assert.InDelta(t, 4*1000*r.RunTime.Seconds(), float64(r.Probes), 8)
	// A node's link, and for all probes but none the core's two.
	assert.InDelta(t, 3*float64(r.Probes), float64(r.Flows[FlowProbes].Arrived), 12)
}

// TestLatency: on an idle network a lone request takes what its path does.
func TestLatency(t *testing.T) {
	c := small()
	c.Job.Output, c.Job.MapTime = 16, time.Millisecond
	c.Job.MapSpread = 0
	c.Job.Spread = 0
	c.Service.Rate = 0
	c.Network.Racks, c.Network.Nodes = 1, 2
	r, err := Run(c)
	require.NoError(t, err)
	// Two links of 20 us, and the shortest data packet is a part of 4 bytes and headers.
	assert.Greater(t, r.Latency[netmodel.KindData].Mean(), 40*time.Microsecond)
	assert.Less(t, r.Latency[netmodel.KindData].Max(), 80*time.Microsecond)
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"Racks":    func(c *Config) { c.Network.Racks = 0 },
		"Output":   func(c *Config) { c.Job.Output = 3 },
		"Parallel": func(c *Config) { c.Job.Parallel = 0 },
		"MakeAQM":  func(c *Config) { c.MakeAQM = nil },
		"Limit":    func(c *Config) { c.Limit = 0 },
		"Buffer":   func(c *Config) { c.Network.Buffer = 0 },
	} {
		c := small()
		change(&c)
		_, err := Run(c)
		require.ErrorIs(t, err, aqm.ErrConfig, want)
	}
	c := small()
	c.Limit = time.Millisecond
	_, err := Run(c)
	assert.ErrorContains(t, err, "not fetched after 1ms")
}
