package pie

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
)

const seed = 1

// transform changes nothing but clocks: times are multiplied by scale, and then
// shifted.
type transform struct {
	scale, shift int64
}

// verdicts runs 3000 operations drawn from seed under c, and returns p and the
// verdict after every question.
func verdicts(c Config, seed uint64, tr transform) (ps []float64, vs []aqm.Verdict) {
	s := script.Random(rand.New(rand.NewPCG(seed, 0)), 3000, c.Target/10)
	for i := range s {
		s[i].Wait *= time.Duration(tr.scale)
	}
	c.Target *= time.Duration(tr.scale)
	c.Update *= time.Duration(tr.scale)
	c.MaxBurst *= time.Duration(tr.scale)
	c.Alpha /= float64(tr.scale)
	c.Beta /= float64(tr.scale)
	c.Rand = rand.NewPCG(seed, 1)
	a, err := New(c)
	if err != nil {
		return nil, nil
	}
	m := script.Machine{Now: aqm.Time(tr.shift), LimitPackets: 100, Judged: func(j script.Judgement) error {
		ps, vs = append(ps, a.State().Prob), append(vs, j.Verdicts[0])
		return nil
	}}
	if m.Run(s, a) != nil {
		return nil, nil
	}
	return ps, vs
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)

	properties.Property("spread: at a constant p, signals are at least 0.85/p and at most 8.5/p arrivals apart [RFC 8033 5.4]", prop.ForAll(
		func(p float64, seed uint64) bool {
			c := DefaultConfig()
			c.Update = maxTime
			c.Rand = rand.NewPCG(seed, 0)
			a, err := New(c)
			if err != nil {
				return false
			}
			a.Enqueue(0, ect, standing)
			a.set(p, 0.02)
			apart := 0.0
			for range int(100 / p) {
				apart++
				if a.Enqueue(1, ect, standing) != pass {
					if apart < math.Floor(0.85/p) || apart > math.Ceil(8.5/p)+1 {
						return false
					}
					apart = 0
				}
			}
			return apart <= 8.5/p+1
		},
		gen.Float64Range(0.001, 1), gen.UInt64()))

	properties.Property("scale: a clock that runs 2^n times as fast changes nothing, with gains 2^n times as small [RFC 8033 4.2]", prop.ForAll(
		func(seed uint64, n uint8) bool {
			p, v := verdicts(DefaultConfig(), seed, transform{scale: 1})
			fastP, fastV := verdicts(DefaultConfig(), seed, transform{scale: 1 << n})
			return equal(p, fastP) && equal(v, fastV)
		},
		gen.UInt64(), gen.UInt8Range(1, 9)))

	properties.Property("origin: where the clock starts changes nothing", prop.ForAll(
		func(seed uint64, which int, shift int64) bool {
			c := configs()[which]
			p, v := verdicts(c, seed, transform{scale: 1})
			shiftedP, shiftedV := verdicts(c, seed, transform{scale: 1, shift: shift})
			return equal(p, shiftedP) && equal(v, shiftedV)
		},
		gen.UInt64(), gen.IntRange(0, len(configs())-1), gen.Int64Range(math.MinInt64, math.MaxInt64-int64(time.Hour))))

	properties.Property("ECN: an ECN-capable packet is dropped early at p >= MaxECN only, and marked below", prop.ForAll(
		func(p, maxECN float64, e uint8) bool {
			c := DefaultConfig()
			c.MaxECN = maxECN
			a, err := New(c)
			if err != nil {
				return false
			}
			a.Enqueue(0, ect, standing)
			a.set(p, 0.02)
			a.accumulated = 8.5
			v := a.Enqueue(1, aqm.Packet{Size: 1500, ECN: aqm.ECN(e)}, standing)
			switch {
			case p >= maxECN:
				return v == forced
			case aqm.ECN(e) == aqm.NotECT:
				return v == drop
			}
			return v == mark
		},
		gen.Float64Range(0.001, 1), gen.Float64Range(0.001, 1), gen.UInt8Range(0, 3)))

	properties.TestingRun(t)
}
