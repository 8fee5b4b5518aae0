package ecnpolicy

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
	"github.com/aqmkit/aqmkit/threshold"
)

const seed = 1

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	parameters.MinSuccessfulTests = 50
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)

	properties.Property("transparent: the zero Config changes no verdict", prop.ForAll(
		func(seed uint64) bool {
			c := threshold.Config{Packets: 5, DropNotECT: true}
			bare, err := threshold.New(c)
			if err != nil {
				return false
			}
			decorated, err := threshold.New(c)
			if err != nil {
				return false
			}
			p, err := New(decorated, Config{})
			m := script.Machine{LimitPackets: 40, Judged: script.Agree(nil)}
			return err == nil && m.Run(random(seed, 2000), bare, p) == nil
		},
		gen.UInt64()))

	properties.Property("Carry: signals are conserved", prop.ForAll(
		func(seed uint64, early, forced float64) bool {
			in := mostly(seed, early, forced)
			p, err := New(in, Config{Protect: ACKSYN, Carry: true})
			if err != nil {
				return false
			}
			asked, given := 0, 0
			ok := run(p, random(seed, 3000), func(j script.Judgement) bool {
				if signal(in.lastSaid()) {
					asked++
				}
				if signal(j.Verdicts[0]) {
					given++
				}
				s := p.State()
				return asked == given+int(s.Pending)+int(s.Lost) && s.Protected == s.Carried+s.Lost+uint64(s.Pending)
			})
			return ok && asked > 0 && p.State().Carried > 0
		},
		gen.UInt64(), gen.Float64Range(0.01, 0.5), gen.Float64Range(0, 0.5)))

	properties.Property("budget: in no time t are more than burst + rate*t bytes admitted", prop.ForAll(
		func(seed, rate uint64, burst uint32) bool {
			in := mostly(seed, 0.7, 0.2)
			p, err := New(in, Config{Protect: All, BudgetRate: rate, BudgetBurst: burst})
			if err != nil {
				return false
			}
			type admission struct {
				at    aqm.Time
				bytes uint64
			}
			var admitted []admission
			largest := aqm.Time(math.MinInt64)
			ok := run(p, random(seed, 600), func(j script.Judgement) bool {
				largest = max(largest, j.Now)
				if j.Packet.ECN == aqm.NotECT && signal(in.lastSaid()) && !signal(j.Verdicts[0]) {
					admitted = append(admitted, admission{largest, uint64(j.Packet.Size)})
				}
				return true
			})
			for i := range admitted {
				sum := uint64(0)
				for _, a := range admitted[i:] {
					sum += a.bytes
					// in 1e-9 bits, exactly
					if sum*8e9 > uint64(burst)*8e9+rate*uint64(a.at-admitted[i].at) {
						return false
					}
				}
			}
			return ok && len(admitted) > 0
		},
		gen.UInt64(), gen.UInt64Range(1, 1e7), gen.UInt32Range(1500, 20_000)))

	properties.Property("MarkLimit: of any A arrivals at most A*(limit + 1/N) + N*limit + 1 are marked", prop.ForAll(
		func(seed uint64, limit, early, forced float64) bool {
			p, err := New(mostly(seed, early, forced), Config{Protect: ACKSYN, Carry: true, MarkForced: true, MarkLimit: limit})
			if err != nil {
				return false
			}
			const n = 1024
			// The excess of marks over A*(limit + 1/N), and its smallest value so far: the
			// difference is the worst of all the runs that end here.
			excess, least := 0.0, 0.0
			return run(p, random(seed, 5000), func(j script.Judgement) bool {
				if !j.AtDequeue && j.Packet.ECN.Capable() {
					excess -= limit + 1.0/n
				}
				if j.Verdicts[0].Action == aqm.Mark {
					excess++
				}
				ok := excess-least <= n*limit+1+1e-6
				least = min(least, excess)
				return ok && p.State().MarkShare <= limit+1.0/n
			})
		},
		gen.UInt64(), gen.Float64Range(0.001, 0.5), gen.Float64Range(0, 0.5), gen.Float64Range(0, 0.5)))

	properties.Property("contract: every Policy's verdicts are consistent, and it marks no NotECT", prop.ForAll(
		func(seed uint64, choice int) bool {
			all := everyConfig()
			c := all[choice%len(all)]
			p, err := New(mostly(seed, 0.3, 0.2), c)
			return err == nil && run(p, random(seed, 1000), func(j script.Judgement) bool {
				v := j.Verdicts[0]
				return (v.Action == aqm.Pass) == (v.Reason == aqm.None) &&
					(v.Reason == aqm.Overflow) == j.Occupancy.Full &&
					!(v.Action == aqm.Mark && (c.IgnoreECN || j.Packet.ECN == aqm.NotECT)) &&
					!(c.Protect == All && c.BudgetRate == 0 && !c.IgnoreECN && j.Packet.ECN == aqm.NotECT && signal(v)) &&
					!(c.MarkForced && c.MarkLimit == 0 && !c.IgnoreECN && j.Packet.ECN != aqm.NotECT && v == dropForced)
			})
		},
		gen.UInt64(), gen.IntRange(0, 1<<20)))

	properties.TestingRun(t)
}

// signal reports whether v tells of congestion, as all but a pass and a full buffer do.
func signal(v aqm.Verdict) bool { return v.Action != aqm.Pass && v.Reason != aqm.Overflow }

// random draws a script from seed.
func random(seed uint64, n int) script.Script {
	return script.Random(rand.New(rand.NewPCG(seed, 7)), n, 100*time.Microsecond)
}

// run runs s under a and reports whether ok held after every question.
func run(a aqm.AQM, s script.Script, ok func(script.Judgement) bool) bool {
	held := true
	m := script.Machine{LimitPackets: 60, Judged: func(j script.Judgement) error {
		held = held && ok(j)
		return nil
	}}
	return m.Run(s, a) == nil && held
}
