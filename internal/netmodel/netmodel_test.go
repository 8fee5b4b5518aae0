package netmodel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/sim"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// sink writes down when packets come, by their Seq.
type sink struct {
	net *netmodel.Net
	at  map[int64]aqm.Time
	ecn map[int64]aqm.ECN
}

func (s *sink) Receive(now aqm.Time, p *netmodel.Packet) {
	s.at[p.Seq], s.ecn[p.Seq] = now, p.ECN
	s.net.Free(p)
}

// naive is a queue with an event for everything: what a chain of wire, queue and wire
// does to packets that are sent at given times.
type naive struct {
	rate, delay []int64 // ps per byte, ns; of the three
	limit       int
}

func (m naive) wire(i int, at []int64, size []uint32) []int64 {
	out, free := make([]int64, len(at)), int64(0)
	for k := range at {
		free = max(free, at[k]) + int64(size[k])*m.rate[i]/1000
		out[k] = free + m.delay[i]
	}
	return out
}

// queue returns when packets leave, -1 for those that found the queue full, and the
// integral of its length up to a time.
func (m naive) queue(at []int64, size []uint32, until int64) (out []int64, area float64) {
	out = make([]int64, len(at))
	var begins []int64 // of transmissions
	free := int64(0)
	for k, now := range at {
		waiting := 0
		for _, b := range begins {
			if b > now {
				waiting++
			}
		}
		if waiting >= m.limit {
			out[k] = -1
			continue
		}
		begin := max(free, now)
		begins = append(begins, begin)
		free = begin + int64(size[k])*m.rate[1]/1000
		out[k] = free + m.delay[1]
		area += float64(max(0, min(begin, until)-min(now, until)))
	}
	return out, area
}

// TestExact holds a chain of wire, queue and wire, which are looked at late, against
// the naive calculation.
func TestExact(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		m := naive{limit: 1 + r.IntN(30)}
		for range 3 {
			m.rate = append(m.rate, 1000*(1+r.Int64N(200)))
			m.delay = append(m.delay, r.Int64N(3)*r.Int64N(1_000_000))
		}
		n := netmodel.New()
		rate := func(i int) uint64 { return uint64(8_000_000_000_000 / m.rate[i]) }
		up, err := n.Wire("up", rate(0), time.Duration(m.delay[0]), nil)
		require.NoError(t, err)
		q, err := n.Queue(netmodel.QueueConfig{Rate: rate(1), Delay: time.Duration(m.delay[1]), Limit: m.limit, AQM: aqm.TailDrop{}})
		require.NoError(t, err)
		feeder := q
		if seed%2 == 0 {
			feeder = nil // the wire may have others: an event for each packet
		}
		down, err := n.Wire("down", rate(2), time.Duration(m.delay[2]), feeder)
		require.NoError(t, err)
		p, err := n.Path(up, q, down)
		require.NoError(t, err)
		got := &sink{n, map[int64]aqm.Time{}, map[int64]aqm.ECN{}}
		flow := p.Flow(got, 0)
		var at []int64
		var size []uint32
		now := int64(0)
		for i := range 400 {
			now += r.Int64N(100_000) * r.Int64N(2)
			at, size = append(at, now), append(size, uint32(40+r.IntN(1460)))
			n.Sim().At(aqm.Time(now), func(now aqm.Time) {
				p := n.Packet()
				p.Seq, p.Size, p.Class, p.ECN = int64(i), size[i], aqm.Data, aqm.NotECT
				flow.Send(now, p)
			})
		}
		require.Equal(t, rate(0), up.Rate())
		until := now / 2
		n.Run(aqm.Time(until))
		half := q.Stats()
		n.Run(1e12)
		arrived := m.wire(0, at, size)
		left, _ := m.queue(arrived, size, math.MaxInt64)
		_, area := m.queue(arrived, size, until)
		var at2 []int64
		var size2 []uint32
		var ids []int64
		for k, x := range left {
			if x >= 0 {
				at2, size2, ids = append(at2, x), append(size2, size[k]), append(ids, int64(k))
			}
		}
		want := map[int64]aqm.Time{}
		for i, x := range m.wire(2, at2, size2) {
			want[ids[i]] = aqm.Time(x)
		}
		require.Equal(t, want, got.at, "seed %d", seed)
		require.InEpsilon(t, area+1, half.PacketTime+1, 1e-9)
		s := q.Stats()
		require.Equal(t, uint64(400), s.Kinds[netmodel.KindData].Arrived)
		require.Equal(t, uint64(400-len(want)), s.Total().Overflow)
		require.Equal(t, uint64(len(want)), s.SentPackets)
		require.Equal(t, uint64(len(want)), q.Sojourns().Count())
	}
}

// digest is what two equal runs have in common.
func digest(t testing.TB, seed uint64) []any {
	a, err := like2("RED", 20, seed)
	require.NoError(t, err)
	s, err := dumbbell(20, 20, 300, a, tcp.DefaultConfig())
	require.NoError(t, err)
	s.net.Run(10e9)
	out := []any{s.d.Bottleneck.Stats(), s.d.Back.Stats(), *s.d.Bottleneck.Sojourns(), s.net.Sim().Events()}
	for i, c := range s.conns {
		out = append(out, c.Client.Stats, c.Server.Stats, s.d.Bottleneck.Flow(i))
	}
	return out
}

// TestDeterministic: equal seeds give equal figures, whatever the number of workers.
func TestDeterministic(t *testing.T) {
	var runs [3][4][]any
	for w := range runs {
		sim.Each(4, w+1, func(i int) { runs[w][i] = digest(t, uint64(i/2)) })
	}
	assert.Equal(t, runs[0], runs[1])
	assert.Equal(t, runs[0], runs[2])
	assert.Equal(t, runs[0][0], runs[0][1])
	assert.NotEqual(t, runs[0][0], runs[0][2])
}

// TestAllocatesNothing: nothing is allocated once a run has come to its size.
func TestAllocatesNothing(t *testing.T) {
	a, err := like2("RED", 100, 3)
	require.NoError(t, err)
	s, err := dumbbell(100, 50, 1666, a, tcp.DefaultConfig())
	require.NoError(t, err)
	s.net.Run(20e9)
	until := s.net.Now()
	assert.Zero(t, testing.AllocsPerRun(3, func() { until += 2e9; s.net.Run(until) }))
}

// TestConservation: what flows count adds up to what kinds count, and everything that
// arrived was sent, dropped or is queued.
func TestConservation(t *testing.T) {
	a, err := like2("RED", 10, 3)
	require.NoError(t, err)
	s, err := dumbbell(10, 30, 166, a, tcp.DefaultConfig())
	require.NoError(t, err)
	s.net.Run(20e9)
	q := s.d.Bottleneck
	st := q.Stats()
	var flows netmodel.Counters
	for i := range 30 {
		f := q.Flow(i)
		flows.Arrived += f.Arrived
		flows.Marked += f.Marked
		flows.Early += f.Early
		flows.Forced += f.Forced
		flows.Overflow += f.Overflow
	}
	total := st.Total()
	assert.Equal(t, total, flows)
	assert.Equal(t, total.Arrived, st.SentPackets+total.Dropped()+uint64(q.Len()))
	assert.NotZero(t, total.Marked)
	assert.NotZero(t, total.Forced)
	assert.GreaterOrEqual(t, st.Kinds[netmodel.KindSYN].Arrived, uint64(30))
	assert.GreaterOrEqual(t, s.d.Back.Stats().Kinds[netmodel.KindSYNACK].Arrived, uint64(30))
	assert.NotZero(t, s.d.Back.Stats().Kinds[netmodel.KindPureACK].Arrived)
	assert.Equal(t, netmodel.Counters{}, q.Flow(-1))
}

// TestCapacity: a link sends at its rate, whatever that is by now.
func TestCapacity(t *testing.T) {
	s, err := dumbbell(100, 20, 1666, aqm.TailDrop{}, tcp.DefaultConfig())
	require.NoError(t, err)
	q := s.d.Bottleneck
	series := q.Watch(100*time.Millisecond, 300)
	s.net.Run(10e9)
	for _, mbps := range []uint64{10, 50, 100, 3} {
		q.SetRate(mbps * 1_000_000)
		s.net.Run(s.net.Now() + 1e9)
		q.Measure()
		s.net.Run(s.net.Now() + 4e9)
		st := q.Stats()
		if mbps != 100 { // it takes longer to fill that again
			assert.InDelta(t, 1, st.Utilisation(), .01, "%d Mb/s", mbps)
		}
		assert.LessOrEqual(t, float64(st.SentBytes)*8, float64(mbps)*4e6+12_000)
	}
	require.Len(t, series.Samples, 300)
	assert.Equal(t, aqm.Time(29.9e9), series.Samples[299].At)
	last := series.Samples[299]
	assert.InEpsilon(t, float64(last.Bytes)*8/3e6, last.Delay.Seconds(), 1e-6, "at 3 Mb/s")
}

func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var h, odd, even netmodel.Histogram
	var all []float64
	for i := range 20_000 {
		d := time.Duration(math.Exp(r.Float64() * 40))
		h.Add(d)
		if i&1 == 0 {
			even.Add(d)
		} else {
			odd.Add(d)
		}
		all = append(all, float64(d))
	}
	slices.Sort(all)
	for _, q := range []float64{0, .001, .1, .5, .9, .99, .999, 1} {
		want := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
		assert.InDelta(t, want, float64(h.Quantile(q)), want*.016+.5, "quantile %v", q)
	}
	assert.Equal(t, time.Duration(all[len(all)-1]), h.Max())
	sum := 0.
	for _, x := range all {
		sum += x
	}
	assert.InEpsilon(t, sum/float64(len(all)), float64(h.Mean()), 1e-6)
	even.Merge(&odd)
	assert.Equal(t, h.Quantile(.7), even.Quantile(.7))
	assert.Equal(t, h.Count(), even.Count())
	assert.Zero(t, new(netmodel.Histogram).Quantile(.5))
	h.Add(-1)
	h.Add(math.MaxInt64)
	assert.Equal(t, time.Duration(math.MaxInt64), h.Max())
}

// transfer opens a connection over a route and returns what has arrived by then.
func transfer(t *testing.T, n *netmodel.Net, r netmodel.Route, flow int, bytes int64) *count {
	t.Helper()
	pool, err := tcp.NewPool(n, tcp.DefaultConfig())
	require.NoError(t, err)
	c := &count{}
	pool.Dial(n.Now(), r, flow, &write{n: bytes}, c)
	return c
}

type write struct {
	tcp.NoApp
	n int64
}

func (w *write) Connected(now aqm.Time, e *tcp.End) { e.Write(now, w.n) }

type count struct {
	tcp.NoApp
	n int64
}

func (c *count) Read(_ aqm.Time, _ *tcp.End, n int64) { c.n += n }

func TestParkingLot(t *testing.T) {
	n := netmodel.New()
	q := netmodel.QueueConfig{Rate: 10_000_000, Delay: 5 * time.Millisecond, Limit: 100, AQM: aqm.TailDrop{}}
	p, err := n.ParkingLot(netmodel.ParkingLotConfig{
		Bottlenecks: []netmodel.QueueConfig{q, q, q}, Access: 100_000_000,
		Long:  []time.Duration{time.Millisecond},
		Cross: [][]time.Duration{{time.Millisecond}, nil, {2 * time.Millisecond, 3 * time.Millisecond}},
	})
	require.NoError(t, err)
	assert.Equal(t, time.Duration(17*time.Millisecond+3*1200*time.Microsecond+2*120*time.Microsecond), p.Long[0].Forward.Delay(1500))
	assert.Equal(t, p.Long[0].Forward.Delay(40), p.Long[0].Reverse.Delay(40))
	assert.Equal(t, time.Duration(9*time.Millisecond+1200*time.Microsecond+2*120*time.Microsecond), p.Cross[2][0].Forward.Delay(1500))
	var got []*count
	for i, r := range append([]netmodel.Route{p.Long[0], p.Cross[0][0]}, p.Cross[2]...) {
		got = append(got, transfer(t, n, r, i, 100_000))
	}
	n.Run(10e9)
	for i, c := range got {
		assert.Equal(t, int64(100_000), c.n, "flow %d", i)
	}
	for i, x := range [][]bool{{true, true, false, false}, {true, false, false, false}, {true, false, true, true}} {
		for f, through := range x {
			assert.Equal(t, through, p.Bottlenecks[i].Flow(f).Arrived > 0, "flow %d at bottleneck %d", f, i)
			assert.Equal(t, through, p.Back[2-i].Flow(f).Arrived > 0, "flow %d at the way back of bottleneck %d", f, i)
		}
	}
}

func TestLeafSpine(t *testing.T) {
	n := netmodel.New()
	port := netmodel.QueueConfig{Rate: 1_000_000_000, Delay: 5 * time.Microsecond, Limit: 200}
	s, err := n.LeafSpine(netmodel.LeafSpineConfig{
		Racks: 3, Hosts: 4, Spines: 2, Host: port, Core: port,
		MakeAQM: func(string) (aqm.AQM, error) { return aqm.TailDrop{}, nil },
	})
	require.NoError(t, err)
	assert.Equal(t, 12, s.Hosts())
	same, err := s.Route(0, 3, 0)
	require.NoError(t, err)
	assert.Equal(t, 2*(12+5)*time.Microsecond, same.Forward.Delay(1500))
	far, err := s.Route(1, 11, 5)
	require.NoError(t, err)
	assert.Equal(t, 4*(12+5)*time.Microsecond, far.Forward.Delay(1500))
	assert.Equal(t, far.Forward.Delay(1500)+far.Reverse.Delay(40), far.RTT(1500, 40))
	var got []*count
	for i := range 11 { // all to one host
		r, err := s.Route(i, 11, i)
		require.NoError(t, err)
		got = append(got, transfer(t, n, r, i, 500_000))
	}
	n.Run(20e9)
	for _, c := range got {
		assert.Equal(t, int64(500_000), c.n)
	}
	rise := s.Rise[0][1].Stats()
	assert.NotZero(t, rise.SentPackets)
	assert.NotZero(t, s.Fall[2][0].Name())
	for _, bad := range [][3]int{{0, 0, 0}, {-1, 2, 0}, {0, 12, 0}, {0, 5, -1}} {
		_, err := s.Route(bad[0], bad[1], bad[2])
		assert.ErrorIs(t, err, aqm.ErrConfig)
	}
}

// TestErrors: an impossible scenario is an error that says all that is wrong.
func TestErrors(t *testing.T) {
	_, err := netmodel.New().Dumbbell(netmodel.DumbbellConfig{Bottleneck: netmodel.QueueConfig{Delay: -1}})
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{"Left has no flows", "bottleneck: Rate = 0 bit/s", "Delay = -1ns", "AQM = nil", "LimitPackets = 0", "access: Rate = 0"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = netmodel.New().ParkingLot(netmodel.ParkingLotConfig{Cross: [][]time.Duration{nil}})
	require.ErrorIs(t, err, aqm.ErrConfig)
	assert.ErrorContains(t, err, "0 bottlenecks")
	assert.ErrorContains(t, err, "no flows")
	_, err = netmodel.New().LeafSpine(netmodel.LeafSpineConfig{})
	require.ErrorIs(t, err, aqm.ErrConfig)
	assert.ErrorContains(t, err, "MakeAQM = nil")
	n := netmodel.New()
	a, err := n.Wire("a", 1, 0, nil)
	require.NoError(t, err)
	b, err := n.Wire("b", 1, 0, a)
	require.NoError(t, err)
	_, err = n.Path(b)
	assert.ErrorContains(t, err, "which only a feeds")
	_, err = n.Path()
	assert.ErrorIs(t, err, aqm.ErrConfig)
	_, err = netmodel.New().Path(a)
	assert.ErrorIs(t, err, aqm.ErrConfig)
}
