package red

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

const ms = time.Millisecond

// constant is a hostile source: the same bits for ever. 0 draws the smallest u, all
// ones draw u = 1.
type constant uint64

func (c constant) Uint64() uint64 { return uint64(c) }

func newRED(t testing.TB, c Config) *RED {
	t.Helper()
	if c.Rand == nil {
		c.Rand = rand.NewPCG(1, 1)
	}
	r, err := New(c)
	require.NoError(t, err)
	return r
}

func ect0() aqm.Packet { return aqm.Packet{Size: 500, ECN: aqm.ECT0, Class: aqm.Data} }

// packets returns a queue of n packets of 500 bytes.
func packets(n int) aqm.Occupancy { return aqm.Occupancy{Packets: n, Bytes: 500 * int64(n)} }

// averaging returns a RED whose average is q, as of an empty queue at instant 0: with
// a weight of 1 an arrival makes the average equal to the queue.
func averaging(t testing.TB, c Config, q int) *RED {
	t.Helper()
	instant := c
	instant.Weight = 1
	r := newRED(t, instant)
	r.Enqueue(0, ect0(), packets(q))
	require.NoError(t, r.Reconfigure(c))
	r.Dequeue(0, ect0(), packets(0))
	want := float64(q)
	if c.Unit == aqm.Bytes {
		want *= 500
	}
	require.Equal(t, want, r.State().Avg)
	return r
}

// TestDefaults pins the defaults: ns-3's RedQueueDisc (MinTh 5, MaxTh 15, LInterm 50,
// QW 0.002, Gentle, Wait, MeanPktSize 500, LinkBandwidth 1.5 Mb/s, Interval 0.5 s,
// TargetDelay 5 ms), and section 4 of the ARED paper (max_p from 0.01 to 0.5).
func TestDefaults(t *testing.T) {
	assert.Equal(t, Config{
		Unit: aqm.Packets, MinTh: 5, MaxTh: 15, MaxP: 0.02, Weight: 0.002, Gentle: true, Wait: true,
		MeanPacket: 500, Rate: 1_500_000,
		AdaptInterval: 500 * ms, TargetDelay: 5 * ms, Bottom: 0.01, Top: 0.5,
	}, DefaultConfig())
	assert.NoError(t, DefaultConfig().Validate())
	c := DefaultConfig()
	c.Adaptive = true
	assert.NoError(t, c.Validate())
}

// TestDesign computes the automatic parameters of ARED section 4.3 anew.
func TestDesign(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rate   uint64
		target time.Duration
		mean   uint32
		minTh  float64
		bottom float64
	}{
		{"100 Mb/s, 500 B", 100e6, 5 * ms, 500, 62.5, 0.0008},
		{"100 Mb/s, 1000 B", 100e6, 5 * ms, 1000, 31.25, 0.0008},
		{"slow, so min_th is 5", 1.5e6, 5 * ms, 500, 5, 0.01},
		{"8 Mb/s, where bottom leaves 0.01", 8e6, 10 * ms, 1000, 5, 0.01},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Design(tc.rate, tc.target, tc.mean)
			require.NoError(t, err)
			perSecond := float64(tc.rate) / 8 / float64(tc.mean)
			assert.InEpsilon(t, 1-math.Exp(-1/perSecond), c.Weight, 1e-9)
			assert.InEpsilon(t, tc.minTh, c.MinTh, 1e-12)
			assert.InEpsilon(t, 3*tc.minTh, c.MaxTh, 1e-12)
			assert.InEpsilon(t, tc.bottom, c.Bottom, 1e-12)
			assert.Equal(t, [2]float64{0.1, 0.5}, [2]float64{c.MaxP, c.Top})
			assert.True(t, c.Adaptive && c.Gentle && c.Wait)
			assert.Equal(t, tc.target, c.TargetDelay)
			assert.Equal(t, tc.rate, c.Rate)
			assert.Equal(t, tc.mean, c.MeanPacket)

			b := c.InBytes()
			require.NoError(t, b.Validate())
			assert.Equal(t, aqm.Bytes, b.Unit)
			assert.InEpsilon(t, tc.minTh*float64(tc.mean), b.MinTh, 1e-12)
			assert.InEpsilon(t, 3*tc.minTh*float64(tc.mean), b.MaxTh, 1e-12)
			assert.Equal(t, b, b.InBytes())
		})
	}
	_, err := Design(0, 0, 0)
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{"rate = 0 bit/s", "target = 0s", "meanPacket = 0 bytes"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = Design(1e15, time.Hour, 1)
	assert.ErrorIs(t, err, aqm.ErrConfig, "thresholds beyond any queue")
}

// TestValidate sees every mistake listed at once, with field, value, bound and unit.
func TestValidate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, x := range []float64{nan, inf, -inf, -1} {
		c := Config{
			MinTh: x, MaxTh: x, MaxP: x, Weight: x, MaxECN: x, Adaptive: true,
			AdaptInterval: -1, TargetDelay: 2 * time.Hour, Bottom: x, Top: x,
		}
		err := c.Validate()
		require.ErrorIs(t, err, aqm.ErrConfig)
		for _, field := range []string{"MinTh", "MaxTh", "MaxP", "Weight", "MaxECN", "Bottom", "Top"} {
			assert.ErrorContains(t, err, fmt.Sprintf("red: %s = %v", field, x))
		}
		for _, part := range []string{"MeanPacket = 0 bytes", "Rate = 0 bit/s", "AdaptInterval = -1ns", "TargetDelay = 2h0m0s"} {
			assert.ErrorContains(t, err, part)
		}
	}
	for name, change := range map[string]func(*Config){
		"Unit = seconds, must be packets or bytes":             func(c *Config) { c.Unit = aqm.Delay },
		"MinTh = 0 packets":                                    func(c *Config) { c.MinTh = 0 },
		"MaxTh = 1.7e+07 packets, must be <=":                  func(c *Config) { c.MaxTh = 1.7e7 },
		"MaxP = 1.01, must be in (0, 1]":                       func(c *Config) { c.MaxP = 1.01 },
		"Weight = 1e-13":                                       func(c *Config) { c.Weight = 1e-13 },
		"MeanPacket = 16777217 bytes":                          func(c *Config) { c.MeanPacket = 1<<24 + 1 },
		"Rate = 2000000000000000 bit/s":                        func(c *Config) { c.Rate = 2e15 },
		"MaxECN = 1.1":                                         func(c *Config) { c.MaxECN = 1.1 },
		"MaxP = 0.02, must be in [Bottom = 0.03":               func(c *Config) { c.Adaptive, c.Bottom = true, 0.03 },
		"Top = 0.015] where Adaptive":                          func(c *Config) { c.Adaptive, c.Top = true, 0.015 },
		"Bottom = 1e-13, must be in [1e-12, 1], or 0 for 0.01": func(c *Config) { c.Adaptive, c.Bottom = true, 1e-13 },
		"Top = 1.1, must be in (0, 1], or 0 for 0.5":           func(c *Config) { c.Adaptive, c.Top = true, 1.1 },
		"AdaptInterval = 0s":                                   func(c *Config) { c.Adaptive, c.AdaptInterval = true, 0 },
		"TargetDelay = -1ns":                                   func(c *Config) { c.TargetDelay = -1 },
		"AdaptInterval = -1ns":                                 func(c *Config) { c.AdaptInterval = -1 },
		"Top = NaN":                                            func(c *Config) { c.Top = nan },
		"Bottom = NaN":                                         func(c *Config) { c.Bottom = nan },
	} {
		c := DefaultConfig()
		change(&c)
		err := c.Validate()
		assert.ErrorIs(t, err, aqm.ErrConfig)
		assert.ErrorContains(t, err, name)
	}
	c := DefaultConfig()
	c.AdaptInterval, c.TargetDelay, c.Bottom, c.Top = 0, 0, 0, 0
	assert.NoError(t, c.Validate(), "nothing of Adaptive is needed without it")
	c.Adaptive, c.AdaptInterval = true, 500*ms
	assert.NoError(t, c.Validate())
	bottom, top := c.bounds()
	assert.Equal(t, [2]float64{0.01, 0.5}, [2]float64{bottom, top}, "0 stands for the range of the ARED paper")
	r, err := New(Config{})
	assert.Nil(t, r)
	assert.ErrorIs(t, err, aqm.ErrConfig)
}

// TestReasons is the table of what a signal does: RFC 3168 section 7, and MaxECN.
func TestReasons(t *testing.T) {
	pass := aqm.Verdict{}
	mark := aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	early := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	forced := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	full := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	for _, tc := range []struct {
		name            string
		gentle          bool
		maxECN          float64
		q               aqm.Occupancy
		notECT, capable aqm.Verdict
	}{
		{"below MinTh", true, 0, packets(9), pass, pass},
		{"at MinTh p_b is 0", true, 0, packets(10), pass, pass},
		{"between", true, 0, packets(15), early, mark},
		{"between, MaxECN not reached", true, 0.51, packets(15), early, mark},
		{"between, MaxECN reached", true, 0.5, packets(15), forced, forced},
		{"at MaxTh, gentle", true, 0, packets(20), forced, forced},
		{"at MaxTh", false, 0, packets(20), forced, forced},
		{"gentle, MaxECN above p_b", true, 1, packets(25), early, mark},
		{"gentle, MaxECN 1 reached", true, 1, packets(40), forced, forced},
		{"not gentle, MaxECN 1 reached", false, 1, packets(20), forced, forced},
		{"beyond all", true, 0, packets(math.MaxInt), forced, forced},
		{"full below MinTh", true, 0, aqm.Occupancy{Packets: 1, Full: true}, full, full},
		{"full between", true, 0, aqm.Occupancy{Packets: 15, Full: true}, full, full},
		{"full above", true, 0, aqm.Occupancy{Packets: 60, Full: true}, full, full},
		{"full and empty", true, 0, aqm.Occupancy{Full: true}, full, full},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for ecn, want := range map[aqm.ECN]aqm.Verdict{aqm.NotECT: tc.notECT, aqm.ECT0: tc.capable, aqm.ECT1: tc.capable, aqm.CE: tc.capable} {
				// max_p is 1, or 0.75 where p_b has to be below 1 above MaxTh; u is as good as 0.
				c := Config{
					MinTh: 10, MaxTh: 20, MaxP: 1, Weight: 1, Gentle: tc.gentle, MaxECN: tc.maxECN,
					MeanPacket: 500, Rate: 1e6, Rand: constant(0),
				}
				if tc.maxECN == 1 {
					c.MaxP = 0.75
				}
				r := newRED(t, c)
				p := ect0()
				p.ECN = ecn
				for range 3 {
					assert.Equal(t, want, r.Enqueue(0, p, tc.q), "%v", ecn)
				}
				assert.Zero(t, r.Dequeue(1, p, tc.q))
			}
		})
	}
}

// TestProbability is the curve of RED and of its gentle variant, by hand.
func TestProbability(t *testing.T) {
	for _, tc := range []struct {
		avg           int
		plain, gentle float64
	}{
		{0, 0, 0},
		{9, 0, 0},
		{10, 0, 0},
		{15, 0.05, 0.05},
		{18, 0.08, 0.08},
		{20, 1, 0.1},
		{30, 1, 0.55},
		{36, 1, 0.82},
		{40, 1, 1},
		{1000, 1, 1},
	} {
		c := Config{MinTh: 10, MaxTh: 20, MaxP: 0.1, Weight: 0.002, MeanPacket: 500, Rate: 1e6}
		for _, c.Unit = range []aqm.Unit{aqm.Packets, aqm.Bytes} {
			if c.Unit == aqm.Bytes {
				c.MinTh, c.MaxTh = 5000, 10000
			}
			c.Gentle = false
			assert.InDelta(t, tc.plain, averaging(t, c, tc.avg).Probability(), 1e-12, "at %d", tc.avg)
			c.Gentle = true
			r := averaging(t, c, tc.avg)
			assert.InDelta(t, tc.gentle, r.Probability(), 1e-12, "at %d, gentle", tc.avg)
			assert.Equal(t, r.Probability(), r.State().Prob)
		}
	}
}

// TestCount follows State.Count through the regimes.
func TestCount(t *testing.T) {
	c := Config{MinTh: 10, MaxTh: 20, MaxP: 0.5, Weight: 1, MeanPacket: 500, Rate: 1e6, Rand: constant(math.MaxUint64)}
	r := newRED(t, c)
	count := func(q aqm.Occupancy) int64 {
		r.Enqueue(0, ect0(), q)
		return r.State().Count
	}
	assert.Equal(t, int64(-1), r.State().Count, "at the start")
	assert.Equal(t, int64(-1), count(packets(9)), "below MinTh")
	// p_b is 0.25 and u is 1: the fourth packet from MinTh on is signalled, and so on.
	for i, want := range []int64{1, 2, 3, 0, 1, 2, 3, 0, 1} {
		assert.Equal(t, want, count(packets(15)), "packet %d", i)
	}
	assert.Equal(t, int64(0), count(packets(20)), "p_b = 1")
	assert.Equal(t, int64(1), count(packets(15)))
	assert.Equal(t, int64(0), count(aqm.Occupancy{Packets: 15, Full: true}), "a loss is a signal")
	assert.Equal(t, int64(1), count(packets(15)))
	assert.Equal(t, int64(-1), count(packets(1)))
	assert.Equal(t, int64(1), count(packets(15)), "the count starts afresh")

	c.Wait = true
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, int64(0), r.State().Count)
	for i, want := range []int64{1, 2, 3, 4, 5, 6, 0, 1} { // (n+1)/4 >= 2 from n = 7 on
		assert.Equal(t, want, count(packets(15)), "packet %d with Wait", i)
	}
	c.MeanPacket = 1000
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, int64(1), r.State().Count, "it counts packets, whatever their size")
	c.MeanPacket = 500
	c.ScaleBySize = true
	require.NoError(t, r.Reconfigure(c))
	for range 5 {
		r.Enqueue(0, aqm.Packet{Size: 400}, packets(15))
	}
	assert.Equal(t, int64(4), r.State().Count, "2000 bytes are 4 mean packets")
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, int64(4), r.State().Count, "nothing changed")
	c.MeanPacket = 1000
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, int64(0), r.State().Count, "a mean packet is another now")

	c.Wait, c.ScaleBySize = false, false
	require.NoError(t, r.Reconfigure(c))
	for i, want := range []int64{1, 2, 3, 0} { // n/4 >= 1 from n = 4 on
		assert.Equal(t, want, count(packets(15)), "packet %d without Wait again", i)
	}
}

// TestEdges has averages that are exactly MinTh, MaxTh or 2*MaxTh, and verdicts that
// are due by an equality, at the usual event and at the first one, which takes the
// long way.
func TestEdges(t *testing.T) {
	plain := Config{MinTh: 10, MaxTh: 20, MaxP: 0.5, Weight: 1, MeanPacket: 500, Rate: 1e6, Rand: constant(math.MaxUint64)}
	pass, tiny := aqm.Verdict{}, aqm.Packet{Size: 1, ECN: aqm.ECT0}
	for _, first := range []bool{true, false} {
		start := func(c Config) *RED {
			r := newRED(t, c)
			if !first {
				r.Enqueue(0, ect0(), packets(1))
			}
			return r
		}
		t.Run(fmt.Sprintf("first=%v", first), func(t *testing.T) {
			r := start(plain)
			assert.Equal(t, pass, r.Enqueue(0, ect0(), packets(10)))
			assert.Equal(t, int64(1), r.State().Count, "MinTh is in the band")

			forced := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
			scaled := plain
			scaled.ScaleBySize = true
			assert.Equal(t, forced, start(scaled).Enqueue(0, tiny, packets(20)), "p_b = 1 at MaxTh, whatever the size")
			scaled.Gentle = true
			assert.Equal(t, forced, start(scaled).Enqueue(0, tiny, packets(40)), "and at 2*MaxTh")
			scaled.MaxP = 1
			assert.Equal(t, forced, start(scaled).Enqueue(0, tiny, packets(30)), "and between them, where MaxP is 1")

			half := plain
			half.Gentle = true
			r = start(half) // p_b = 0.5 at MaxTh, and u = 1
			assert.Equal(t, pass, r.Enqueue(0, ect0(), packets(20)))
			assert.NotEqual(t, pass, r.Enqueue(0, ect0(), packets(20)), "2*p_b >= u")
			half.Rand = constant((1<<52 - 1) << 11) // u = 0.5
			assert.NotEqual(t, pass, start(half).Enqueue(0, ect0(), packets(20)), "p_b >= u")

			bytes := plain
			bytes.Unit = aqm.Bytes
			bytes.MinTh, bytes.MaxTh = 10, 20
			for _, n := range []int64{0, -7, math.MinInt64} {
				for _, full := range []bool{false, true} {
					r = start(bytes)
					r.Enqueue(0, ect0(), aqm.Occupancy{Packets: 3, Bytes: n, Full: full})
					assert.Equal(t, 0.0, r.State().Avg, "%d bytes are none", n)
				}
			}
		})
	}
}

// TestCountOnTheLongWay ends a count at events that take the long way.
func TestCountOnTheLongWay(t *testing.T) {
	c := Config{MinTh: 10, MaxTh: 20, MaxP: 0.5, Weight: 1, MeanPacket: 500, Rate: 1e9, Rand: constant(math.MaxUint64)}
	r := newRED(t, c)
	for range 3 {
		r.Enqueue(0, ect0(), packets(12))
	}
	require.Equal(t, int64(3), r.State().Count)
	r.Enqueue(aqm.Time(time.Second), ect0(), packets(0)) // empty for long
	require.Equal(t, int64(-1), r.State().Count)
	r.Enqueue(aqm.Time(time.Second), ect0(), packets(12))
	assert.Equal(t, int64(1), r.State().Count, "after an average below MinTh")

	c.Adaptive, c.AdaptInterval, c.TargetDelay, c.Bottom, c.Top = true, 500*ms, 5*ms, 0.01, 0.5
	r = newRED(t, c)
	for range 3 {
		r.Enqueue(0, ect0(), packets(12))
	}
	require.Equal(t, int64(3), r.State().Count)
	v := r.Enqueue(aqm.Time(500*ms), ect0(), packets(20)) // a tick, too
	assert.Equal(t, aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}, v)
	r.Enqueue(aqm.Time(500*ms), ect0(), packets(12))
	assert.Equal(t, int64(1), r.State().Count, "after p_b = 1")
}

// adapting returns an Adaptive RED whose average is q, with a tick every 500 ms from
// instant 0 on, and max_p 0.1. The band is from 9 to 11 packets.
func adapting(t *testing.T, q int) *RED {
	t.Helper()
	c := DefaultConfig()
	c.MaxP, c.Adaptive, c.Rate = 0.1, true, 1
	return averaging(t, c, q)
}

// TestTickAtAnEvent has events of each kind at the very instant of a tick, which
// raises max_p at once.
func TestTickAtAnEvent(t *testing.T) {
	for name, event := range map[string]func(r *RED, now aqm.Time){
		"arrival":                   func(r *RED, now aqm.Time) { r.Enqueue(now, ect0(), packets(12)) },
		"arrival at an empty queue": func(r *RED, now aqm.Time) { r.Enqueue(now, ect0(), packets(0)) },
		"arrival at a full queue":   func(r *RED, now aqm.Time) { r.Enqueue(now, ect0(), aqm.Occupancy{Packets: 12, Full: true}) },
		"departure":                 func(r *RED, now aqm.Time) { r.Dequeue(now, ect0(), packets(12)) },
	} {
		r := adapting(t, 12)
		event(r, aqm.Time(500*ms)-1)
		assert.Equal(t, 0.1, r.State().MaxP, name)
		event(r, aqm.Time(500*ms))
		assert.InDelta(t, 0.11, r.State().MaxP, 1e-15, name)
	}
}

// TestTickPastDue has a tick that a shorter interval makes due at the last event or
// before it: it happens at the next one, also where that is earlier by its clock. The
// time since the last event is not yet over at that tick.
func TestTickPastDue(t *testing.T) {
	for _, last := range []time.Duration{100 * ms, 150 * ms} {
		for _, empty := range []bool{false, true} {
			r := adapting(t, 12)
			r.Dequeue(aqm.Time(last), ect0(), packets(12))
			c := r.config
			c.AdaptInterval, c.Rate = 100*ms, maxRate // each nanosecond of which is worth 250 packets
			require.NoError(t, r.Reconfigure(c))
			assert.Equal(t, 0.1, r.State().MaxP)
			if empty {
				r.Enqueue(aqm.Time(50*ms), ect0(), packets(0))
			} else {
				r.Dequeue(aqm.Time(50*ms), ect0(), packets(12))
			}
			assert.InDelta(t, 0.11, r.State().MaxP, 1e-15, "last event at %v, empty: %v", last, empty)
		}
	}
}

// TestBand has averages at the ends of the band, which is part of it, before a tick in
// an idle time and in a busy one.
func TestBand(t *testing.T) {
	for _, tc := range []struct {
		avg  int
		want float64
	}{{8, 0.09}, {9, 0.1}, {11, 0.1}, {12, 0.11}} {
		r := adapting(t, tc.avg)
		r.Enqueue(aqm.Time(500*ms), ect0(), packets(0))
		assert.InDelta(t, tc.want, r.State().MaxP, 1e-15, "idle, average %d", tc.avg)
		r = adapting(t, tc.avg)
		r.Dequeue(aqm.Time(500*ms), ect0(), packets(1))
		assert.InDelta(t, tc.want, r.State().MaxP, 1e-15, "busy, average %d", tc.avg)
	}
}

// TestManyTicks has 2^63 ticks in one gap, with max_p at either end of its range or on
// its way there.
func TestManyTicks(t *testing.T) {
	for _, maxP := range []float64{0.01, 0.1, 0.5} {
		for avg, want := range map[int]float64{8: 0.01, 10: maxP, 12: 0.5} {
			r := adapting(t, avg)
			c := r.config
			c.AdaptInterval, c.MaxP = 1, maxP
			require.NoError(t, r.Reconfigure(c))
			r.Dequeue(math.MaxInt64, ect0(), packets(1))
			assert.Equal(t, want, r.State().MaxP, "average %d", avg)
		}
	}
}

// TestNewMaxP reconfigures in the midst of a count that is short in its own unit.
func TestNewMaxP(t *testing.T) {
	c := Config{Unit: aqm.Bytes, MinTh: 9.75, MaxTh: 10.75, MaxP: 1, Weight: 1, MeanPacket: 500, Rate: 1e6, Rand: constant(math.MaxUint64)}
	r := newRED(t, c)
	ten := aqm.Occupancy{Packets: 1, Bytes: 10} // p_b = MaxP/4, and u is 1
	r.Enqueue(0, ect0(), ten)
	assert.Equal(t, int64(1), r.State().Count)
	c.MaxP = 0.5
	require.NoError(t, r.Reconfigure(c))
	for count := range int64(6) {
		assert.Equal(t, aqm.Pass, r.Enqueue(0, ect0(), ten).Action)
		assert.Equal(t, count+2, r.State().Count)
	}
	assert.Equal(t, aqm.Mark, r.Enqueue(0, ect0(), ten).Action, "the eighth")
}

// TestDesignBounds has each argument of Design at the ends of its range, which it
// does not find wrong, whatever it says of what follows.
func TestDesignBounds(t *testing.T) {
	for _, tc := range []struct {
		rate   uint64
		target time.Duration
		mean   uint32
	}{{1, 1, 1}, {maxRate, maxPeriod, maxPacket}} {
		_, err := Design(tc.rate, tc.target, tc.mean)
		if err != nil {
			for _, argument := range []string{"rate =", "target =", "meanPacket ="} {
				assert.NotContains(t, err.Error(), argument)
			}
		}
	}
}

// TestIdleRemainder has packets that each find the queue empty, but for less than the
// time of a mean packet: the idle time adds up.
func TestIdleRemainder(t *testing.T) {
	c := DefaultConfig()
	c.Rate = 4_000_000 // a mean packet takes 1 ms
	r := averaging(t, c, 8)
	now := aqm.Time(0)
	for range 100 { // 40 bytes arrive every 90 us and are sent at once
		now = now.Add(90 * time.Microsecond)
		r.Enqueue(now, aqm.Packet{Size: 40}, packets(0))
		r.Dequeue(now, aqm.Packet{Size: 40, EnqueuedAt: now}, packets(0))
	}
	assert.InEpsilon(t, 8*math.Pow(0.998, 9), r.State().Avg, 1e-12, "9 ms of idle time")
}

// TestIdleStart has the queue emptied behind the algorithm's back: it has been empty
// since the last event, and no earlier.
func TestIdleStart(t *testing.T) {
	c := DefaultConfig()
	c.Rate = 4_000_000
	r := averaging(t, c, 8)
	busy := aqm.Time(time.Hour)
	r.Dequeue(busy, ect0(), packets(7))
	r.Enqueue(busy.Add(10*ms), ect0(), packets(0))
	assert.InEpsilon(t, 8*math.Pow(0.998, 10), r.State().Avg, 1e-12)
	r.Enqueue(busy.Add(12*ms), ect0(), packets(0)) // the one before never got into the queue
	assert.InEpsilon(t, 8*math.Pow(0.998, 12), r.State().Avg, 1e-12)
	r.Enqueue(busy.Add(5*ms), ect0(), packets(0)) // time steps back
	assert.InEpsilon(t, 8*math.Pow(0.998, 12), r.State().Avg, 1e-12)
	r.Enqueue(busy.Add(13*ms), ect0(), packets(0))
	assert.InEpsilon(t, 8*math.Pow(0.998, 13), r.State().Avg, 1e-12)
}

// TestIdleClock compares the exact quotient with what it is by hand at the ends of
// the range.
func TestIdleClock(t *testing.T) {
	c := newIdleClock(maxRate, maxPacket)
	m, _ := c.packets(math.MaxUint64)
	assert.Equal(t, uint64(137_438_953_471_999_999), m) // (2^64 - 1) ns * 1e6 bit/ns / 2^27 bit
	c = newIdleClock(maxRate, 1)
	m, rest := c.packets(math.MaxUint64)
	assert.Equal(t, uint64(math.MaxUint64), m, "the quotient saturates")
	assert.Less(t, rest, c.packet)
	c = newIdleClock(1, maxPacket)
	m, rest = c.packets(math.MaxUint64)
	assert.Equal(t, uint64(137), m) // 2^64 ns of 1 bit/s, in packets of 2^27 bit
	assert.Equal(t, uint64(math.MaxUint64)-137*c.packet, rest)
}

// TestIdleClockIsExact compares the quotient with that of numbers without a size, also
// where the rest carries into the upper word, and where the quotient is 2^64.
func TestIdleClockIsExact(t *testing.T) {
	check := func(c idleClock, ns uint64) {
		t.Helper()
		total := new(big.Int).Mul(new(big.Int).SetUint64(ns), new(big.Int).SetUint64(c.rate))
		total.Add(total, new(big.Int).SetUint64(c.rest))
		want, left := new(big.Int).QuoRem(total, new(big.Int).SetUint64(c.packet), new(big.Int))
		m, rest := c.packets(ns)
		if want.IsUint64() {
			assert.Equal(t, want.Uint64(), m, "%+v after %d ns", c, ns)
		} else {
			assert.Equal(t, uint64(math.MaxUint64), m)
		}
		assert.Equal(t, left.Uint64(), rest, "%+v after %d ns", c, ns)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for range 10_000 {
		c := newIdleClock(1+r.Uint64N(maxRate), uint32(1+r.IntN(maxPacket)))
		c.rest = r.Uint64N(c.packet)
		check(c, r.Uint64()>>r.IntN(64))
	}
	c := newIdleClock(1<<40, maxPacket)
	c.rest = c.packet - 1
	for k := uint64(1); k < 100; k++ { // the lower word is as large as it can be
		check(c, k<<24-1)
	}
	c = newIdleClock(1<<40, 1)
	c.rest = c.packet - 1
	check(c, c.packet<<24) // the upper word is the divisor
	check(c, c.packet<<24-1)
}

func TestReconfigure(t *testing.T) {
	c := DefaultConfig()
	c.MaxP = 0.1
	r := averaging(t, c, 10)
	require.Error(t, r.Reconfigure(Config{}))
	assert.Equal(t, 0.05, r.Probability(), "a refused configuration changes nothing")
	c.MaxTh = 25
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, 0.025, r.Probability(), "the average survives")

	b := c.InBytes()
	require.NoError(t, r.Reconfigure(b))
	assert.Equal(t, State{Avg: 5000, MaxP: 0.1, Prob: 0.025, Count: 1}, r.State(), "and is converted")
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, 10.0, r.State().Avg)

	// Adapted from 0.1 to 0.12 in two ticks above the band, max_p stays so.
	c.Adaptive, c.MaxTh = true, 10.5
	require.NoError(t, r.Reconfigure(c))
	now := aqm.Time(time.Minute)
	r.Dequeue(now, ect0(), packets(10)) // starts the timer
	r.Dequeue(now.Add(1150*ms), ect0(), packets(9))
	assert.InDelta(t, 0.12, r.State().MaxP, 1e-15)
	c.AdaptInterval = 100 * ms
	require.NoError(t, r.Reconfigure(c))
	assert.InDelta(t, 0.12, r.State().MaxP, 1e-15)
	r.Enqueue(now.Add(1150*ms), ect0(), packets(0))
	assert.InDelta(t, 0.13, r.State().MaxP, 1e-15, "the tick at 1.0 s is followed by one at 1.1 s, before there was any idle time")
	c.Top = 0.11
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, 0.11, r.State().MaxP, "within the new range")
	c.MaxP = 0.05
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, 0.05, r.State().MaxP, "a new start")
	c.Adaptive, c.AdaptInterval = false, 0
	require.NoError(t, r.Reconfigure(c))
	r.Enqueue(now.Add(time.Hour), ect0(), packets(10))
	assert.Equal(t, 0.05, r.State().MaxP)

	// The source is that of New: c.Rand is nil here.
	a := newRED(t, Config{MinTh: 10, MaxTh: 20, MaxP: 1, Weight: 1, MeanPacket: 500, Rate: 1e6, Rand: constant(0)})
	c = a.config
	c.Rand = constant(math.MaxUint64)
	require.NoError(t, a.Reconfigure(c))
	assert.Equal(t, aqm.Mark, a.Enqueue(0, ect0(), packets(11)).Action, "u is as good as 0")
}

// TestHostile feeds what no caller should: the answers keep the contract.
func TestHostile(t *testing.T) {
	extremes := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 1e9, math.MaxInt64 - 1, math.MaxInt64}
	for _, unit := range []aqm.Unit{aqm.Packets, aqm.Bytes} {
		for _, rate := range []uint64{1, 1e6, maxRate} {
			c := DefaultConfig()
			c.Unit, c.Rate, c.Adaptive, c.ScaleBySize, c.Weight = unit, rate, true, true, 0.5
			r := newRED(t, c)
			src := rand.New(rand.NewPCG(3, 3))
			pick := func() int64 { return extremes[src.IntN(len(extremes))] }
			for range 20_000 {
				now := aqm.Time(pick())
				p := aqm.Packet{EnqueuedAt: aqm.Time(pick()), Size: uint32(pick()), ECN: aqm.ECN(src.IntN(4))}
				q := aqm.Occupancy{Packets: int(pick()), Bytes: pick(), Full: src.IntN(4) == 0}
				if src.IntN(2) == 0 {
					require.Zero(t, r.Dequeue(now, p, q))
					continue
				}
				v := r.Enqueue(now, p, q)
				require.Equal(t, q.Full, v.Reason == aqm.Overflow)
				require.False(t, v.Action == aqm.Mark && p.ECN == aqm.NotECT)
				s := r.State()
				require.True(t, s.Prob >= 0 && s.Prob <= 1 && s.Avg >= 0 && s.Avg <= 1<<63, "%+v", s)
				require.True(t, s.MaxP >= c.Bottom && s.MaxP <= c.Top && s.Count >= -1, "%+v", s)
			}
		}
	}
}

// TestManyPackets has a signal due after 2^34 packets, and counts the last of them.
func TestManyPackets(t *testing.T) {
	c := Config{MinTh: 10, MaxTh: 20, MaxP: 1.0 / (1 << 33), Weight: 1, MeanPacket: 500, Rate: 1e6, Rand: constant(math.MaxUint64)}
	for _, scaled := range []bool{false, true} {
		c.ScaleBySize = scaled
		r := newRED(t, c)
		assert.Equal(t, aqm.Pass, r.Enqueue(0, ect0(), packets(15)).Action, "p_b is 2^-34, and u is 1")
		r.credit += (1<<32 - 2) * r.unit
		for range 5 {
			assert.Equal(t, aqm.Pass, r.Enqueue(0, ect0(), packets(15)).Action)
		}
		assert.Equal(t, int64(1<<32+4), r.State().Count)
		r.credit += (3<<32 - 6) * r.unit
		assert.Equal(t, aqm.Pass, r.Enqueue(0, ect0(), packets(15)).Action)
		assert.Equal(t, int64(1<<34-1), r.State().Count)
		assert.Equal(t, aqm.Mark, r.Enqueue(0, ect0(), packets(15)).Action)
		assert.Zero(t, r.State().Count)
	}
}
