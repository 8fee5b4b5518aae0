package pie

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
)

const ms = aqm.Time(time.Millisecond)

var (
	pass   = aqm.Verdict{}
	mark   = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	drop   = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	forced = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	full   = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}

	standing = aqm.Occupancy{Packets: 100, Bytes: 150_000}
	ect      = aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}
	notECT   = aqm.Packet{Size: 1500, Class: aqm.Data}
)

// TestDefaults pins the defaults to RFC 8033 sections 4 and 5.1, its section 8 for
// data centers, and RFC 8034 A.1.
func TestDefaults(t *testing.T) {
	assert.Equal(t, Config{
		Target:     15 * time.Millisecond,  // QDELAY_REF
		Update:     15 * time.Millisecond,  // T_UPDATE
		MaxBurst:   150 * time.Millisecond, // MAX_BURST
		Alpha:      1.0 / 8,
		Beta:       1 + 1.0/4,
		MaxECN:     0.1,  // mark_ecnth
		MeanPacket: 1024, // RFC 8034's MEAN_PKTSIZE
	}, DefaultConfig())
	assert.Equal(t, Config{
		Target:     15 * time.Microsecond,
		Update:     15 * time.Microsecond,
		MaxBurst:   150 * time.Microsecond,
		Alpha:      125,
		Beta:       1250,
		MaxECN:     0.1,
		MeanPacket: 1024,
	}, DataCenter())
	assert.Equal(t, Config{
		Target:     10 * time.Millisecond,  // LATENCY_TARGET
		Update:     16 * time.Millisecond,  // INTERVAL
		MaxBurst:   142 * time.Millisecond, // MAX_BURST
		Alpha:      0.25,                   // A
		Beta:       2.5,                    // B
		MeanPacket: 1024,                   // MEAN_PKTSIZE
		DOCSIS:     true,
	}, DOCSIS())
	for _, c := range []Config{DefaultConfig(), DataCenter(), DOCSIS()} {
		assert.NoError(t, c.Validate())
	}
}

// TestConstants pins the constants of the pseudo-code: what a step of p is divided
// by, which follows from a step with only the divisor unknown, and the others.
func TestConstants(t *testing.T) {
	for _, tc := range []struct{ p, pie, docsis float64 }{
		{0, 2048, 2048},
		{0.9e-6, 2048, 2048},
		{1e-6, 512, 512},
		{0.9e-5, 512, 512},
		{1e-5, 128, 128},
		{0.9e-4, 128, 128},
		{1e-4, 32, 32},
		{0.9e-3, 32, 32},
		{1e-3, 8, 8},
		{0.9e-2, 8, 8},
		{1e-2, 2, 2},
		{0.09, 2, 2},
		{0.1, 1, 0.5},
		{0.9, 1, 0.5},
		{1, 1, 0.125},
		{9, 0, 0.125},
		{10, 0, 0.03125},
		{13, 0, 0.03125},
	} {
		l, d := newLaw(DefaultConfig()), newLaw(DOCSIS())
		const over = 0.001 // s
		if tc.pie != 0 {
			l.max = 2
			assert.InEpsilon(t, 0.125*over/tc.pie, l.next(tc.p, 0.015+over, 0.015+over)-tc.p, 1e-6, "PIE at p = %v", tc.p)
		}
		assert.InEpsilon(t, 0.25*over/tc.docsis, d.next(tc.p, 0.010+over, 0.010+over)-tc.p, 1e-6, "DOCSIS-PIE at p = %v", tc.p)
	}
	assert.Equal(t, 0.85, probLow)
	assert.Equal(t, 8.5, probHigh)
	assert.Equal(t, 0.2, spareBelow)
	assert.Equal(t, 64.0, float64(minPacket))
	assert.Equal(t, 1<<14, rateThreshold)
	assert.Equal(t, 0.25, rateWeight)
	assert.Equal(t, time.Second, resetAfter)

	l, d := newLaw(DefaultConfig()), newLaw(DOCSIS())
	assert.InDelta(t, 0.12, l.next(0.1, 10, 0), 1e-12, "a step up of 0.02 at the most [RFC 8033 5.5]")
	assert.Greater(t, l.next(0.09, 10, 0), 0.12, "below p = 0.1 there is no such limit")
	assert.Equal(t, 1.0, l.next(1, 10, 0))
	assert.InDelta(t, (0.5-0.125*0.015)*0.98, l.next(0.5, 0, 0), 1e-15)
	assert.InDelta(t, (0.5-0.125*0.008)*0.98, l.next(0.5, 0.007, 0.007), 1e-15, "decay below Target/2")
	for _, delays := range [][2]float64{{0.0075, 0.0075}, {0.0075, 0}, {0.007, 0.0075}} { // now and before
		want := 0.5 + 0.125*(delays[0]-0.015) + 1.25*(delays[0]-delays[1])
		assert.InDelta(t, want, l.next(0.5, delays[0], delays[1]), 1e-15, "no decay at Target/2: %v", delays)
	}
	assert.InDelta(t, 0.85*1024/64, d.next(13.59, 10, 0), 1e-12, "largest drop_prob [RFC 8034 A.2]")
	assert.InDelta(t, 0.54, d.next(0.5, 0.201, 0), 1e-12, "0.02 more above LATENCY_HIGH")
	assert.InDelta(t, 0.52, d.next(0.5, 0.2, 0), 1e-12)
	assert.InDelta(t, (0.5-0.25*0.0055/0.5)*0.98, d.next(0.5, 0.0045, 0.0045), 1e-12, "decay below LATENCY_LOW")
	assert.InDelta(t, 0.5-0.25*0.005/0.5, d.next(0.5, 0.005, 0.005), 1e-12)
	c := DOCSIS()
	c.Target = 40 * time.Millisecond
	d = newLaw(c)
	assert.InDelta(t, 0.5-0.25*0.035/0.5, d.next(0.5, 0.005, 0.005), 1e-12, "whatever the Target")
	assert.InDelta(t, (0.5-0.25*0.036/0.5)*0.98, d.next(0.5, 0.004, 0.004), 1e-12)
}

// fixed is a source of one number.
type fixed uint64

func (f fixed) Uint64() uint64 { return uint64(f) }

// drawing returns a source of the uniform number u in (0, 1].
func drawing(u float64) fixed { return fixed(uint64(u*(1<<53))-1) << 11 }

// at returns a PIE under congestion, without a burst allowance, that judges arrivals
// with probability p. Its timer starts at 0.
func at(t *testing.T, c Config, p float64) *PIE {
	t.Helper()
	a, err := New(c)
	require.NoError(t, err)
	a.Enqueue(0, ect, standing)
	a.set(p, 0.02)
	return a
}

func (p *PIE) set(prob, old float64) {
	p.p, p.old, p.burst, p.accumulated = prob, old, 0, 0
	p.arm()
}

// sojourns lets a packet depart at now that was queued for d.
func (p *PIE) sojourns(now aqm.Time, d time.Duration) {
	p.Dequeue(now, aqm.Packet{EnqueuedAt: now.Add(-d), Size: 1500}, standing)
}

func TestVectors(t *testing.T) {
	t.Run("P1", func(t *testing.T) {
		c := DefaultConfig()
		c.Rand = drawing(0.5)
		a := at(t, c, 0.01)
		a.accumulated = 0.9
		assert.Equal(t, pass, a.Enqueue(1, ect, standing))
		assert.InDelta(t, 0.91, a.State().Accumulated, 1e-12)
		a = at(t, c, 0.5) // u = p
		a.accumulated = 0.9
		assert.Equal(t, forced, a.Enqueue(1, ect, standing))
	})
	t.Run("P2", func(t *testing.T) {
		a, err := New(DefaultConfig())
		require.NoError(t, err)
		a.Enqueue(0, ect, aqm.Occupancy{})
		a.sojourns(ms, 200*time.Microsecond)
		a.Enqueue(15*ms, ect, standing)
		assert.Zero(t, a.State().Prob)
		assert.Equal(t, 200*time.Microsecond, a.State().Delay)
	})
	t.Run("P3", func(t *testing.T) {
		const delay = 15001 * time.Microsecond
		a, err := New(DefaultConfig())
		require.NoError(t, err)
		a.Enqueue(0, ect, standing)
		a.sojourns(14*ms, 30*time.Millisecond)
		a.sojourns(29*ms, delay)
		a.sojourns(44*ms, delay)
		a.p = 0
		a.Enqueue(45*ms, ect, standing)
		assert.InEpsilon(t, 0.125*1e-6/2048, a.State().Prob, 1e-9)
		assert.InEpsilon(t, 6.1e-11, a.State().Prob, 0.01)

		b, err := New(DefaultConfig())
		require.NoError(t, err)
		b.Enqueue(0, ect, standing)
		b.sojourns(14*ms, delay)
		b.Enqueue(15*ms, ect, standing)
		assert.InEpsilon(t, (0.125*1e-6+1.25*0.015001)/2048, b.State().Prob, 1e-9)
		assert.InEpsilon(t, 9.156e-6, b.State().Prob, 1e-4)
	})
	t.Run("P4", func(t *testing.T) {
		c := DefaultConfig()
		assert.Equal(t, []time.Duration{15 * time.Millisecond, 15 * time.Millisecond, 150 * time.Millisecond}, []time.Duration{c.Target, c.Update, c.MaxBurst})
		assert.Equal(t, []float64{0.125, 1.25, 0.1}, []float64{c.Alpha, c.Beta, c.MaxECN})
	})
	t.Run("P5", func(t *testing.T) {
		a := at(t, DefaultConfig(), 5e-7)
		a.set(5e-7, 0.015)
		a.sojourns(ms, 25*time.Millisecond)
		a.Enqueue(15*ms, ect, standing)
		assert.InEpsilon(t, 5e-7+(0.125*0.01+1.25*0.01)/2048, a.State().Prob, 1e-9)
	})
	t.Run("P6", func(t *testing.T) {
		a := at(t, DefaultConfig(), 1)
		three := aqm.Occupancy{Packets: 3, Bytes: 120}
		for range 100 {
			require.Equal(t, pass, a.Enqueue(1, notECT, three))
		}
		assert.Equal(t, pass, a.Enqueue(1, notECT, aqm.Occupancy{Packets: 2, Bytes: 2048}))
		assert.Equal(t, forced, a.Enqueue(1, notECT, aqm.Occupancy{Packets: 2, Bytes: 2049}))
	})
	t.Run("P7", func(t *testing.T) {
		c := DefaultConfig()
		for _, tc := range []struct {
			p    float64
			k    aqm.Packet
			want aqm.Verdict
		}{
			{math.Nextafter(0.1, 0), ect, mark},
			{math.Nextafter(0.1, 0), notECT, drop},
			{0.1, ect, forced}, // Linux marks
			{0.1, notECT, forced},
		} {
			a := at(t, c, tc.p)
			a.accumulated = 8.5
			assert.Equal(t, tc.want, a.Enqueue(1, tc.k, standing), "p = %v, %v", tc.p, tc.k.ECN)
			assert.Zero(t, a.State().Accumulated, "a mark or a drop clears the accumulator")
		}
		c.MaxECN = 0
		a := at(t, c, 1)
		assert.Equal(t, mark, a.Enqueue(1, ect, standing), "no limit")
	})
	t.Run("P8", func(t *testing.T) {
		for _, delay := range []time.Duration{1, 7 * time.Millisecond, 10 * time.Millisecond, 15 * time.Millisecond, 16 * time.Millisecond, time.Second} {
			c := DefaultConfig()
			c.Rand = fixed(1)
			timer := naive(c)
			var instances []*PIE
			for range 3 {
				a, err := New(c)
				require.NoError(t, err)
				instances = append(instances, a)
			}
			ask := func(q aqm.AQM, now aqm.Time) { q.Enqueue(now, ect, standing) }
			for _, q := range []aqm.AQM{instances[0], instances[1], instances[2], timer} {
				ask(q, 0)
				q.Dequeue(1, aqm.Packet{EnqueuedAt: 1 - aqm.Time(delay), Size: 1500}, standing)
			}
			const end = 2000 * ms
			for now := ms; now < end; now += ms {
				ask(instances[0], now)
				ask(timer, now)
				if now%(10*ms) == 0 {
					ask(instances[1], now)
				}
			}
			ask(timer, end)
			for _, a := range instances {
				ask(a, end)
				assert.Equal(t, timer.DropProb, a.State().Prob, "delay %v", delay)
				assert.Equal(t, timer.BurstAllowance, a.State().Burst)
				assert.Equal(t, timer.Next(), a.timer.Next)
			}
			assert.Equal(t, uint64(133), timer.Updates, "once a period")
		}
	})
	t.Run("P11", func(t *testing.T) {
		for _, flushed := range []bool{false, true} {
			a := at(t, DefaultConfig(), 0.5)
			left := aqm.Occupancy{}
			if flushed {
				left = standing // and a flush empties the queue afterwards
			}
			a.Dequeue(ms, aqm.Packet{EnqueuedAt: -29 * ms, Size: 1500}, left)
			a.Enqueue(10_000*ms, ect, aqm.Occupancy{})
			assert.Less(t, a.State().Prob, 1e-3, "flushed: %v", flushed)
			assert.Zero(t, a.State().Delay)
		}
	})
}

// naive returns the oracle of c.
func naive(c Config) *oracle.PIE {
	return &oracle.PIE{
		Target: c.Target, Update: c.Update, MaxBurst: c.MaxBurst,
		Alpha: c.Alpha, Beta: c.Beta, MaxECN: c.MaxECN,
		MeanPacket: c.MeanPacket, LimitBytes: c.LimitBytes,
		DepartureRate: c.DepartureRate,
		DOCSIS:        c.DOCSIS, PeakRate: c.PeakRate, SustainedRate: c.SustainedRate, TrafficBurst: c.TrafficBurst,
		Rand: c.Rand,
	}
}

// TestAccumulator walks through RFC 8033 section 5.4.
func TestAccumulator(t *testing.T) {
	c := DefaultConfig()
	c.Rand = drawing(1) // the random choice is always to pass
	a := at(t, c, 0.0625)
	passed := 0
	for a.Enqueue(1, ect, standing) == pass {
		passed++
	}
	assert.Equal(t, 135, passed, "the 136th arrival makes it 8.5")
	assert.Zero(t, a.State().Accumulated)

	c.Rand = fixed(0) // always to signal
	a = at(t, c, 0.0625)
	passed = 0
	for a.Enqueue(1, ect, standing) == pass {
		passed++
	}
	assert.Equal(t, 13, passed, "the 14th arrival makes it 0.875")

	a.accumulated = 5
	q := standing
	q.Full = true
	assert.Equal(t, full, a.Enqueue(1, ect, q))
	assert.Zero(t, a.State().Accumulated, "a tail drop clears the accumulator")
}

// TestSafeguards walks through RFC 8033 section 4.1.
func TestSafeguards(t *testing.T) {
	for _, tc := range []struct {
		p, old float64
		bytes  int64
		want   aqm.Verdict
	}{
		{0.19, 0.0074, 1e6, pass},
		{0.19, 0.0075, 1e6, forced},
		{0.2, 0, 1e6, forced},
		{0.19, 0.0075, 2048, pass},
		{1, 10, 2048, pass},
		{1, 10, 2049, forced},
	} {
		a := at(t, DefaultConfig(), tc.p)
		a.set(tc.p, tc.old)
		a.accumulated = 8.5
		assert.Equal(t, tc.want, a.Enqueue(1, ect, aqm.Occupancy{Packets: 10, Bytes: tc.bytes}), "%+v", tc)
	}
}

// TestBurst walks through RFC 8033 section 4.4: for ten updates of congestion nothing
// is signalled, nor accumulated.
func TestBurst(t *testing.T) {
	a, err := New(DefaultConfig())
	require.NoError(t, err)
	assert.Equal(t, 150*time.Millisecond, a.State().Burst)
	a.Enqueue(0, ect, standing)
	a.sojourns(1, time.Second)
	for now := ms; now < 150*ms; now += ms {
		require.Equal(t, pass, a.Enqueue(now, ect, standing), "at %v", time.Duration(now))
	}
	s := a.State()
	assert.Equal(t, 15*time.Millisecond, s.Burst)
	assert.Zero(t, s.Accumulated)
	assert.Greater(t, s.Prob, 0.1, "p rises meanwhile")
	a.Enqueue(150*ms, ect, standing)
	assert.Zero(t, a.State().Burst)
	assert.Equal(t, a.State().Prob, a.State().Accumulated)

	a.Dequeue(151*ms, ect, aqm.Occupancy{})
	a.Enqueue(60_000*ms, ect, aqm.Occupancy{})
	assert.Equal(t, State{Burst: 150 * time.Millisecond, Active: true}, a.State(), "all is over after a minute of silence")
}

// TestActivation walks through RFC 8033 section 5.3.
func TestActivation(t *testing.T) {
	c := DefaultConfig()
	c.LimitBytes = 90_001
	a, err := New(c)
	require.NoError(t, err)
	third := aqm.Occupancy{Packets: 30, Bytes: 30_000}
	a.Enqueue(0, ect, third)
	a.sojourns(1, time.Second)
	a.Enqueue(300*ms, ect, third)
	assert.Equal(t, State{Delay: time.Second}, a.State(), "no updates below a third of the buffer")

	third.Bytes++
	assert.Equal(t, pass, a.Enqueue(301*ms, ect, third))
	assert.Equal(t, State{Delay: time.Second, Burst: 150 * time.Millisecond, Active: true}, a.State())
	a.Enqueue(330*ms, ect, aqm.Occupancy{Packets: 1, Bytes: 1500})
	assert.True(t, a.State().Active, "it stays active as the backlog shrinks")
	assert.Positive(t, a.State().Prob)

	a.sojourns(331*ms, time.Millisecond)
	a.Enqueue(20_000*ms, ect, aqm.Occupancy{Packets: 1, Bytes: 1500})
	assert.False(t, a.State().Active, "until p is 0 and the delays are low")
	assert.Zero(t, a.State().Prob)

	q := aqm.Occupancy{Packets: 60, Bytes: 90_000, Full: true}
	assert.Equal(t, full, a.Enqueue(20_001*ms, ect, q))
	assert.True(t, a.State().Active, "an arrival that finds no room activates as well")

	for _, tc := range []struct{ limit, third int64 }{
		{1, 1}, {2, 1}, {3, 1}, {4, 2}, {90_000, 30_000}, {90_001, 30_001}, {90_002, 30_001}, {90_003, 30_001}, {math.MaxInt64, math.MaxInt64/3 + 1},
	} {
		for _, full := range []bool{false, true} {
			c.LimitBytes = tc.limit
			a, err := New(c)
			require.NoError(t, err)
			a.Enqueue(0, ect, aqm.Occupancy{Packets: 1, Bytes: tc.third - 1, Full: full})
			assert.False(t, a.State().Active, "%+v", tc)
			a.Enqueue(0, ect, aqm.Occupancy{Packets: 1, Bytes: tc.third, Full: full})
			assert.True(t, a.State().Active, "%+v", tc)
			a.Enqueue(20_000*ms, ect, aqm.Occupancy{})
			assert.False(t, a.State().Active, "%+v", tc)
		}
	}
}

// TestRest sees congestion end where two updates in a row find a delay below
// Target/2 [RFC 8033 5.3], and with one that is Target/2 still go on.
func TestRest(t *testing.T) {
	c := DefaultConfig()
	c.LimitBytes = 90_000
	const half = 7500 * time.Microsecond
	for _, tc := range []struct {
		before, now time.Duration
		updates     aqm.Time
		active      bool
	}{
		{half - 1, half - 1, 1, false},
		{half, half - 1, 1, true},
		{half - 1, half, 1, true},
		{half, half - 1, 2, false},
		{half, half, 2, true},
		{half, half, 1000, true},
	} {
		a := at(t, c, 0)
		a.set(0, seconds(tc.before))
		a.sojourns(1, tc.now)
		a.Enqueue(tc.updates*15*ms, ect, standing)
		assert.Zero(t, a.State().Prob)
		// The backlog of this arrival activates it anew, which leaves no delay.
		assert.Equal(t, tc.active, a.old != 0, "%+v", tc)
	}
}

// TestDepartureRate walks through RFC 8033 section 5.2: of 1500 bytes a millisecond,
// eleven make more than 2^14 bytes.
func TestDepartureRate(t *testing.T) {
	c := DefaultConfig()
	c.DepartureRate = true
	a, err := New(c)
	require.NoError(t, err)
	depart := func(now aqm.Time, backlog int64) {
		a.Dequeue(now, aqm.Packet{EnqueuedAt: now, Size: 1500}, aqm.Occupancy{Packets: 20, Bytes: backlog})
	}
	depart(0, 16_383)
	depart(ms, 16_384) // starts a measurement, this departure not included
	for i := range aqm.Time(10) {
		depart((i+2)*ms, 1500)
		assert.Zero(t, a.rate.average)
	}
	depart(12*ms, 30_000) // ends it, and starts the next
	assert.InDelta(t, 0.011, a.rate.average, 1e-12)
	for i := range aqm.Time(11) {
		depart((13+2*i)*ms, 30_000)
	}
	assert.InDelta(t, 0.25*0.021+0.75*0.011, a.rate.average, 1e-12, "from 12 to 33 ms")
	a.Enqueue(45*ms, ect, aqm.Occupancy{Packets: 40, Bytes: 60_000})
	want := 60_000 * 0.0135 / 16384
	assert.InDelta(t, want, a.old, 1e-12)
	assert.InDelta(t, want, a.State().Delay.Seconds(), 1e-9)
	a.Enqueue(60*ms, ect, aqm.Occupancy{})
	assert.Zero(t, a.State().Delay)

	a, err = New(c)
	require.NoError(t, err)
	depart(0, 16_384)
	for i := range aqm.Time(16) {
		assert.Zero(t, a.rate.average)
		a.Dequeue((i+1)*ms, aqm.Packet{Size: 1024}, standing)
	}
	assert.InDelta(t, 0.016, a.rate.average, 1e-12, "2^14 bytes are enough")

	a, err = New(c)
	require.NoError(t, err)
	depart(0, 16_384)
	a.Dequeue(ms, aqm.Packet{Size: 1<<14 - 1}, standing)
	assert.Zero(t, a.rate.average, "and one less are not")
	a.Dequeue(2*ms, aqm.Packet{Size: 1}, standing)
	assert.InDelta(t, 0.002, a.rate.average, 1e-12)
}

// TestDuration sees delays rounded to nanoseconds, up to the longest there is.
func TestDuration(t *testing.T) {
	assert.Equal(t, 10*time.Second, duration(10))
	assert.Equal(t, 2*time.Nanosecond, duration(1.6e-9))
	assert.Equal(t, time.Nanosecond, duration(1.4e-9))
	assert.Equal(t, time.Duration(math.MaxInt64), duration(math.MaxFloat64))
	s := 0x1p63 / 1e9
	for float64(s*1e9) < 0x1p63 {
		s = math.Nextafter(s, math.Inf(1))
	}
	for float64(s*1e9) > 0x1p63 {
		s = math.Nextafter(s, 0)
	}
	require.Equal(t, 0x1p63, float64(s*1e9))
	assert.Equal(t, time.Duration(math.MaxInt64), duration(s), "the first that is too long")
}

// TestDOCSIS walks through the states of RFC 8034.
func TestDOCSIS(t *testing.T) {
	c := DOCSIS()
	c.LimitBytes = 300_000
	c.Rand = fixed(0) // the random choice is always to drop
	a, err := New(c)
	require.NoError(t, err)
	low := aqm.Occupancy{Packets: 66, Bytes: 99_999}
	high := aqm.Occupancy{Packets: 67, Bytes: 100_000}
	k := aqm.Packet{Size: 1024, ECN: aqm.ECT0}

	a.Enqueue(0, k, low)
	a.sojourns(1, 100*time.Millisecond)
	a.Enqueue(1600*ms, k, low)
	s := a.State()
	assert.False(t, s.Active, "INACTIVE below a third of the buffer")
	assert.Greater(t, s.Prob, 1.0, "p is updated all the same, beyond 1")
	assert.Equal(t, 0.85, a.Probability())
	assert.Zero(t, s.Accumulated)

	assert.Equal(t, forced, a.Enqueue(1600*ms, k, high), "QUIESCENT, and ACTIVE with the first drop; no ECN")
	s = a.State()
	assert.Equal(t, 142*time.Millisecond, s.Burst, "when burst protection starts")
	assert.True(t, s.Active && !s.Quiescent)
	assert.Equal(t, pass, a.Enqueue(1601*ms, k, high))
	a.Enqueue(1616*ms, k, high)
	assert.Zero(t, a.State().Prob, "and p with it")
	assert.Equal(t, 126*time.Millisecond, a.State().Burst)

	a.Dequeue(1617*ms, k, aqm.Occupancy{})
	// The allowance ends with the update at 1744 ms, which finds all quiet. From there
	// it takes more than a second of updates.
	a.Enqueue(1743*ms, k, aqm.Occupancy{})
	assert.False(t, a.State().Quiescent)
	a.Enqueue(1744*ms, k, aqm.Occupancy{})
	assert.True(t, a.State().Quiescent)
	a.Enqueue((1744+62*16)*ms, k, aqm.Occupancy{})
	assert.True(t, a.State().Quiescent, "992 ms")
	a.Enqueue((1744+63*16)*ms, k, aqm.Occupancy{})
	assert.False(t, a.State().Active, "1008 ms")
}

// TestDOCSISSize sees p scaled by size, and accumulated where nothing can be dropped.
func TestDOCSISSize(t *testing.T) {
	c := DOCSIS()
	c.Rand = drawing(1)
	for _, tc := range []struct {
		p    float64
		size uint32
		want float64
	}{
		{0.1, 1024, 0.1},
		{0.1, 64, 0.00625},
		{0.1, 2048, 0.2},
		{5, 64, 0.3125},
		{5, 1024, 0.85},
		{5, math.MaxUint32, 0.85},
		{5, 0, 0},
	} {
		a := at(t, c, tc.p)
		a.Enqueue(1, aqm.Packet{Size: tc.size}, aqm.Occupancy{Packets: 1, Bytes: 64})
		assert.InDelta(t, tc.want, a.State().Accumulated, 1e-12, "%+v", tc)
	}
	a := at(t, c, 1)
	a.accumulated = 8.5
	assert.Equal(t, pass, a.Enqueue(1, notECT, aqm.Occupancy{Packets: 2, Bytes: 2048}), "a backlog of two packets is spared")
	assert.Equal(t, forced, a.Enqueue(1, notECT, aqm.Occupancy{Packets: 2, Bytes: 2049}))
}

// TestDOCSISTokens computes RFC 8034's latency estimate: 8 Mb/s sustained, 80 Mb/s
// while a bucket of 20 000 bytes lasts.
func TestDOCSISTokens(t *testing.T) {
	c := DOCSIS()
	c.PeakRate, c.SustainedRate, c.TrafficBurst = 80_000_000, 8_000_000, 20_000
	a, err := New(c)
	require.NoError(t, err)
	a.Enqueue(0, ect, aqm.Occupancy{})
	delay := func(now aqm.Time, bytes int64) float64 {
		a.Enqueue(now, ect, aqm.Occupancy{Packets: 9, Bytes: bytes})
		return a.State().Delay.Seconds()
	}
	assert.InDelta(t, 0.001, delay(16*ms, 10_000), 1e-9, "all of it at the peak rate")
	assert.InDelta(t, 0.002+0.030, delay(32*ms, 50_000), 1e-9, "20 000 bytes at the peak rate, the others at a tenth")
	a.Dequeue(38*ms, aqm.Packet{Size: 15_000}, aqm.Occupancy{Packets: 9, Bytes: 50_000})
	assert.InDelta(t, 0.0015+0.035, delay(48*ms, 50_000), 1e-9, "5000 tokens and 10 000 that arrived in 10 ms")
	assert.InDelta(t, 0.002+0.030, delay(80*ms, 50_000), 1e-9, "the bucket is full again")

	for _, want := range []float64{5000, 0, 0} { // three packets in one instant, which brings no tokens
		a.Dequeue(96*ms, aqm.Packet{Size: 15_000}, aqm.Occupancy{Packets: 9, Bytes: 50_000})
		assert.Equal(t, want, a.bucket.tokens)
	}
	c.Update = 2 * time.Millisecond // which were due since 96 ms
	require.NoError(t, a.Reconfigure(c))
	a.Dequeue(111*ms, aqm.Packet{}, aqm.Occupancy{Packets: 9, Bytes: 50_000})
	assert.Equal(t, 15_000.0, a.bucket.tokens)

	c.Update, c.PeakRate, c.SustainedRate, c.TrafficBurst = 16*time.Millisecond, 1, 1, 1
	a, err = New(c)
	require.NoError(t, err)
	a.Enqueue(0, ect, aqm.Occupancy{})
	assert.InDelta(t, 16, delay(16*ms, 2), 1e-9, "1 bit/s is a rate")
}

// TestTokensAhead has an update due before the last departure, as Reconfigure made
// the period shorter: no tokens have left the bucket since.
func TestTokensAhead(t *testing.T) {
	c := DOCSIS()
	c.PeakRate, c.SustainedRate, c.TrafficBurst = 80_000_000, 8_000_000, 20_000
	a, err := New(c)
	require.NoError(t, err)
	a.Enqueue(0, ect, aqm.Occupancy{})
	a.Dequeue(15*ms, aqm.Packet{Size: 15_000}, standing)
	c.Update = 10 * time.Millisecond
	require.NoError(t, a.Reconfigure(c))
	a.Enqueue(15*ms, ect, aqm.Occupancy{Packets: 9, Bytes: 50_000}) // the update of 10 ms
	assert.Equal(t, 5000/1e7+45_000/1e6, a.old)
}

// TestStepBack sees the largest now go on where time steps back.
func TestStepBack(t *testing.T) {
	a, err := New(DefaultConfig())
	require.NoError(t, err)
	a.Enqueue(10*ms, ect, standing)
	a.Enqueue(5*ms, ect, standing)
	a.Dequeue(6*ms, aqm.Packet{EnqueuedAt: ms, Size: 1500}, standing)
	assert.Equal(t, 9*time.Millisecond, a.State().Delay)
	a.Dequeue(20*ms, aqm.Packet{EnqueuedAt: ms, Size: 1500}, standing)
	a.Dequeue(6*ms, aqm.Packet{EnqueuedAt: 2 * ms, Size: 1500}, standing)
	assert.Equal(t, 18*time.Millisecond, a.State().Delay)
	a.Dequeue(6*ms, aqm.Packet{EnqueuedAt: 21 * ms, Size: 1500}, standing)
	assert.Zero(t, a.State().Delay, "a packet from the future")
}

// TestContradictions asks a PIE and its oracle with numbers of packets and bytes that
// contradict each other.
func TestContradictions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	packets := []int{math.MinInt, -1, 0, 1, 2, 100, math.MaxInt}
	bytes := []int64{-1 << 62, -1 << 40, -20_000, -1, 0, 1, 1500, 30_000, 150_000, math.MaxInt64}
	for i, c := range configs() {
		for range 10 {
			source := r.Uint64()
			c.Rand = rand.NewPCG(source, 1)
			a, err := New(c)
			require.NoError(t, err)
			c.Rand = rand.NewPCG(source, 1)
			o := naive(c)
			now := aqm.Time(0)
			for range 500 {
				now = now.Add(time.Duration(r.ExpFloat64() * float64(c.Update) / 2))
				k := aqm.Packet{EnqueuedAt: now.Add(-time.Duration(2 * r.Float64() * float64(c.Target))), Size: []uint32{0, 1, 900, 1000}[r.IntN(4)], ECN: aqm.ECN(r.IntN(4))}
				q := aqm.Occupancy{Packets: packets[r.IntN(len(packets))], Bytes: bytes[r.IntN(len(bytes))]}
				if r.IntN(2) == 0 {
					require.Equal(t, o.Enqueue(now, k, q), a.Enqueue(now, k, q))
				} else {
					require.Equal(t, o.Dequeue(now, k, q), a.Dequeue(now, k, q))
				}
				require.NoError(t, differ(a, o), "configuration %d, %+v, %+v", i, k, q)
			}
		}
	}
}

func TestFull(t *testing.T) {
	for _, c := range configs() {
		a, err := New(c)
		require.NoError(t, err)
		q := standing
		q.Full = true
		for _, now := range []aqm.Time{0, 1, 1e9, math.MaxInt64, math.MinInt64} {
			assert.Equal(t, full, a.Enqueue(now, ect, q))
		}
	}
}

func TestDesign(t *testing.T) {
	c, err := Design(10_000_000, 40*time.Millisecond, 1500)
	require.NoError(t, err)
	want := DefaultConfig()
	want.MeanPacket = 1500
	assert.Equal(t, want, c, "the Internet")
	c, err = Design(1_000_000, time.Microsecond, 1500)
	require.NoError(t, err)
	assert.Equal(t, want, c, "four packets take 48 ms")

	c, err = Design(10_000_000_000, 150*time.Microsecond, 1500)
	require.NoError(t, err)
	assert.NoError(t, c.Validate())
	assert.Equal(t, []time.Duration{150 * time.Microsecond, 150 * time.Microsecond, 1500 * time.Microsecond}, []time.Duration{c.Target, c.Update, c.MaxBurst})
	assert.InEpsilon(t, 12.5, c.Alpha, 1e-9)
	assert.InEpsilon(t, 125, c.Beta, 1e-9)

	c, err = Design(10_000_000_000, time.Microsecond, 1250)
	require.NoError(t, err)
	assert.Equal(t, 4*time.Microsecond, c.Target, "four packets of 1 us")
	c, err = Design(math.MaxUint64, 1, 1)
	require.NoError(t, err)
	assert.Equal(t, time.Microsecond, c.Target)
	assert.NoError(t, c.Validate())

	c, err = Design(1, time.Millisecond, maxMeanPacket)
	require.NoError(t, err, "the slowest link and the largest packet")
	assert.Equal(t, uint32(maxMeanPacket), c.MeanPacket)

	_, err = Design(0, 0, 0)
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{"rate = 0 bit/s", "rtt = 0s", "meanPacket = 0 bytes"} {
		assert.ErrorContains(t, err, part)
	}
}

// TestValidate sees every mistake listed at once, with field, value, bound and unit.
func TestValidate(t *testing.T) {
	err := Config{
		Target: -1, Update: time.Hour, MaxBurst: -1, Alpha: math.NaN(), Beta: math.Inf(1), MaxECN: 1.5, LimitBytes: -1,
		PeakRate: 1, SustainedRate: 2, TrafficBurst: 3,
	}.Validate()
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{
		"pie: Target = -1ns, must be in [1µs, 1m40s]", "Update = 1h0m0s", "MaxBurst = -1ns, must be in [0s, 1h0m0s]",
		"Alpha = NaN Hz, must be in [1e-06, 1e+06]", "Beta = +Inf Hz", "MaxECN = 1.5, must be in [0, 1]",
		"MeanPacket = 0 bytes, must be in [1, 1048576]", "LimitBytes = -1 bytes, must be >= 0",
		"PeakRate = 1 bit/s, must be 0 without DOCSIS", "SustainedRate = 2 bit/s, must be 0", "TrafficBurst = 3 bytes, must be 0",
	} {
		assert.ErrorContains(t, err, part)
	}

	c := DOCSIS()
	c.Target, c.MaxECN, c.DepartureRate, c.PeakRate, c.SustainedRate = 5*time.Millisecond, 0.1, true, 1, 2
	err = c.Validate()
	for _, part := range []string{
		"Target = 5ms, must be in (5ms, 200ms] with DOCSIS", "MaxECN = 0.1, must be 0 with DOCSIS", "DepartureRate = true, must be false",
		"PeakRate = 1 bit/s, must be >= SustainedRate = 2 bit/s", "TrafficBurst = 0 bytes, must be > 0",
	} {
		assert.ErrorContains(t, err, part)
	}
	c = DOCSIS()
	c.TrafficBurst = 1
	assert.ErrorContains(t, c.Validate(), "SustainedRate = 0 bit/s, must be > 0")
	c.PeakRate, c.SustainedRate, c.TrafficBurst = 8000, 8000, 32_001
	assert.ErrorContains(t, c.Validate(), "TrafficBurst = 32001 bytes, must be at most what SustainedRate = 8000 bit/s fills in 2000 Updates")
	c.TrafficBurst = 32_000
	assert.NoError(t, c.Validate())

	a, err := New(Config{})
	assert.Nil(t, a)
	assert.ErrorIs(t, err, aqm.ErrConfig)
}

func TestReconfigure(t *testing.T) {
	c := DefaultConfig()
	a := at(t, c, 0.05)
	a.accumulated = 0.5
	before := a.State()
	require.Error(t, a.Reconfigure(Config{}))
	assert.Equal(t, before, a.State())
	assert.Equal(t, 15*ms, a.timer.Next)

	c.Update = 5 * time.Millisecond
	c.MaxECN = 0.01
	c.MeanPacket = 100_000
	require.NoError(t, a.Reconfigure(c))
	assert.Equal(t, before, a.State(), "the law goes on")
	assert.Equal(t, 5*ms, a.timer.Next)
	a.accumulated = 8.5
	assert.Equal(t, pass, a.Enqueue(1, ect, standing), "200 000 bytes are spared now")
	c.MeanPacket = 1000
	require.NoError(t, a.Reconfigure(c))
	assert.Equal(t, forced, a.Enqueue(1, ect, standing), "and p is above MaxECN")

	c.DepartureRate = true
	a.rate.average = 1
	require.NoError(t, a.Reconfigure(c))
	assert.Zero(t, a.rate.average, "a measurement from before another estimate is stale")
	a.rate.average = 1
	require.NoError(t, a.Reconfigure(c))
	assert.Equal(t, 1.0, a.rate.average)

	d := DOCSIS()
	require.NoError(t, a.Reconfigure(d))
	assert.Equal(t, State{Active: true, Quiescent: true}, a.State(), "another law starts anew")
	a.set(5, 0.02)
	require.NoError(t, a.Reconfigure(d))
	assert.Equal(t, 5.0, a.State().Prob)
	d.MeanPacket = 100
	require.NoError(t, a.Reconfigure(d))
	assert.InDelta(t, 0.85*100/64, a.State().Prob, 1e-12, "the largest p of the new configuration")
	d.LimitBytes = 1
	require.NoError(t, a.Reconfigure(d))
	a.Enqueue(60_000*ms, ect, aqm.Occupancy{})
	assert.False(t, a.State().Active)
	d.LimitBytes = 0
	require.NoError(t, a.Reconfigure(d))
	assert.True(t, a.State().Active, "always active")
	d.PeakRate, d.SustainedRate, d.TrafficBurst = 1e6, 1e6, 5000
	require.NoError(t, a.Reconfigure(d))
	a.Dequeue(60_000*ms, ect, standing)
	assert.Equal(t, 3500.0, a.bucket.tokens, "a bucket starts full")
	d.PeakRate = 2e6
	require.NoError(t, a.Reconfigure(d))
	assert.Equal(t, 3500.0, a.bucket.tokens)
	d.TrafficBurst = 6000
	require.NoError(t, a.Reconfigure(d))
	assert.Equal(t, 6000.0, a.bucket.tokensAt(60_000*ms), "a deeper one, too")
	a.Dequeue(60_000*ms, ect, standing)
	assert.Equal(t, 4500.0, a.bucket.tokens)
	timestamped := d
	timestamped.PeakRate, timestamped.SustainedRate, timestamped.TrafficBurst = 0, 0, 0
	require.NoError(t, a.Reconfigure(timestamped))
	require.NoError(t, a.Reconfigure(d))
	assert.Equal(t, 6000.0, a.bucket.tokensAt(60_000*ms), "and one that is new")
	require.NoError(t, a.Reconfigure(DefaultConfig()))
	assert.Equal(t, State{Burst: 150 * time.Millisecond, Active: true}, a.State())
}

// TestRepeat compares leaps over updates with running each of them, to the last bit,
// and counts them.
func TestRepeat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8033))
	var laws []law
	for _, c := range append(configs(), slowest()...) {
		laws = append(laws, newLaw(c))
	}
	worst, outside := 0, false
	count := func(l law, p, delay float64) {
		leaps := 0
		for left := uint64(math.MaxUint64); left > 0; leaps++ {
			next, used := l.leap(p, delay, left)
			if next == p {
				break
			}
			if in := l.tier(p); used > 1 && p > 0 { // more than one update: within the spacing and the tier of p
				_, e := math.Frexp(p)
				low, high := max(in.from, math.Ldexp(0.5, e)), min(in.to, math.Ldexp(1, e), l.max)
				outside = outside || next < low || next > high
			}
			p, left = next, left-used
		}
		worst = max(worst, leaps)
	}
	compare := func(l law, p, delay float64, n uint64) {
		want, changes := p, uint64(0)
		for range n {
			next := l.next(want, delay, delay)
			if next != want {
				changes++
			}
			want = next
		}
		got, left := l.repeat(p, delay, n)
		require.Equal(t, want, got, "p = %v, delay %v, %d updates, %+v", p, delay, n, l)
		require.Equal(t, n-changes, left, "p = %v, delay %v, %d updates, %+v", p, delay, n, l)
	}
	for _, c := range slowest() {
		l := newLaw(c)
		count(l, l.max, math.Nextafter(l.decayBelow, 0))
		count(l, l.max, l.decayBelow)
		compare(l, l.max, l.decayBelow, 1)
	}
	for i := range 20_000 { // a few spacings from where a leap has to stop, in steps of a few
		l := laws[i%len(laws)]
		in := l.tiers[r.IntN(len(l.tiers))]
		edge := []float64{in.from, min(in.to, l.max), math.Ldexp(1, -r.IntN(20)), l.max}[r.IntN(4)]
		p := math.Float64frombits(uint64(max(0, int64(math.Float64bits(edge))+int64(r.IntN(100)-50))))
		p = min(p, l.max)
		spacing := math.Nextafter(p, math.Inf(1)) - p
		step := spacing * float64(r.IntN(41)-20) / 4
		l.target, l.decayBelow, l.raiseAbove = 0, math.Inf(-1), math.Inf(1) // so that all delays are as exact
		compare(l, p, step*l.tier(p).divisor/l.alpha, uint64(r.IntN(100)))
	}
	for i := range 1000 {
		l := laws[i%len(laws)]
		delay := l.target
		switch r.IntN(5) {
		case 0:
			delay *= 2 * r.Float64()
		case 1: // as close to the target as it can be
			delay *= 1 + math.Ldexp(r.Float64()-0.5, -r.IntN(52))
		case 2:
			delay += math.Ldexp(r.Float64()-0.5, -r.IntN(60))
		case 3:
			delay *= math.Ldexp(1, -r.IntN(8))
		case 4: // with Alpha 1/8, steps that fall halfway between two float64 of at least 0.5
			delay += math.Ldexp(float64(2*r.IntN(1000)+1), -51)
		}
		delay = max(delay, 0)
		p := []float64{0, 1, 5e-7, r.Float64(), math.Ldexp(r.Float64(), -r.IntN(40)), 13 * r.Float64()}[r.IntN(6)]
		p = min(p, l.max)
		n := uint64(math.Ldexp(1, r.IntN(17)))

		compare(l, p, delay, n)
		count(l, p, delay)
	}
	assert.False(t, outside)
	t.Logf("at most %d leaps for 2^64 updates", worst)
	assert.Less(t, worst, 2600)
}

// slowest returns the configurations whose p takes longest to settle.
func slowest() []Config {
	c := DefaultConfig()
	c.Target, c.Alpha, c.Beta = minTime, minGain, minGain
	d := DOCSIS()
	d.Target, d.Alpha, d.Beta = latencyLow+1, minGain, minGain
	d.MeanPacket = maxMeanPacket
	return []Config{c, d}
}

// TestHostile sees no panic, and verdicts of the contract's form, whatever is asked.
func TestHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	times := []aqm.Time{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 1e9, math.MaxInt64 - 1, math.MaxInt64}
	sizes := []int64{math.MinInt64, -1, 0, 1, 1e6, math.MaxInt64}
	pick := func() aqm.Time {
		if r.IntN(2) == 0 {
			return times[r.IntN(len(times))]
		}
		return aqm.Time(r.Uint64())
	}
	for _, c := range append(configs(), slowest()...) {
		most := probHigh + 1.0 // then all is signalled
		if c.DOCSIS {
			most = 100 * probLow // what is spared adds to it as well
		}
		for range 5 {
			c.Rand = rand.NewPCG(r.Uint64(), 3)
			a, err := New(c)
			require.NoError(t, err)
			for range 100 {
				k := aqm.Packet{EnqueuedAt: pick(), Size: r.Uint32() * uint32(r.IntN(2)), ECN: aqm.ECN(r.Uint32()), Class: aqm.Class(r.Uint32())}
				q := aqm.Occupancy{Packets: int(sizes[r.IntN(len(sizes))]), Bytes: sizes[r.IntN(len(sizes))]}
				if r.IntN(2) == 0 {
					v := a.Enqueue(pick(), k, q)
					require.Equal(t, v.Action == aqm.Pass, v.Reason == aqm.None)
					require.NotEqual(t, aqm.Overflow, v.Reason)
				} else {
					require.Equal(t, pass, a.Dequeue(pick(), k, q))
				}
				s := a.State()
				require.True(t, s.Prob >= 0 && s.Prob <= a.law.max && s.Accumulated >= 0 && s.Accumulated <= most+1e-9 && s.Delay >= 0 && s.Burst >= 0 && s.Burst <= c.MaxBurst, "%+v", s)
				require.True(t, a.Probability() >= 0 && a.Probability() <= 1)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, c := range configs() {
		a, err := New(c)
		require.NoError(t, err)
		allocations := testing.AllocsPerRun(1, func() {
			now := aqm.Time(0)
			for i := range 20_000 {
				q := aqm.Occupancy{Packets: i / 40, Bytes: int64(i/40) * 1500, Full: i%100 == 99}
				a.Enqueue(now, ect, q)
				now += 300_000
				a.Dequeue(now, aqm.Packet{EnqueuedAt: now - aqm.Time(i)*10_000, Size: 1500}, q)
			}
		})
		assert.Zero(t, allocations)
	}
}

// TestLayout keeps all that a packet touches within two cache lines.
func TestLayout(t *testing.T) {
	var p PIE
	t.Logf("%d bytes, and %d beside them for updates and the configuration", unsafe.Sizeof(p), unsafe.Sizeof(*p.cold))
	assert.LessOrEqual(t, unsafe.Sizeof(p), uintptr(128))
	assert.LessOrEqual(t, unsafe.Offsetof(p.estimator), uintptr(64))
}

// TestOtherEstimate measures the delay anew after another estimate of it, also the one
// it had before.
func TestOtherEstimate(t *testing.T) {
	c := DefaultConfig()
	a, err := New(c)
	require.NoError(t, err)
	a.Enqueue(0, ect, aqm.Occupancy{})
	a.Dequeue(aqm.Time(time.Millisecond), aqm.Packet{Size: 1500}, standing)
	require.Equal(t, time.Millisecond, a.State().Delay)
	c.MaxECN = 0
	require.NoError(t, a.Reconfigure(c))
	assert.Equal(t, time.Millisecond, a.State().Delay, "the same estimate")
	c.DepartureRate = true
	require.NoError(t, a.Reconfigure(c))
	c.DepartureRate = false
	require.NoError(t, a.Reconfigure(c))
	assert.Zero(t, a.State().Delay)
}

// TestEndOfTime has the delay of the last departure stand where no update is left to
// see that the queue is empty.
func TestEndOfTime(t *testing.T) {
	a, err := New(DefaultConfig())
	require.NoError(t, err)
	const last = math.MaxInt64
	sent := aqm.Time(last).Add(-time.Millisecond)
	a.Enqueue(sent, ect, aqm.Occupancy{})
	require.Equal(t, aqm.Time(last), a.timer.Next, "an update would be due later")
	a.Dequeue(last, aqm.Packet{EnqueuedAt: sent, Size: 1500}, aqm.Occupancy{Packets: 1, Bytes: 1500})
	require.Equal(t, time.Millisecond, a.State().Delay)
	a.Enqueue(last, ect, aqm.Occupancy{})
	assert.Equal(t, time.Millisecond, a.State().Delay)
}

// TestManyPackets accumulates a p of which 2^32 packets make half a signal.
func TestManyPackets(t *testing.T) {
	c := DefaultConfig()
	c.Rand = fixed(0)
	p := 1.0 / (1 << 33)
	a := at(t, c, p)
	a.accumulated = 0.5
	assert.Equal(t, pass, a.Enqueue(1, ect, standing))
	assert.Equal(t, 0.5+p, a.State().Accumulated)
	a.accumulated = probLow - 1.5*p
	assert.Equal(t, pass, a.Enqueue(1, ect, standing))
	assert.NotEqual(t, pass, a.Enqueue(1, ect, standing))
}
