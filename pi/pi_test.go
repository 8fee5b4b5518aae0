package pi

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/num"
)

var (
	pass     = aqm.Verdict{}
	mark     = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	drop     = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	forced   = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	overflow = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
)

// constant is a source that always draws the same: 0 is the u closest to 0, and the
// largest number is u = 1.
type constant uint64

func (c constant) Uint64() uint64 { return uint64(c) }

func build(t *testing.T, c Config) *PI {
	t.Helper()
	if c.Rand == nil {
		c.Rand = rand.NewPCG(1, 2)
	}
	a, err := New(c)
	require.NoError(t, err)
	return a
}

// data is a packet of ECT(0) data.
func data(size uint32) aqm.Packet { return aqm.Packet{Size: size, ECN: aqm.ECT0, Class: aqm.Data} }

// TestDefaults pins the defaults to their sources: ns-2's ns-default.tcl for
// Queue/PI (a_, b_, w_, qref_, mean_pktsize_); RFC 9332 appendix A.1 for the target
// and p_Cmax of PI squared, and Linux's dualpi2 for its gains and interval (41/256 and
// 819/256 every 16 ms, which are 0.16 and 3.2).
func TestDefaults(t *testing.T) {
	assert.Equal(t, Config{
		Unit: aqm.Packets, A: 1.822e-5, B: 1.816e-5, QRef: 50, Interval: 5882352 * time.Nanosecond, MeanPacket: 500,
	}, Published())
	assert.Equal(t, Published(), DefaultConfig())
	assert.Equal(t, Config{
		Unit: aqm.Delay, A: 0.16 + 3.2, B: 3.2, QRef: 0.015, Interval: 16 * time.Millisecond, Squared: true, MeanPacket: 1500, MaxECN: 0.25,
	}, PI2())
	assert.InEpsilon(t, 41.0/256, PI2().A-PI2().B, 2e-3, "alpha")
	assert.InEpsilon(t, 819.0/256, PI2().B, 1e-3, "beta")
	assert.NoError(t, DefaultConfig().Validate())
	assert.NoError(t, PI2().Validate())
}

// TestUpdates follows the difference equation by hand, in each unit: q = 0, 70, 60,
// 40 packets of 500 bytes at four updates.
func TestUpdates(t *testing.T) {
	base := Config{Unit: aqm.Packets, A: 0.003, B: 0.002, QRef: 50, Interval: 10 * time.Millisecond, MeanPacket: 500}
	for _, c := range []Config{base, base.InBytes(), base.InDelay(4_000_000)} { // 1 ms a packet
		a := build(t, c)
		// event passes time, with q packets in the queue until ms; the packet that
		// leaves waited for the q others.
		event := func(ms float64, q int) {
			now := aqm.Time(ms * 1e6)
			p := data(500)
			p.EnqueuedAt = now.Add(-time.Duration(q) * time.Millisecond)
			a.Dequeue(now, p, aqm.Occupancy{Packets: q - 1, Bytes: 500 * int64(q-1)})
		}
		near := func(want float64) {
			assert.InDelta(t, want, a.Probability(), 1e-12, c.Unit)
		}
		a.Enqueue(0, data(500), aqm.Occupancy{})
		a.Enqueue(1e6, data(500), aqm.Occupancy{}) // no update yet
		event(5, 70)
		event(10, 70) // p = 0 + 0.003*20 - 0.002*(0-50) = 0.16
		near(0.16)
		event(15, 60)
		event(19.9, 60)
		near(0.16)
		event(20, 60) // p = 0.16 + 0.003*10 - 0.002*20 = 0.15
		near(0.15)
		event(25, 40)
		event(30, 40) // p = 0.15 - 0.003*10 - 0.002*10 = 0.10
		near(0.10)
		event(60, 40) // three more, each less by (0.003-0.002)*10
		near(0.07)
		assert.Equal(t, uint64(6), a.State().Updates)
		event(10_000, 40)
		assert.Zero(t, a.Probability(), "p ends at 0")
		event(10_005, 1_000_000)
		event(10_010, 1_000_000)
		assert.Equal(t, 1.0, a.Probability(), "and at 1")
	}
}

// TestInstants has events at the very instant of an update, which runs before them,
// and a clock that steps back, which is no elapsed time.
func TestInstants(t *testing.T) {
	c := DefaultConfig()
	c.Interval = 10 * time.Millisecond
	for _, atDequeue := range []bool{false, true} {
		a := build(t, c)
		event := func(ms int64, q int) {
			if atDequeue {
				a.Dequeue(aqm.Time(ms*1e6), data(500), aqm.Occupancy{Packets: q - 1})
			} else {
				a.Enqueue(aqm.Time(ms*1e6), data(500), aqm.Occupancy{Packets: q})
			}
		}
		event(0, 0)
		event(10, 100)
		assert.Equal(t, State{Prob: c.A*50 + c.B*50, Queue: 100, Updates: 1}, a.State())
		event(19, 100)
		event(3, 100)
		assert.Equal(t, uint64(1), a.State().Updates)
		c := c
		c.Interval = 5 * time.Millisecond
		require.NoError(t, a.Reconfigure(c)) // at 19 ms: the one at 15 ms is due
		event(3, 100)
		assert.Equal(t, uint64(2), a.State().Updates)
	}

	a := build(t, PI2())
	a.Enqueue(50e6, data(1500), aqm.Occupancy{})
	p := data(1500)
	p.EnqueuedAt = 20e6
	a.Dequeue(30e6, p, aqm.Occupancy{Packets: 1}) // at 50 ms by the largest now
	a.Dequeue(70e6, p, aqm.Occupancy{Packets: 1})
	assert.InDelta(t, 0.030, a.State().Queue, 1e-12)
	a.Dequeue(40e6, p, aqm.Occupancy{Packets: 1}) // at 70 ms
	a.Dequeue(90e6, p, aqm.Occupancy{Packets: 1})
	assert.InDelta(t, 0.050, a.State().Queue, 1e-12)
}

func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		p      float64
		ecn    aqm.ECN
		full   bool
		change func(*Config)
		u      constant // u = 2^-53 or 1
		want   aqm.Verdict
	}{
		{"u <= p", 0.3, aqm.ECT0, false, nil, 0, mark},
		{"u > p", 0.3, aqm.ECT0, false, nil, math.MaxUint64, pass},
		{"ECT(1)", 0.3, aqm.ECT1, false, nil, 0, mark},
		{"CE", 0.3, aqm.CE, false, nil, 0, mark},
		{"NotECT", 0.3, aqm.NotECT, false, nil, 0, drop},
		{"full", 0.3, aqm.ECT0, true, nil, math.MaxUint64, overflow},
		{"full at p = 0", 0, aqm.ECT0, true, nil, math.MaxUint64, overflow},
		{"below MaxECN", 0.3, aqm.ECT0, false, func(c *Config) { c.MaxECN = 0.4 }, 0, mark},
		{"at MaxECN", 0.4, aqm.ECT0, false, func(c *Config) { c.MaxECN = 0.4 }, 0, forced},
		{"NotECT at MaxECN", 0.4, aqm.NotECT, false, func(c *Config) { c.MaxECN = 0.4 }, 0, forced},
		{"MaxECN is for signals", 0.4, aqm.ECT0, false, func(c *Config) { c.MaxECN = 0.4 }, math.MaxUint64, pass},
		{"p^2 below MaxECN", 0.49, aqm.ECT0, false, func(c *Config) { *c = PI2() }, 0, mark},
		{"p^2 at MaxECN", 0.5, aqm.ECT0, false, func(c *Config) { *c = PI2() }, 0, forced},
		{"twice the size", 0.5, aqm.ECT0, false, func(c *Config) { c.ScaleBySize, c.MeanPacket = true, 750 }, math.MaxUint64, mark},
		{"a little less", 0.49, aqm.ECT0, false, func(c *Config) { c.ScaleBySize, c.MeanPacket = true, 750 }, math.MaxUint64, pass},
		{"MaxECN is for the average size", 0.3, aqm.ECT0, false, func(c *Config) { c.ScaleBySize, c.MeanPacket, c.MaxECN = true, 750, 0.4 }, 0, mark},
		{"the same size without scaling", 0.5, aqm.ECT0, false, func(c *Config) { c.MeanPacket = 750 }, math.MaxUint64, pass},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := DefaultConfig()
			if tc.change != nil {
				tc.change(&c)
			}
			c.Rand = tc.u
			a := build(t, c)
			a.setProb(tc.p)
			p := aqm.Packet{Size: 1500, ECN: tc.ecn, Class: aqm.Data}
			assert.Equal(t, tc.want, a.Enqueue(0, p, aqm.Occupancy{Packets: 5, Bytes: 7500, Full: tc.full}))
			assert.Equal(t, pass, a.Dequeue(0, p, aqm.Occupancy{Packets: 5, Bytes: 7500}))
		})
	}
}

// counter counts what is drawn from it.
type counter int

func (c *counter) Uint64() uint64 {
	*c++
	return math.MaxUint64
}

// TestDraws sees one draw for each arrival that could be signalled, and no other.
func TestDraws(t *testing.T) {
	for _, scaled := range []bool{false, true} {
		var draws counter
		c := DefaultConfig()
		c.Rand, c.ScaleBySize = &draws, scaled
		a := build(t, c)
		q := aqm.Occupancy{Packets: 10, Bytes: 5000}
		a.Enqueue(0, data(500), q)
		assert.Zero(t, draws, "p = 0")
		a.setProb(0.3)
		for range 3 {
			a.Enqueue(0, data(500), q)
			a.Dequeue(0, data(500), q)
		}
		assert.Equal(t, counter(3), draws)
		q.Full = true
		a.Enqueue(0, data(500), q)
		assert.Equal(t, counter(3), draws, "no room")
		a.setProb(0x1p-54)
		q.Full = false
		a.Enqueue(0, data(500), q)
		assert.Equal(t, counter(3), draws, "p is below the smallest u")
	}
}

// TestRate draws from a PCG: the share of signals is p, or p^2.
func TestRate(t *testing.T) {
	const n = 200_000
	for _, tc := range []struct {
		c          Config
		prob, want float64
	}{{DefaultConfig(), 0.03, 0.03}, {PI2(), 0.3, 0.09}} {
		a := build(t, tc.c)
		a.setProb(tc.prob)
		marks := 0
		for range n {
			if a.Enqueue(0, data(500), aqm.Occupancy{Packets: 1, Bytes: 500}) == mark {
				marks++
			}
		}
		assert.InDelta(t, tc.want, a.Probability(), 1e-15)
		assert.InDelta(t, n*tc.want, marks, 4*math.Sqrt(n*tc.want), "within four standard deviations")
	}
}

// TestVectors are faults found in other implementations.
func TestVectors(t *testing.T) {
	// The update happens once per period however the calls fall.
	t.Run("P8", func(t *testing.T) {
		for _, q := range []int{0, 30, 80} {
			c := DefaultConfig()
			// A timer, with q packets all along and p = 0.01 from the start.
			p, qOld, ticks := 0.01, 0.0, uint64(0)
			for at := c.Interval; at <= 2*time.Second; at += c.Interval {
				p = math.Min(1, math.Max(0, p+c.A*(float64(q)-c.QRef)-c.B*(qOld-c.QRef)))
				qOld = float64(q)
				ticks++
			}
			for _, every := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 2 * time.Second} {
				a := build(t, c)
				a.setProb(0.01)
				for now := aqm.Time(0); now <= 2e9; now = now.Add(every) {
					a.Dequeue(now, data(500), aqm.Occupancy{Packets: q - 1})
				}
				assert.Equal(t, ticks, a.State().Updates, "%d packets, every %v", q, every)
				assert.InDelta(t, p, a.Probability(), 1e-9, "%d packets, every %v", q, every)
			}
		}
	})
	// Design(N 60, R+ 0.246 s, 15 Mb/s, 500 B packets): C 3750 packets/s, z = w_g =
	// 0.529, K 9.781e-6; a - b = K*T and (a + b)/2 = K/z.
	t.Run("P9", func(t *testing.T) {
		const interval = time.Second / 160
		c, err := Design(15_000_000, 246*time.Millisecond, 60, 500, 50, interval)
		require.NoError(t, err)
		const C, R, N = 3750.0, 0.246, 60.0
		z := 2 * N / (R * R * C)
		k := z * math.Hypot(z*R, 1) * (2 * N) * (2 * N) / (R * C * R * C * R * C)
		assert.InDelta(t, 0.529, z, 5e-4)
		assert.InDelta(t, 9.781e-6, k, 5e-10)
		assert.InEpsilon(t, k*interval.Seconds(), c.A-c.B, 1e-9)
		assert.InEpsilon(t, k/z, (c.A+c.B)/2, 1e-9)
		assert.Equal(t, Config{Unit: aqm.Packets, A: c.A, B: c.B, QRef: 50, Interval: interval, MeanPacket: 500}, c)
		assert.NotEqual(t, Published().A, c.A, "the published pair is a preset, not the formula's result")
		assert.InEpsilon(t, Published().A, c.A, 0.02)
	})
	// Never a signal at p = 0, always one at p = 1, whatever is drawn.
	t.Run("R9", func(t *testing.T) {
		for _, u := range []constant{0, 1 << 63, math.MaxUint64} {
			for _, c := range []Config{DefaultConfig(), PI2()} {
				c.Rand = u
				c.MaxECN = 0
				a := build(t, c)
				assert.Equal(t, pass, a.Enqueue(0, data(1500), aqm.Occupancy{Packets: 1000}))
				a.setProb(1)
				assert.Equal(t, mark, a.Enqueue(0, data(1500), aqm.Occupancy{Packets: 1000}))
			}
		}
	})
}

// TestIdleDelay sees the delay of the last departure forgotten once the queue is
// empty: 30 ms of delay and then silence would otherwise end in p = 1.
func TestIdleDelay(t *testing.T) {
	late := func(now aqm.Time) aqm.Packet {
		p := data(1500)
		p.EnqueuedAt = now.Add(-30 * time.Millisecond)
		return p
	}
	start := func(left int) *PI {
		a := build(t, PI2())
		a.Enqueue(0, data(1500), aqm.Occupancy{})
		a.Dequeue(40e6, late(40e6), aqm.Occupancy{Packets: 1})    // the updates at 16 and 32 ms saw 0
		a.Dequeue(50e6, late(50e6), aqm.Occupancy{Packets: left}) // the one at 48 ms saw 30 ms
		require.InDelta(t, 0.16*0.015+3.2*0.030, a.State().Prob, 1e-12)
		return a
	}
	t.Run("a departure leaves the queue empty", func(t *testing.T) {
		a := start(0)
		a.Dequeue(10e9, late(10e9), aqm.Occupancy{})
		assert.Zero(t, a.State().Prob)
		assert.Zero(t, a.State().Queue, "no delay, not even 1 ns")
	})
	t.Run("an arrival finds it empty", func(t *testing.T) {
		a := start(1) // and then it is flushed
		a.Enqueue(10e9, data(1500), aqm.Occupancy{})
		assert.Zero(t, a.State().Prob)
	})
	t.Run("it is not empty", func(t *testing.T) {
		a := start(1)
		a.Enqueue(10e9, data(1500), aqm.Occupancy{Packets: 1})
		assert.Equal(t, 1.0, a.State().Prob)
	})
	t.Run("a packet from the future", func(t *testing.T) {
		a := build(t, PI2())
		a.Enqueue(0, data(1500), aqm.Occupancy{})
		p := data(1500)
		p.EnqueuedAt = math.MaxInt64
		a.Dequeue(40e6, p, aqm.Occupancy{Packets: 1})
		a.Dequeue(50e6, p, aqm.Occupancy{Packets: 1})
		assert.Zero(t, a.State().Queue, "a negative delay is none")
	})
}

func TestDesign(t *testing.T) {
	_, err := Design(0, 0, 0, 0, math.Inf(-1), 0)
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{"pi: rate = 0 bit/s", "rtt = 0s", "flows = 0 flows", "meanPacket = 0 bytes", "qref = -Inf packets", "interval = 0s"} {
		assert.ErrorContains(t, err, part)
	}
	// A window of 2 packets: the linear model has no phase margin.
	_, err = Design(15_000_000, 246*time.Millisecond, 460, 500, 50, time.Second/160)
	assert.ErrorContains(t, err, "flows = 460 flows, must be < 392.1, so that w_g*rtt")
	_, err = Design(15_000_000, 246*time.Millisecond, 60, 500, 1000, time.Second/160)
	assert.ErrorContains(t, err, "qref = 1000 packets, must be < rtt*C = 922.5 packets")
	_, err = Design(15_000_000, 246*time.Millisecond, 60, 500, 50, 2*time.Second)
	assert.ErrorContains(t, err, "interval = 2s, must be <= 1.188")
	_, err = Design(1e15, time.Hour, 1, 1, 50, 1)
	assert.ErrorContains(t, err, "the integral gain is A - B", "an interval too short for the numbers")
}

// TestValidate sees every mistake listed at once, with field, value, bound and unit.
func TestValidate(t *testing.T) {
	nan := math.NaN()
	err := Config{Unit: 7, A: nan, B: nan, QRef: nan, Interval: -1, Squared: true, ScaleBySize: true, MaxECN: nan}.Validate()
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{
		"pi: Unit = Unit(7), must be packets, bytes or seconds", "A = NaN", "B = NaN", "QRef = NaN", "Interval = -1ns, must be in (0s, 1h0m0s]",
		"Squared = true, must be false where Unit is not Delay", "MeanPacket = 0 bytes, must be in [1, 16777216], or 0 without ScaleBySize", "MaxECN = NaN, must be in [0, 1]",
	} {
		assert.ErrorContains(t, err, part)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.A = 0 },
		func(c *Config) { c.A = math.Inf(1) },
		func(c *Config) { c.B = 0 },
		func(c *Config) { c.B = c.A },
		func(c *Config) { c.B = -c.B },
		func(c *Config) { c.QRef = 0 },
		func(c *Config) { c.QRef = math.Inf(1) },
		func(c *Config) { c.Interval = 0 },
		func(c *Config) { c.Interval = math.MaxInt64 },
		func(c *Config) { c.MeanPacket, c.ScaleBySize = 0, true },
		func(c *Config) { c.MeanPacket = math.MaxUint32 },
		func(c *Config) { c.MaxECN = -0.1 },
		func(c *Config) { c.MaxECN = 1.1 },
		func(c *Config) { c.Squared = true },
	} {
		c := DefaultConfig()
		change(&c)
		a, err := New(c)
		assert.ErrorIs(t, err, aqm.ErrConfig, "%+v", c)
		assert.Nil(t, a)
	}
	assert.Error(t, DefaultConfig().InDelay(0).Validate(), "a rate of 0")
}

// TestConversions holds the conversions against the gains per unit, and sees them
// leave what is not in packets alone.
func TestConversions(t *testing.T) {
	c := DefaultConfig().InBytes()
	assert.Equal(t, aqm.Bytes, c.Unit)
	assert.InEpsilon(t, 1.822e-5/500, c.A, 1e-12)
	assert.InEpsilon(t, 25000, c.QRef, 1e-12)
	assert.Equal(t, c, c.InBytes())
	assert.Equal(t, c, c.InDelay(1))
	d := DefaultConfig().InDelay(15_000_000)
	assert.Equal(t, aqm.Delay, d.Unit)
	assert.InEpsilon(t, 1.816e-5*3750, d.B, 1e-12)
	assert.InEpsilon(t, 50.0/3750, d.QRef, 1e-12)
}

func TestReconfigure(t *testing.T) {
	c := DefaultConfig()
	c.Interval = 10 * time.Millisecond
	c.Rand = constant(0)
	a := build(t, c)
	event := func(ms int, q int) {
		a.Dequeue(aqm.Time(ms)*1e6, data(500), aqm.Occupancy{Packets: q - 1, Bytes: 500 * int64(q-1)})
	}
	event(0, 500)
	event(10, 500)
	before := a.State()
	require.Positive(t, before.Prob)

	require.ErrorIs(t, a.Reconfigure(Config{}), aqm.ErrConfig)
	assert.Equal(t, c, a.config, "a refused configuration changes nothing")

	c.Interval = 4 * time.Millisecond
	c.Rand = constant(math.MaxUint64)
	require.NoError(t, a.Reconfigure(c))
	assert.Equal(t, before, a.State())
	event(13, 500)
	assert.Equal(t, before, a.State(), "the next update is one new interval after the last")
	event(14, 500)
	assert.Equal(t, uint64(2), a.State().Updates)
	assert.Equal(t, mark, a.Enqueue(14e6, data(500), aqm.Occupancy{Packets: 1}), "the first source goes on")

	before = a.State()
	require.NoError(t, a.Reconfigure(c.InBytes()))
	assert.InDelta(t, 500*before.Queue, a.State().Queue, 1e-6)
	event(18, 500)
	want := before.Prob + (c.A-c.B)*450
	assert.InDelta(t, want, a.Probability(), 1e-12, "the new unit gives no jolt")

	require.NoError(t, a.Reconfigure(PI2()))
	assert.InDelta(t, want, a.Probability(), 1e-12, "the probability of a signal stays")
	assert.InDelta(t, math.Sqrt(want), a.State().Prob, 1e-12)
	require.NoError(t, a.Reconfigure(c))
	assert.InDelta(t, want, a.State().Prob, 1e-12)
	assert.Equal(t, num.NewChance(a.Probability()), a.chance)

	// A delay from before another unit is not believed after it.
	delay := c.InDelay(4_000_000)
	require.NoError(t, a.Reconfigure(delay))
	a.Dequeue(20e6, aqm.Packet{EnqueuedAt: 10e6, Size: 500}, aqm.Occupancy{Packets: 9, Bytes: 4500})
	require.NoError(t, a.Reconfigure(c))
	require.NoError(t, a.Reconfigure(delay))
	a.Enqueue(24e6, data(500), aqm.Occupancy{Packets: 9, Bytes: 4500})
	assert.Zero(t, a.State().Queue)
}

// TestReconfigureDraws sees signals drawn with the probability that is told, to the
// last bit, after the one was squared or its root was taken.
func TestReconfigureDraws(t *testing.T) {
	squared := PI2()
	plain := squared
	plain.Squared = false
	for _, c := range [][2]Config{{plain, squared}, {squared, plain}} {
		r := rand.New(rand.NewPCG(5, 5))
		for range 100 { // of which the root, squared again, is often another number
			a := build(t, c[0])
			a.setProb(r.Float64())
			require.NoError(t, a.Reconfigure(c[1]))
			require.Equal(t, num.NewChance(a.Probability()), a.chance)
		}
	}
}

// TestLayout keeps the state, less the configuration, within two cache lines.
func TestLayout(t *testing.T) {
	var a PI
	t.Logf("%d bytes, and %d beside them for updates and the configuration", unsafe.Sizeof(a), unsafe.Sizeof(*a.cold))
	assert.LessOrEqual(t, unsafe.Sizeof(a), uintptr(128))
	assert.LessOrEqual(t, unsafe.Offsetof(a.queue), uintptr(64), "what every packet needs")
}

// TestNoAllocation takes 20 000 packets through all regimes in one run.
func TestNoAllocation(t *testing.T) {
	for _, c := range []Config{DefaultConfig(), PI2()} {
		c.Rand = nil
		a, err := New(c)
		require.NoError(t, err)
		run := func() {
			now := aqm.Time(0)
			for i := range 20_000 {
				now += 1e6
				p := aqm.Packet{EnqueuedAt: now - aqm.Time(i%100)*1e6, Size: 500, ECN: aqm.ECN(i % 4), Class: aqm.Data}
				q := aqm.Occupancy{Packets: i / 2 % 1000, Bytes: 500, Full: i%1000 == 999}
				a.Enqueue(now, p, q)
				a.Dequeue(now, p, q)
			}
		}
		assert.Zero(t, testing.AllocsPerRun(1, run))
	}
}

// TestManyPackets goes beyond 2^32 updates.
func TestManyPackets(t *testing.T) {
	a := build(t, DefaultConfig())
	a.Enqueue(0, data(500), aqm.Occupancy{})
	a.updates = 1<<32 - 1
	a.Dequeue(aqm.Time(2*a.config.Interval), data(500), aqm.Occupancy{Packets: 99})
	assert.Equal(t, uint64(1<<32+1), a.State().Updates)
	assert.InDelta(t, 50*a.config.A+50*a.config.B+50*(a.config.A-a.config.B), a.State().Prob, 1e-12, "from 0 to 100 packets, 50 above QRef")
}
