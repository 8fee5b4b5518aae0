package pie

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

// transform changes nothing but clocks: times are multiplied by scale, and then
// shifted.
type transform struct {
	scale, shift int64
}

// verdicts runs s under c, and returns p and the verdict after every question.
func verdicts(c Config, s script.Script, tr transform) (ps []float64, vs []aqm.Verdict) {
	s = slices.Clone(s)
	for i := range s {
		s[i].Wait *= time.Duration(tr.scale)
	}
	c.Target *= time.Duration(tr.scale)
	c.Update *= time.Duration(tr.scale)
	c.MaxBurst *= time.Duration(tr.scale)
	c.Alpha /= float64(tr.scale)
	c.Beta /= float64(tr.scale)
	c.Rand = rand.NewPCG(uint64(len(s)), 1)
	a, err := New(c)
	if err != nil {
		panic(err)
	}
	m := script.Machine{Now: aqm.Time(tr.shift), LimitPackets: 100, Judged: func(j script.Judgement) error {
		ps, vs = append(ps, a.State().Prob), append(vs, j.Verdicts[0])
		return nil
	}}
	if err := m.Run(s, a); err != nil {
		panic(err)
	}
	return ps, vs
}

// boundedSteps runs s under c and returns what is wrong with a step of p, with an
// update for every step that is looked at.
func boundedSteps(c Config, s script.Script) (steps int, wrong string) {
	a, err := New(c)
	if err != nil {
		return 0, err.Error()
	}
	before, next, old := a.State(), a.timer.Next, a.old
	m := script.Machine{LimitPackets: 100, Judged: func(j script.Judgement) error {
		now := a.State()
		updates := int64(a.timer.Next-next) / int64(c.Update)
		up := now.Prob - before.Prob
		switch {
		case !(now.Prob >= 0 && now.Prob <= 1):
			return fmt.Errorf("p = %v", now.Prob)
		case next == math.MinInt64: // the first event
		case updates == 0 && up != 0:
			return fmt.Errorf("p moves by %v without an update", up)
		case before.Prob >= 0.1 && up > 0.02*float64(updates)+1e-12: // RFC 8033 5.5
			return fmt.Errorf("%d updates raise p = %v by %v", updates, before.Prob, up)
		case updates == 1:
			steps++
			delay := before.Delay
			if !j.AtDequeue && j.Occupancy.Packets == 0 {
				delay = 0
			}
			drive := c.Alpha*(delay-c.Target).Seconds() + c.Beta*(delay.Seconds()-old) // RFC 8033 4.2
			divisor := 1.0
			for _, t := range []struct{ below, divisor float64 }{{0.1, 2}, {0.01, 8}, {0.001, 32}, {1e-4, 128}, {1e-5, 512}, {1e-6, 2048}} {
				if before.Prob < t.below {
					divisor = t.divisor
				}
			}
			if up > max(0, drive)/divisor+1e-12 || up < min(0, drive)/divisor-0.02*before.Prob-1e-12 {
				return fmt.Errorf("an update that asks for %v/%v moves p = %v by %v", drive, divisor, before.Prob, up)
			}
		}
		before, next, old = now, a.timer.Next, a.old
		return nil
	}}
	if err := m.Run(s, a); err != nil {
		return steps, err.Error()
	}
	return steps, ""
}

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)

	steps, signals := 0, 0
	properties.Property("steps: an update moves p by no more than the law asks for at that p, and by 0.02 from p = 0.1 on [RFC 8033 4.2, 5.5]", scripttest.ForAll(
		func(s script.Script) string {
			n, wrong := boundedSteps(DefaultConfig(), s)
			steps += n
			return wrong
		},
		scripttest.Hostile(3000, time.Millisecond)))

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

	properties.Property("scale: a clock that runs 2^n times as fast changes nothing, with gains 2^n times as small [RFC 8033 4.2]", scripttest.ForAll(
		func(s script.Script, n uint8) bool {
			p, v := verdicts(DefaultConfig(), s, transform{scale: 1})
			fastP, fastV := verdicts(DefaultConfig(), s, transform{scale: 1 << n})
			for i := range v {
				if v[i] == mark {
					signals++
				}
			}
			return slices.Equal(p, fastP) && slices.Equal(v, fastV)
		},
		scripttest.Random(3000, 1500*time.Microsecond), gen.UInt8Range(1, 9)))

	properties.Property("origin: where the clock starts changes nothing", scripttest.ForAll(
		func(s script.Script, which int, shift int64) bool {
			c := configs()[which]
			s = slices.Clone(s)
			for i := range s { // in time with the law
				s[i].Wait = s[i].Wait * time.Duration(c.Target) / time.Duration(15*time.Millisecond)
			}
			p, v := verdicts(c, s, transform{scale: 1})
			shiftedP, shiftedV := verdicts(c, s, transform{scale: 1, shift: shift})
			return slices.Equal(p, shiftedP) && slices.Equal(v, shiftedV)
		},
		scripttest.Random(3000, 1500*time.Microsecond), gen.IntRange(0, len(configs())-1), gen.Int64Range(math.MinInt64, math.MaxInt64-int64(time.Hour))))

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
	if steps == 0 || signals == 0 {
		t.Errorf("%d updates and %d signals were looked at", steps, signals)
	}
}
