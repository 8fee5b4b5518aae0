package rem

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

func build(t *testing.T, c Config) *REM {
	t.Helper()
	if c.Rand == nil {
		c.Rand = rand.NewPCG(1, 2)
	}
	r, err := New(c)
	require.NoError(t, err)
	return r
}

// setProb gives r a probability, until its next update.
func (r *REM) setProb(p float64) { r.prob, r.chance = p, num.NewChance(p) }

// data is a packet of ECT(0) data.
func data(size uint32) aqm.Packet { return aqm.Packet{Size: size, ECN: aqm.ECT0, Class: aqm.Data} }

// TestDefaults pins the defaults to their source: ns-2's ns-default.tcl for Queue/REM
// (gamma_, phi_, pbo_, pupdtime_, mean_pktsize_) and rem.cc, where alpha is written
// out as 0.1. The rate is ours: ns-2 takes it from its link.
func TestDefaults(t *testing.T) {
	assert.Equal(t, Config{
		Unit: aqm.Packets, Gamma: 0.001, Alpha: 0.1, Phi: 1.001, Target: 20, Interval: 2 * time.Millisecond,
		Rate: 10_000_000, MeanPacket: 1000,
	}, DefaultConfig())
	assert.NoError(t, DefaultConfig().Validate())
	assert.InDelta(t, 2.5, DefaultConfig().capacity(), 1e-12, "packets in 2 ms")
	assert.InDelta(t, 2500, DefaultConfig().InBytes().capacity(), 1e-9, "bytes in 2 ms")
}

// TestUpdates follows the price by hand, in each unit: 10 packets of 1000 bytes
// arrive before the first update, 2 before the second, none after. c = 2 packets.
func TestUpdates(t *testing.T) {
	base := Config{
		Unit: aqm.Packets, Gamma: 0.5, Alpha: 0.1, Phi: 1.25, Target: 20, Interval: 2 * time.Millisecond,
		Rate: 8_000_000, MeanPacket: 1000,
	}
	for _, c := range []Config{base, base.InBytes()} {
		r := build(t, c)
		arrive := func(ms float64, n int) {
			for i := range n {
				r.Enqueue(aqm.Time(ms*1e6), data(1000), aqm.Occupancy{Packets: 3, Bytes: 3000, Full: i%2 == 1}) // every other one is refused
			}
		}
		event := func(ms float64, b int) {
			r.Dequeue(aqm.Time(ms*1e6), data(1000), aqm.Occupancy{Packets: b - 1, Bytes: 1000 * int64(b-1)})
		}
		near := func(want float64) {
			assert.InDelta(t, want, r.State().Price, 1e-12, c.Unit)
			assert.InDelta(t, 1-math.Pow(1.25, -want), r.Probability(), 1e-15, c.Unit)
		}
		arrive(0, 4)
		event(1, 7)
		arrive(1.5, 6)
		near(0)
		event(2, 30) // 0.5*(0.1*(30-20) + 10 - 2) = 4.5
		near(4.5)
		arrive(2, 2) // at the instant of the update: in the interval after it
		event(4, 10) // 4.5 + 0.5*(0.1*(10-20) + 2 - 2) = 4
		near(4)
		event(5.9, 10)
		near(4)
		event(6, 10) // 4 + 0.5*(-1 + 0 - 2) = 2.5
		near(2.5)
		event(8, 50) // 2.5 + 0.5*(3 - 2) = 3
		near(3)
		event(14, 50) // three more
		near(4.5)
		assert.Equal(t, uint64(7), r.State().Updates)
		event(1000, 20)
		near(0)
	}
}

// TestInstants has events at the very instant of an update, which runs before them,
// and a clock that steps back, which is no elapsed time.
func TestInstants(t *testing.T) {
	c := DefaultConfig()
	c.Interval = 10 * time.Millisecond // 12.5 packets
	for _, atDequeue := range []bool{false, true} {
		r := build(t, c)
		event := func(ms int64, b int) {
			if atDequeue {
				r.Dequeue(aqm.Time(ms*1e6), data(1000), aqm.Occupancy{Packets: b - 1})
			} else {
				r.Enqueue(aqm.Time(ms*1e6), data(1000), aqm.Occupancy{Packets: b})
				r.arrived = 0
			}
		}
		event(0, 0)
		event(10, 220) // 0.1*200 - 12.5
		assert.InDelta(t, 0.0075, r.State().Price, 1e-15)
		event(19, 220)
		event(3, 220)
		assert.Equal(t, uint64(1), r.State().Updates)
		c := c
		c.Interval = 5 * time.Millisecond
		require.NoError(t, r.Reconfigure(c)) // at 19 ms: the one at 15 ms is due
		event(3, 220)
		assert.Equal(t, uint64(2), r.State().Updates)
	}
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
			r := build(t, c)
			r.setProb(tc.p)
			p := aqm.Packet{Size: 1500, ECN: tc.ecn, Class: aqm.Data}
			assert.Equal(t, tc.want, r.Enqueue(0, p, aqm.Occupancy{Packets: 5, Bytes: 7500, Full: tc.full}))
			assert.Equal(t, pass, r.Dequeue(0, p, aqm.Occupancy{Packets: 5, Bytes: 7500}))
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
		r := build(t, c)
		q := aqm.Occupancy{Packets: 10, Bytes: 5000}
		r.Enqueue(0, data(1000), q)
		assert.Zero(t, draws, "p = 0")
		r.setProb(0.3)
		for range 3 {
			r.Enqueue(0, data(1000), q)
			r.Dequeue(0, data(1000), q)
		}
		assert.Equal(t, counter(3), draws)
		q.Full = true
		r.Enqueue(0, data(1000), q)
		assert.Equal(t, counter(3), draws, "no room")
		r.setProb(0x1p-54)
		q.Full = false
		r.Enqueue(0, data(1000), q)
		assert.Equal(t, counter(3), draws, "p is below the smallest u")
	}
}

// TestRate draws from a PCG: the share of signals is p.
func TestRate(t *testing.T) {
	const n = 200_000
	r := build(t, DefaultConfig())
	r.setProb(0.03)
	marks := 0
	for range n {
		if r.Enqueue(0, data(1000), aqm.Occupancy{Packets: 1, Bytes: 1000}) == mark {
			marks++
		}
	}
	assert.InDelta(t, n*0.03, marks, 4*math.Sqrt(n*0.03), "within four standard deviations")
}

// TestVectors are faults found in other implementations.
func TestVectors(t *testing.T) {
	// The update happens once per period however the calls fall.
	t.Run("P8", func(t *testing.T) {
		for _, b := range []int{0, 40, 80} {
			c := DefaultConfig()
			// A timer, with b packets all along and a price of 10 from the start.
			price, ticks := 10.0, uint64(0)
			for at := c.Interval; at <= 2*time.Second; at += c.Interval {
				price = math.Max(0, price+c.Gamma*(c.Alpha*(float64(b)-c.Target)+0-2.5))
				ticks++
			}
			for _, every := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 2 * time.Second} {
				r := build(t, c)
				r.price = 10
				for now := aqm.Time(0); now <= 2e9; now = now.Add(every) {
					r.Dequeue(now, data(1000), aqm.Occupancy{Packets: b - 1})
				}
				assert.Equal(t, ticks, r.State().Updates, "%d packets, every %v", b, every)
				assert.InDelta(t, price, r.State().Price, 1e-9, "%d packets, every %v", b, every)
				assert.InDelta(t, 1-math.Pow(c.Phi, -price), r.Probability(), 1e-9, "%d packets, every %v", b, every)
			}
		}
	})
	// The price under a rate above capacity with b below b* rises by gamma(alpha(b-b*)
	// + x - c), never below 0; m = 1 - phi^-price.
	t.Run("P10", func(t *testing.T) {
		c := DefaultConfig()
		r := build(t, c)
		q := aqm.Occupancy{Packets: 5, Bytes: 5000} // b* is 20
		price := 0.0
		now := aqm.Time(0)
		r.Enqueue(now, data(1000), q)
		for x := 1; x <= 8; x++ { // c is 2.5
			for range x - 1 {
				r.Enqueue(now, data(1000), q)
			}
			now += 2e6
			r.Enqueue(now, data(1000), q) // the first of the next interval
			step := 0.001 * (0.1*(5-20) + float64(x) - 2.5)
			price = math.Max(0, price+step)
			assert.InDelta(t, price, r.State().Price, 1e-15, "%d arrivals", x)
			assert.InDelta(t, 1-math.Pow(1.001, -price), r.Probability(), 1e-15)
		}
		assert.InDelta(t, 0.001*(1+2+3+4), price, 1e-15, "at 4 packets, alpha(b-b*) + x - c is 0")
	})
	// Never a signal at p = 0, always one at p = 1, whatever is drawn.
	t.Run("R9", func(t *testing.T) {
		for _, u := range []constant{0, 1 << 63, math.MaxUint64} {
			c := DefaultConfig()
			c.Rand = u
			r := build(t, c)
			assert.Equal(t, pass, r.Enqueue(0, data(1500), aqm.Occupancy{Packets: 1000}))
			r.setProb(1)
			assert.Equal(t, mark, r.Enqueue(0, data(1500), aqm.Occupancy{Packets: 1000}))
		}
	})
}

// TestDesign holds Design against the gains of PI for the same link, computed here:
// a = g(1 + alpha) and b = g with g = gamma*ln(phi)*(1 - m).
func TestDesign(t *testing.T) {
	const interval = time.Second / 160
	c, err := Design(15_000_000, 246*time.Millisecond, 60, 500, 50, interval)
	require.NoError(t, err)
	const C, R, N = 3750.0, 0.246, 60.0
	z := 2 * N / (R * R * C)
	k := z * math.Hypot(z*R, 1) * (2 * N) * (2 * N) / (R * C * R * C * R * C)
	m := 2 * (N / (R * C)) * (N / (R * C))
	g := c.Gamma * math.Log(c.Phi) * (1 - m)
	assert.InEpsilon(t, k/z-k*interval.Seconds()/2, g, 1e-12)
	assert.InEpsilon(t, k*interval.Seconds(), g*c.Alpha, 1e-9)
	assert.Equal(t, Config{
		Unit: aqm.Packets, Gamma: c.Gamma, Alpha: c.Alpha, Phi: 1.001, Target: 50, Interval: interval,
		Rate: 15_000_000, MeanPacket: 500,
	}, c)

	_, err = Design(0, 0, 0, 0, math.Inf(-1), 0)
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{"rem: rate = 0 bit/s", "rtt = 0s", "flows = 0 flows", "meanPacket = 0 bytes", "target = -Inf packets", "interval = 0s"} {
		assert.ErrorContains(t, err, part)
	}
	// A window of 2 packets: the linear model has no phase margin.
	_, err = Design(15_000_000, 246*time.Millisecond, 460, 500, 50, interval)
	assert.ErrorContains(t, err, "flows = 460 flows, must be < 392.1, so that w_g*rtt")
	_, err = Design(15_000_000, 246*time.Millisecond, 60, 500, 1000, interval)
	assert.ErrorContains(t, err, "target = 1000 packets, must be < rtt*C = 922.5 packets")
	_, err = Design(15_000_000, 246*time.Millisecond, 60, 500, 50, 2*time.Second)
	assert.ErrorContains(t, err, "interval = 2s, must be <= 1.188")
	_, err = Design(1e15, time.Hour, 1, 1, 50, 1)
	assert.ErrorContains(t, err, "Alpha = 0", "an interval too short for the numbers")
}

// TestValidate sees every mistake listed at once, with field, value, bound and unit.
func TestValidate(t *testing.T) {
	nan := math.NaN()
	err := Config{Unit: aqm.Delay, Gamma: nan, Alpha: nan, Phi: nan, Target: nan, Interval: -1, MaxECN: nan}.Validate()
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{
		"rem: Unit = seconds, must be packets or bytes", "Gamma = NaN", "Alpha = NaN", "Phi = NaN, must be in (1, 1e+06]", "Target = NaN",
		"Interval = -1ns, must be in (0s, 1h0m0s]", "Rate = 0 bit/s", "MeanPacket = 0 bytes, must be in [1, 16777216]", "MaxECN = NaN, must be in [0, 1]",
	} {
		assert.ErrorContains(t, err, part)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Unit = 7 },
		func(c *Config) { c.Gamma = 0 },
		func(c *Config) { c.Gamma = math.Inf(1) },
		func(c *Config) { c.Alpha = 0 },
		func(c *Config) { c.Alpha = -1 },
		func(c *Config) { c.Phi = 1 },
		func(c *Config) { c.Phi = math.Inf(1) },
		func(c *Config) { c.Target = 0 },
		func(c *Config) { c.Target = math.Inf(1) },
		func(c *Config) { c.Interval = 0 },
		func(c *Config) { c.Interval = math.MaxInt64 },
		func(c *Config) { c.Rate = 0 },
		func(c *Config) { c.Rate = math.MaxUint64 },
		func(c *Config) { c.MeanPacket = 0 },
		func(c *Config) { c.MeanPacket = math.MaxUint32 },
		func(c *Config) { c.MaxECN = -0.1 },
		func(c *Config) { c.MaxECN = 1.1 },
	} {
		c := DefaultConfig()
		change(&c)
		r, err := New(c)
		assert.ErrorIs(t, err, aqm.ErrConfig, "%+v", c)
		assert.Nil(t, r)
	}
}

// TestConversions holds the conversion against the gain per unit, and sees it leave
// what is not in packets alone.
func TestConversions(t *testing.T) {
	c := DefaultConfig().InBytes()
	assert.Equal(t, aqm.Bytes, c.Unit)
	assert.InEpsilon(t, 1e-6, c.Gamma, 1e-12)
	assert.InEpsilon(t, 20_000, c.Target, 1e-12)
	assert.Equal(t, c, c.InBytes())
}

func TestReconfigure(t *testing.T) {
	c := DefaultConfig()
	c.Interval = 10 * time.Millisecond
	c.Gamma = 1
	c.Rand = constant(0)
	r := build(t, c)
	event := func(ms int, b int) {
		r.Dequeue(aqm.Time(ms)*1e6, data(1000), aqm.Occupancy{Packets: b - 1, Bytes: 1000 * int64(b-1)})
	}
	event(0, 500)
	event(10, 500) // 0.1*480 - 12.5 = 35.5
	before := r.State()
	require.InDelta(t, 35.5, before.Price, 1e-9)

	require.ErrorIs(t, r.Reconfigure(Config{}), aqm.ErrConfig)
	assert.Equal(t, c, r.config, "a refused configuration changes nothing")

	c.Interval = 4 * time.Millisecond
	c.Rand = constant(math.MaxUint64)
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, before, r.State())
	event(13, 500)
	assert.Equal(t, before, r.State(), "the next update is one new interval after the last")
	event(14, 500) // 48 - 5
	assert.InDelta(t, 35.5+43, r.State().Price, 1e-9)
	assert.Equal(t, mark, r.Enqueue(14e6, data(1000), aqm.Occupancy{Packets: 1}), "the first source goes on")

	require.NoError(t, r.Reconfigure(c.InBytes()))
	event(18, 500) // and one arrival
	assert.InDelta(t, 35.5+43+44, r.State().Price, 1e-9, "the price is the same in bytes")

	r.Enqueue(18e6, data(1500), aqm.Occupancy{Packets: 1})
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, uint64(1), r.arrived, "1500 bytes are one packet of 1000 bytes")
	r.arrived = 0

	prob := r.Probability()
	c.Phi = 1.002001 // 1.001 squared
	require.NoError(t, r.Reconfigure(c))
	assert.Equal(t, prob, r.Probability(), "the probability of a signal stays")
	assert.InDelta(t, (35.5+43+44)/2, r.State().Price, 1e-9)
	event(22, 70) // 5 - 5: the price stands
	assert.InDelta(t, prob, r.Probability(), 1e-12)
}

// TestLayout keeps the state, less the configuration, within two cache lines.
func TestLayout(t *testing.T) {
	var r REM
	t.Logf("%d bytes, and %d beside them for updates and the configuration", unsafe.Sizeof(r), unsafe.Sizeof(*r.cold))
	assert.LessOrEqual(t, unsafe.Sizeof(r), uintptr(128))
	assert.LessOrEqual(t, unsafe.Offsetof(r.prob), uintptr(64), "what every packet needs")
}

// TestNoAllocation takes 20 000 packets through all regimes in one run.
func TestNoAllocation(t *testing.T) {
	c := DefaultConfig()
	c.Gamma = 1
	r, err := New(c)
	require.NoError(t, err)
	run := func() {
		now := aqm.Time(0)
		for i := range 20_000 {
			now += 1e6
			p := aqm.Packet{EnqueuedAt: now, Size: 500, ECN: aqm.ECN(i % 4), Class: aqm.Data}
			q := aqm.Occupancy{Packets: i / 2 % 1000, Bytes: 500, Full: i%1000 == 999}
			r.Enqueue(now, p, q)
			r.Dequeue(now, p, q)
		}
	}
	assert.Zero(t, testing.AllocsPerRun(1, run))
}

// TestManyPackets has 2^32 packets arrive in an interval, and 2^48 bytes.
func TestManyPackets(t *testing.T) {
	r := build(t, DefaultConfig())
	b := build(t, DefaultConfig().InBytes())
	for _, a := range []*REM{r, b} {
		a.Enqueue(0, data(1<<16), aqm.Occupancy{})
		a.updates = 1<<32 - 1
	}
	r.arrived, b.arrived = 1<<32-1, 1<<48-1<<16
	for _, a := range []*REM{r, b} {
		a.Enqueue(0, data(1<<16), aqm.Occupancy{})
		a.Dequeue(aqm.Time(a.config.Interval), data(1000), aqm.Occupancy{Packets: 19, Bytes: 19_000})
		assert.Equal(t, uint64(1<<32), a.State().Updates)
	}
	assert.InEpsilon(t, 0.001*(1<<32-2.5), r.State().Price, 1e-12, "20 packets stand at Target, and 2.5 depart in 2 ms")
	assert.InEpsilon(t, 1e-6*(1<<48-2500), b.State().Price, 1e-12)
}
