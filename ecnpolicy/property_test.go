package ecnpolicy

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
	"github.com/aqmkit/aqmkit/threshold"
)

const seed = 1

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	parameters.MinSuccessfulTests = 50
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)

	hostile, short := scripttest.Hostile(2000, 100*time.Microsecond), scripttest.Random(600, 100*time.Microsecond)
	spared, carried, limited, denied := uint64(0), uint64(0), uint64(0), uint64(0)

	properties.Property("transparent: the zero Config changes no verdict", scripttest.ForAll(
		func(s script.Script) string {
			c := threshold.Config{Packets: 5, DropNotECT: true}
			bare, err := threshold.New(c)
			if err != nil {
				return err.Error()
			}
			decorated, err := threshold.New(c)
			if err != nil {
				return err.Error()
			}
			p, err := New(decorated, Config{})
			if err != nil {
				return err.Error()
			}
			m := script.Machine{LimitPackets: 40, Judged: script.Agree(nil)}
			return text(m.Run(s, bare, p))
		},
		hostile))

	properties.Property("shown: the algorithm is shown a protected packet as ECT(0), with IgnoreECN every packet as NotECT, and else what there is", scripttest.ForAll(
		func(s script.Script, protect uint8, ignore bool, rate uint64, seed uint64) string {
			in := mostly(seed, 0.3, 0.2)
			c := Config{Protect: aqm.Class(protect), IgnoreECN: ignore}
			if protect != 0 && rate > 0 {
				c.BudgetRate, c.BudgetBurst = rate, 5000
			}
			p, err := New(in, c)
			if err != nil {
				return err.Error()
			}
			before := p.State()
			return run(p, s, func(j script.Judgement) error {
				got, want := in.lastShown(), j.Packet
				now := p.State()
				if in := want.Class.Has(c.Protect); in && want.ECN == aqm.NotECT {
					want.ECN = aqm.ECT0
					if c.BudgetRate > 0 && now.Denied > before.Denied { // for want of tokens, which only time brings
						want.ECN = aqm.NotECT
						if before.Tokens >= float64(want.Size) {
							return fmt.Errorf("denied with %v tokens", before.Tokens)
						}
					}
				}
				if ignore {
					want.ECN = aqm.NotECT
				}
				before = now
				if got != want {
					return fmt.Errorf("shown %+v, want %+v", got, want)
				}
				return nil
			})
		},
		hostile, gen.UInt8(), gen.Bool(), gen.OneConstOf(uint64(0), uint64(1), uint64(1e6)), gen.UInt64()))

	properties.Property("protected: a protected packet that is not ECN-capable is refused by a full buffer alone", scripttest.ForAll(
		func(s script.Script, protect uint8, carry bool, early, forced float64, seed uint64) string {
			p, err := New(mostly(seed, early, forced), Config{Protect: aqm.Class(protect), Carry: carry && protect != 0, MarkForced: carry, MarkLimit: early / 2})
			if err != nil {
				return err.Error()
			}
			wrong := run(p, s, func(j script.Judgement) error {
				if j.Packet.ECN != aqm.NotECT || !j.Packet.Class.Has(aqm.Class(protect)) {
					return nil
				}
				if v := j.Verdicts[0]; v != pass && v != overflow {
					return fmt.Errorf("%v", v)
				}
				return nil
			})
			spared += p.State().Protected
			return wrong
		},
		hostile, gen.UInt8(), gen.Bool(), gen.Float64Range(0, 0.5), gen.Float64Range(0, 0.5), gen.UInt64()))

	properties.Property("Carry: signals are conserved", scripttest.ForAll(
		func(s script.Script, seed uint64, early, forced float64) string {
			in := mostly(seed, early, forced)
			p, err := New(in, Config{Protect: ACKSYN, Carry: true})
			if err != nil {
				return err.Error()
			}
			asked, given := 0, 0
			wrong := run(p, s, func(j script.Judgement) error {
				if signal(in.lastSaid()) {
					asked++
				}
				if signal(j.Verdicts[0]) {
					given++
				}
				if s := p.State(); asked != given+int(s.Pending)+int(s.Lost) || s.Protected != s.Carried+s.Lost+uint64(s.Pending) {
					return fmt.Errorf("%d signals asked for, %d given, %+v", asked, given, s)
				}
				return nil
			})
			carried += p.State().Carried
			return wrong
		},
		hostile, gen.UInt64(), gen.Float64Range(0.01, 0.5), gen.Float64Range(0, 0.5)))

	properties.Property("budget: in no time t are more than burst + rate*t bytes admitted", scripttest.ForAll(
		func(s script.Script, seed, rate uint64, burst uint32) string {
			in := mostly(seed, 0.7, 0.2)
			p, err := New(in, Config{Protect: All, BudgetRate: rate, BudgetBurst: burst})
			if err != nil {
				return err.Error()
			}
			type admission struct {
				at    aqm.Time
				bytes uint64
			}
			var admitted []admission
			largest := aqm.Time(math.MinInt64)
			wrong := run(p, s, func(j script.Judgement) error {
				largest = max(largest, j.Now)
				if j.Packet.ECN == aqm.NotECT && signal(in.lastSaid()) && !signal(j.Verdicts[0]) {
					admitted = append(admitted, admission{largest, uint64(j.Packet.Size)})
				}
				return nil
			})
			for i := range admitted {
				sum := uint64(0)
				for _, a := range admitted[i:] {
					sum += a.bytes
					// in 1e-9 bits, exactly
					if sum*8e9 > uint64(burst)*8e9+rate*uint64(a.at-admitted[i].at) {
						return fmt.Sprintf("%d bytes from %d to %d", sum, admitted[i].at, a.at)
					}
				}
			}
			return wrong
		},
		short, gen.UInt64(), gen.UInt64Range(1, 1e7), gen.UInt32Range(1500, 20_000)))

	properties.Property("MarkLimit: of any A arrivals at most A*(limit + 1/N) + N*limit + 1 are marked", scripttest.ForAll(
		func(s script.Script, seed uint64, limit, early, forced float64) string {
			p, err := New(mostly(seed, early, forced), Config{Protect: ACKSYN, Carry: true, MarkForced: true, MarkLimit: limit})
			if err != nil {
				return err.Error()
			}
			const n = 1024
			// The excess of marks over A*(limit + 1/N), and its smallest value so far: the
			// difference is the worst of all the runs that end here.
			excess, least := 0.0, 0.0
			wrong := run(p, s, func(j script.Judgement) error {
				if !j.AtDequeue && j.Packet.ECN.Capable() {
					excess -= limit + 1.0/n
				}
				if j.Verdicts[0].Action == aqm.Mark {
					excess++
				}
				if excess-least > n*limit+1+1e-6 || p.State().MarkShare > limit+1.0/n {
					return fmt.Errorf("%v marks too many, share %v", excess-least, p.State().MarkShare)
				}
				least = min(least, excess)
				return nil
			})
			limited += p.State().Limited
			return wrong
		},
		scripttest.Hostile(5000, 100*time.Microsecond), gen.UInt64(), gen.Float64Range(0.001, 0.5), gen.Float64Range(0, 0.5), gen.Float64Range(0, 0.5)))

	properties.Property("scale: all times by a factor, and BudgetRate by its inverse, change no verdict", scripttest.ForAll(
		func(s script.Script, choice int, rate uint64, factor int64, seed uint64) string {
			all := everyConfig()
			c := all[choice%len(all)]
			if c.BudgetRate > 0 {
				c.BudgetRate = rate * 7 * 11 * 13
			}
			type event struct {
				verdict aqm.Verdict
				state   State
			}
			story := func(c Config, factor int64) (events []event, err error) {
				var in aqm.AQM = mostly(seed, 0.3, 0.1)
				if seed%2 == 0 { // what signals by the time
					in, err = threshold.New(threshold.Config{Sojourn: 3 * time.Duration(factor) * time.Millisecond, DropNotECT: true})
					if err != nil {
						return nil, err
					}
				}
				p, err := New(in, c)
				if err != nil {
					return nil, err
				}
				s := slices.Clone(s)
				for i := range s {
					s[i].Wait *= time.Duration(factor)
				}
				m := script.Machine{LimitPackets: 60, Judged: func(j script.Judgement) error {
					events = append(events, event{j.Verdicts[0], p.State()})
					return nil
				}}
				err = m.Run(s, p)
				denied += p.State().Denied
				return events, err
			}
			want, err := story(c, 1)
			if err != nil {
				return err.Error()
			}
			c.BudgetRate /= uint64(factor)
			got, err := story(c, factor)
			if err != nil {
				return err.Error()
			}
			for i := range want {
				if got[i] != want[i] {
					return fmt.Sprintf("question %d of %d: %+v, with longer times %+v", i, len(want), want[i], got[i])
				}
			}
			return ""
		},
		hostile, gen.IntRange(0, 1<<20), gen.UInt64Range(1, 10_000), gen.OneConstOf(int64(7), int64(11), int64(13), int64(1001)), gen.UInt64()))

	properties.Property("contract: every Policy's verdicts are consistent, and it marks no NotECT", scripttest.ForAll(
		func(s script.Script, seed uint64, choice int) string {
			all := everyConfig()
			c := all[choice%len(all)]
			p, err := New(mostly(seed, 0.3, 0.2), c)
			if err != nil {
				return err.Error()
			}
			return run(p, s, func(j script.Judgement) error {
				v := j.Verdicts[0]
				if (v.Action == aqm.Pass) == (v.Reason == aqm.None) &&
					(v.Reason == aqm.Overflow) == j.Occupancy.Full &&
					!(v.Action == aqm.Mark && (c.IgnoreECN || j.Packet.ECN == aqm.NotECT)) &&
					!(c.MarkForced && c.MarkLimit == 0 && !c.IgnoreECN && j.Packet.ECN != aqm.NotECT && v == dropForced) {
					return nil
				}
				return fmt.Errorf("%v with %+v", v, c)
			})
		},
		hostile, gen.UInt64(), gen.IntRange(0, 1<<20)))

	properties.TestingRun(t)
	t.Logf("%d signals were spared, %d carried, %d limited, and %d packets denied", spared, carried, limited, denied)
	if spared == 0 || carried == 0 || limited == 0 || denied == 0 {
		t.Error("one of them is 0")
	}
}

// signal reports whether v tells of congestion, as all but a pass and a full buffer do.
func signal(v aqm.Verdict) bool { return v.Action != aqm.Pass && v.Reason != aqm.Overflow }

// run runs s under a and returns the first error of judged, or nothing.
func run(a aqm.AQM, s script.Script, judged func(script.Judgement) error) string {
	m := script.Machine{LimitPackets: 60, Judged: judged}
	return text(m.Run(s, a))
}

func text(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}
