package red

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// TestVectors holds what other implementations got wrong.
func TestVectors(t *testing.T) {
	// oneMilli is a link on which a mean packet takes 1 ms.
	oneMilli := DefaultConfig()
	oneMilli.Rate = 4_000_000

	// A unit slip took seconds for milliseconds or the like: 0.599.
	t.Run("R1", func(t *testing.T) {
		r := averaging(t, oneMilli, 8)
		r.Enqueue(aqm.Time(16*ms), ect0(), packets(0))
		assert.InEpsilon(t, 8*0.9685, r.State().Avg, 1e-4)
		assert.InEpsilon(t, 8*math.Pow(1-0.002, 16), r.State().Avg, 1e-12)
	})

	// A product of 32 bits gave no decay.
	t.Run("R2", func(t *testing.T) {
		c := oneMilli
		c.Weight = 1.0 / 512
		r := averaging(t, c, 8)
		r.Enqueue(aqm.Time(1<<20*time.Microsecond), ect0(), packets(0))
		assert.InEpsilon(t, 8*math.Pow(511.0/512, 1048), r.State().Avg, 1e-12)
	})

	// A long idle time on a fast link is neither a loop nor an overflow.
	t.Run("R3", func(t *testing.T) {
		c := DefaultConfig()
		for _, c.Rate = range []uint64{10_000_000_000, maxRate} {
			for _, idle := range []time.Duration{time.Hour, math.MaxInt64} {
				r := averaging(t, c, 14)
				r.Enqueue(aqm.Time(idle), ect0(), packets(0))
				assert.Zero(t, r.State().Avg)
				assert.Zero(t, r.Probability())
			}
		}
	})

	t.Run("R4", func(t *testing.T) {
		for _, tc := range []struct {
			change func(*Config)
			says   string
		}{
			{func(c *Config) { c.MinTh, c.MaxTh = 100, 100 }, "MaxTh = 100 packets, must be > MinTh = 100 packets"},
			{func(c *Config) { c.MinTh, c.MaxTh, c.Weight = 1<<24, 1<<25, 1.0/512 }, "MinTh = 1.6777216e+07 packets, must be in [1e-06, 1.6777216e+07)"},
			{func(c *Config) { c.Weight = 0 }, "Weight = 0, must be in [1e-12, 1]"},
			{func(c *Config) { c.Weight = 1.5 }, "Weight = 1.5, must be in [1e-12, 1]"},
			{func(c *Config) { c.Weight = math.NaN() }, "Weight = NaN, must be in [1e-12, 1]"},
			{func(c *Config) { c.MaxTh = math.Inf(1) }, "MaxTh = +Inf packets, must be <= 1.6777216e+07"},
			{func(c *Config) { c.MinTh = math.NaN() }, "MinTh = NaN packets"},
			{func(c *Config) { c.MaxP = math.NaN() }, "MaxP = NaN, must be in (0, 1]"},
		} {
			c := DefaultConfig()
			tc.change(&c)
			r, err := New(c)
			assert.Nil(t, r)
			assert.ErrorIs(t, err, aqm.ErrConfig)
			assert.ErrorContains(t, err, tc.says)
		}
	})

	// A gentle slope that stays that of the first max_p makes p_b jump at MaxTh.
	t.Run("R5", func(t *testing.T) {
		c := DefaultConfig()
		c.MaxP, c.Adaptive = 0.1, true
		r := averaging(t, c, 20)
		r.Dequeue(aqm.Time(time.Minute), ect0(), packets(20)) // 120 ticks above the band
		require.Equal(t, 0.5, r.State().MaxP)
		assert.InDelta(t, 0.5, r.prob(math.Nextafter(15, 0)), 1e-15)
		assert.Equal(t, 0.5, r.prob(15))
		last := 0.0
		for avg := 0.0; avg < 40; avg += 1.0 / 1024 {
			p := r.prob(avg)
			require.GreaterOrEqual(t, p, last)
			require.LessOrEqual(t, p-last, 0.05/1024+1e-12, "at %v", avg)
			last = p
		}
		assert.Equal(t, 1.0, last)
	})

	t.Run("R6", func(t *testing.T) {
		f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 100, LimitBytes: 1000}, newRED(t, DefaultConfig()))
		require.NoError(t, err)
		assert.Zero(t, f.Enqueue(0, 0, aqm.Packet{Size: 900, ECN: aqm.ECT0}))
		assert.Equal(t, aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}, f.Enqueue(1, 1, aqm.Packet{Size: 200, ECN: aqm.ECT0}))
		assert.Equal(t, int64(900), f.Bytes())
	})

	t.Run("R7", func(t *testing.T) {
		c := DefaultConfig()
		c.Weight, c.MaxP, c.Rand = 1, 1, constant(0) // every packet between the thresholds is signalled
		r := newRED(t, c)
		f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 10}, r)
		require.NoError(t, err)
		for i := range 10 {
			require.NotEqual(t, aqm.Drop, f.Enqueue(0, i, ect0()).Action)
		}
		assert.Equal(t, aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}, f.Enqueue(0, 10, ect0()))
		assert.Equal(t, 10.0, r.State().Avg, "between the thresholds")
		assert.Equal(t, 10, f.Len())
	})

	t.Run("R8", func(t *testing.T) {
		c := DefaultConfig()
		c.MinTh, c.MaxTh = 70, 150
		t.Run("packets", func(t *testing.T) { orderings(t, c) })
		t.Run("bytes", func(t *testing.T) { orderings(t, c.InBytes()) })
	})

	t.Run("R9", func(t *testing.T) {
		r := averaging(t, oneMilli, 8)
		r.Enqueue(0, ect0(), packets(0))
		assert.Equal(t, 8.0, r.State().Avg, "no idle time, no decay")

		for i := range 16 {
			c := Config{
				MinTh: 10, MaxTh: 20, MaxP: 1, Weight: 1, MeanPacket: 500, Rate: 1e6,
				Gentle: i&1 != 0, Wait: i&2 != 0, ScaleBySize: i&4 != 0, Rand: constant(0),
			}
			if i&8 != 0 {
				c.Rand = constant(math.MaxUint64)
			}
			r := newRED(t, c)
			for range 1000 {
				require.Zero(t, r.Enqueue(0, ect0(), packets(10)), "p_b = 0")
			}
			for _, size := range []uint32{1500, 40, 0} {
				require.Equal(t, aqm.Drop, r.Enqueue(0, aqm.Packet{Size: size}, packets(20)).Action, "p_b = 1, %+v", c)
			}
		}
	})

	// A frozen average would take max_p from 0.1 to 0.5 in the silence.
	t.Run("R10", func(t *testing.T) {
		c, err := Design(100_000_000, 5*ms, 500) // 62.5 and 187.5 packets
		require.NoError(t, err)
		r := averaging(t, c, 180)
		require.Greater(t, r.State().Avg, r.bandHigh)
		r.Enqueue(aqm.Time(20*time.Second), ect0(), packets(0))
		assert.InEpsilon(t, 0.1*math.Pow(0.9, 40), r.State().MaxP, 1e-12, "40 ticks below the band")

		// Where the average takes its time, max_p first rises with it.
		c.Weight = 1e-6 // 6.1 s to the upper end of the band, 14.1 s to the lower
		r = averaging(t, c, 160)
		require.Greater(t, r.State().Avg, r.bandHigh)
		r.Enqueue(aqm.Time(20*time.Second), ect0(), packets(0))
		above := math.Floor(math.Log(160/r.bandHigh) / 0.025 / 0.5)
		below := math.Floor(20/0.5) - math.Floor(math.Log(160/r.bandLow)/0.025/0.5)
		assert.InEpsilon(t, (0.1+0.01*above)*math.Pow(0.9, below), r.State().MaxP, 1e-9)
	})
}

// signals runs ns-3's scenario under c, 300 arrivals and no departure at a queue of
// 300 packets, and returns what became of them, added up over 20 seeds.
func signals(t *testing.T, c Config, ecn aqm.ECN) (s aqm.Stats, avg float64) {
	t.Helper()
	for seed := range uint64(20) {
		c.Rand = rand.NewPCG(seed, 8)
		r := newRED(t, c)
		f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 300}, r)
		require.NoError(t, err)
		for i := range 300 {
			f.Enqueue(0, i, aqm.Packet{Size: 500, ECN: ecn, Class: aqm.Data})
		}
		one := f.Stats()
		for action := range one.AtEnqueue {
			for reason, n := range one.AtEnqueue[action] {
				s.AtEnqueue[action][reason] += n
			}
		}
		s.Refused.Packets += one.Refused.Packets
		avg = r.State().Avg
	}
	return s, avg
}

// orderings are the thirteen cases of ns-3's test suite for RED, as inequalities.
func orderings(t *testing.T, c Config) {
	scale := c.MinTh / 70
	s, avg := signals(t, c, aqm.NotECT)
	assert.Zero(t, s.Refused.Packets, "1, 2: nothing is dropped at w = 0.002")
	assert.InDelta(t, 74, avg/scale, 1, "the average is just above MinTh")

	c.Weight = 0.02
	base, _ := signals(t, c, aqm.NotECT)
	assert.NotZero(t, base.Refused.Packets, "3: some are at w = 0.02")
	more := base.Refused.Packets
	for _, step := range []struct {
		name   string
		change func(*Config)
	}{
		{"4: MaxTh 100", func(c *Config) { c.MaxTh = 100 * scale }},
		{"5: max_p 1/5", func(c *Config) { c.MaxP = 0.2 }},
		{"6: not gentle", func(c *Config) { c.Gentle = false }},
		{"7: no wait", func(c *Config) { c.Wait = false }},
	} {
		alone := c
		alone.MaxTh, alone.MaxP, alone.Gentle, alone.Wait = 150*scale, 0.02, true, true
		step.change(&alone)
		s, _ := signals(t, alone, aqm.NotECT)
		assert.Greater(t, s.Refused.Packets, base.Refused.Packets, "%s, alone", step.name)
		step.change(&c)
		s, _ = signals(t, c, aqm.NotECT)
		assert.Greater(t, s.Refused.Packets, more, "%s, on top of those before", step.name)
		more = s.Refused.Packets
	}

	c.MaxTh, c.MaxP, c.Gentle, c.Wait = 150*scale, 0.02, true, true
	ect, _ := signals(t, c, aqm.ECT0)
	assert.NotZero(t, ect.AtEnqueue[aqm.Mark][aqm.Early], "8: ECT is marked between the thresholds")
	assert.Zero(t, ect.AtEnqueue[aqm.Drop][aqm.Early], "9: and not dropped there")
	assert.NotZero(t, ect.AtEnqueue[aqm.Drop][aqm.Forced], "10: but above MaxTh")
	assert.Less(t, ect.Refused.Packets, base.Refused.Packets, "11: which is less than without ECN")
	assert.Zero(t, base.AtEnqueue[aqm.Mark], "12: NotECT is never marked")
	assert.NotZero(t, base.AtEnqueue[aqm.Drop][aqm.Early])
	c.MaxECN = 1
	reversed, _ := signals(t, c, aqm.ECT0)
	assert.Zero(t, reversed.Refused.Packets, "13: with the guideline reversed everything is marked")
}
