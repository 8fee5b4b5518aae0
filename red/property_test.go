package red

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
)

const seed = 1

// verdicts runs s under c and returns the answers at Enqueue, and the average after
// each.
func verdicts(c Config, s script.Script) (all []aqm.Verdict, avg []float64) {
	c.Rand = rand.NewPCG(2, 2)
	r, err := New(c)
	if err != nil {
		panic(err)
	}
	m := script.Machine{LimitPackets: 60, Judged: func(j script.Judgement) error {
		if !j.AtDequeue {
			all = append(all, j.Verdicts[0])
			avg = append(avg, r.State().Avg)
		}
		return nil
	}}
	if err := m.Run(s, r); err != nil {
		panic(err)
	}
	return all, avg
}

// forward is an algorithm on a clock that never steps back.
type forward struct {
	*RED
	now aqm.Time
}

func (f *forward) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	f.now = max(f.now, now)
	return f.RED.Enqueue(f.now, p, q)
}

func (f *forward) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	f.now = max(f.now, now)
	return f.RED.Dequeue(f.now, p, q)
}

func text(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)
	choose := gen.IntRange(0, len(configs())-1)
	signals := 0
	equal := func(a, b []aqm.Verdict) bool {
		for _, v := range a {
			if v.Reason == aqm.Early {
				signals++
			}
		}
		return slices.Equal(a, b)
	}

	properties.Property("p_b: non-decreasing and continuous in the average, whatever max_p has become", prop.ForAll(
		func(minTh, width, maxP, adapted, avg, step float64) bool {
			c := DefaultConfig()
			c.MinTh, c.MaxTh, c.MaxP = minTh, minTh+width, maxP
			c.Adaptive, c.Bottom, c.Top = true, 1e-6, 1
			r, err := New(c)
			if err != nil {
				return false
			}
			r.setMaxP(adapted)
			steepest := max(adapted/width, (1-adapted)/c.MaxTh)
			p := r.prob(avg * c.MaxTh)
			q := r.prob(avg*c.MaxTh + step)
			return q >= p && q-p <= steepest*step*(1+1e-9)+1e-12 && p >= 0 && q <= 1 &&
				r.prob(c.MaxTh) == adapted && r.prob(2*c.MaxTh) == 1 && r.prob(c.MinTh) == 0
		},
		gen.Float64Range(0.01, 1000), gen.Float64Range(0.01, 1000), gen.Float64Range(1e-6, 1), gen.Float64Range(1e-6, 1),
		gen.Float64Range(0, 2.2), gen.Float64Range(0, 1)))

	properties.Property("spacing: signals are 1 to 1/p_b packets apart, or 1/p_b to 2/p_b - 1 with Wait, each distance as often as another", prop.ForAll(
		func(inverse int, wait bool, seed uint64) string {
			const n = 2000
			c := Config{
				MinTh: 10, MaxTh: 12, MaxP: 2 / float64(inverse), Weight: 1, Wait: wait,
				MeanPacket: 500, Rate: 1e6, Rand: rand.NewPCG(seed, 3),
			}
			r, err := New(c)
			if err != nil {
				return err.Error()
			}
			var spacings []int
			for last, sent := 0, 1; len(spacings) < n; sent++ {
				if r.Enqueue(0, ect0(), packets(11)).Action == aqm.Mark {
					spacings = append(spacings, sent-last)
					last = sent
				}
			}
			from := 1
			if wait {
				from = inverse
			}
			return text(uniform(spacings, from, from+inverse-1))
		},
		gen.IntRange(2, 100), gen.Bool(), gen.UInt64()))

	properties.Property("size: with ScaleBySize the bytes between signals do not depend on the sizes, but for the packet that carries one", prop.ForAll(
		func(size uint32, wait bool, seed uint64) bool {
			const n = 2000
			c := Config{
				MinTh: 10, MaxTh: 12, MaxP: 0.04, Weight: 1, Wait: wait, ScaleBySize: true, // p_b is 1/50
				MeanPacket: 1000, Rate: 1e6, Rand: rand.NewPCG(seed, 4),
			}
			r, err := New(c)
			if err != nil {
				return false
			}
			p := aqm.Packet{Size: size, ECN: aqm.ECT0}
			sent := 0.0
			for signals := 0; signals < n; sent += float64(size) {
				if r.Enqueue(0, p, packets(11)).Action == aqm.Mark {
					signals++
				}
			}
			want := 25_000.0 // uniform on (0, 50 000], or one MeanPacket less than on (50 000, 100 000]
			if wait {
				want = 74_000
			}
			deviation := 50_000 / math.Sqrt(12*n)
			got := sent / n
			return got >= want-5*deviation && got <= want+float64(size)+5*deviation
		},
		gen.UInt32Range(40, 9000), gen.Bool(), gen.UInt64()))

	properties.Property("scale: time and rate by the same factor change no verdict", scripttest.ForAll(
		func(i int, s script.Script, factor int64) bool {
			c := configs()[i]
			c.Rate = 7 * 11 * 13 * 1000 // divisible by the factors
			v, avg := verdicts(c, s)
			c.Rate /= uint64(factor)
			c.AdaptInterval *= time.Duration(factor)
			s = slices.Clone(s)
			for i := range s {
				s[i].Wait *= time.Duration(factor)
			}
			w, slower := verdicts(c, s)
			return equal(v, w) && slices.Equal(avg, slower)
		},
		choose, scripttest.Random(3000, 50*time.Millisecond), gen.OneConstOf(int64(7), int64(11), int64(13), int64(1001))))

	properties.Property("scale: bytes and packets agree where all packets have the mean size", scripttest.ForAll(
		func(i int, s script.Script) bool {
			c := configs()[i]
			c.MeanPacket, c.ScaleBySize = 512, false // a power of two: no rounding
			if c.Unit == aqm.Bytes {
				c = DefaultConfig()
				c.MeanPacket, c.Weight = 512, 0.05
			}
			s = slices.Clone(s)
			for i := range s {
				s[i].Size = 512
			}
			v, _ := verdicts(c, s)
			w, _ := verdicts(c.InBytes(), s)
			b := c.InBytes()
			b.ScaleBySize = true
			x, _ := verdicts(b, s)
			return equal(v, w) && equal(v, x)
		},
		choose, scripttest.Random(3000, 3*time.Millisecond)))

	properties.Property("time: a step back is no elapsed time", scripttest.ForAll(
		func(i int, s script.Script) string {
			c := configs()[i]
			c.Rand = rand.NewPCG(8, 8)
			a := newRED(t, c)
			c.Rand = rand.NewPCG(8, 8)
			b := newRED(t, c)
			m := script.Machine{LimitPackets: 60, Judged: script.Agree(func() error {
				if a.State() != b.State() {
					return fmt.Errorf("%+v, and on a clock without steps back %+v", a.State(), b.State())
				}
				return nil
			})}
			if err := m.Run(s, a, &forward{b, math.MinInt64}); err != nil {
				return err.Error()
			}
			return ""
		},
		choose, scripttest.Hostile(3000, 3*time.Millisecond)))

	properties.TestingRun(t)
	if signals == 0 {
		t.Error("no packet was signalled between the thresholds")
	}
}
