package planted

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/aqmtest"
	"github.com/aqmkit/aqmkit/internal/script"
)

// family is a model of an algorithm, its oracle, and the faults that it can have.
type family struct {
	name   string
	model  func(fault string, variant int, src rand.Source) aqm.AQM
	oracle func(variant int, src rand.Source) aqm.AQM
	same   func(model, oracle aqm.AQM) bool // whether they agree beyond their verdicts; may be nil

	variants int           // configurations of both
	period   time.Duration // between two packets of the scripts
	limit    int           // packets; of the scripts' queue
	short    bool          // no script is long: the oracle works out everything from the beginning
	checked  []int         // variants that aqmtest sees
	faults   []fault
}

// fault is a small mistake, with those that must notice.
type fault struct {
	name   string
	oracle bool     // a run in lockstep differs
	laws   []string // of aqmtest, which are broken
}

// by is a fault that the oracle notices and, where laws are named, aqmtest too.
func by(name string, laws ...string) fault { return fault{name, true, laws} }

// contract is a fault that aqmtest notices. The oracle may, or may not.
func contract(name string, laws ...string) fault { return fault{name, false, laws} }

func families() []family {
	return []family{thresholdFamily(), redFamily(), piFamily(), remFamily(), pieFamily(), codelFamily(), policyFamily()}
}

// agree returns the first difference of model and oracle over scripts of every kind,
// with sources that are random, always 0, and always the maximum.
func (f family) agree(fault string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	for variant := range f.variants {
		for number, s := range f.scripts(variant) {
			sources := []func() rand.Source{
				func() rand.Source { return &numbered{} },
				func() rand.Source { return aqmtest.Repeat(0) },
				func() rand.Source { return aqmtest.Repeat(math.MaxUint64) },
			}
			if len(s) > length {
				sources = sources[:1]
			}
			for _, source := range sources {
				a, o := source(), source()
				model, naive := f.model(fault, variant, a), f.oracle(variant, o)
				m := script.Machine{Now: -time0, LimitPackets: f.limit, Judged: script.Agree(func() error {
					if f.same != nil && !f.same(model, naive) {
						return errors.New("their probabilities differ")
					}
					return nil
				})}
				if err := m.Run(s, ask(model, a), ask(naive, o)); err != nil {
					return fmt.Errorf("variant %d, script %d: %w", variant, number, err)
				}
			}
		}
	}
	return nil
}

// time0 is a start that is no round number, and not 0.
const time0 = 12_345_678

const length = 6000 // operations of a script, but for the long one

// scripts returns a calm script, hostile ones, one with pauses that are powers of 2
// while packets are queued, one with a queue of two packets that wait for long, and one
// with a queue of ten that stands for more than 2^16 packets.
func (f family) scripts(variant int) []script.Script {
	key := fmt.Sprint(f.name, variant)
	if made[key] == nil {
		made[key] = f.makeScripts(variant)
	}
	return made[key]
}

var made = map[string][]script.Script{} // by family and variant

func (f family) makeScripts(variant int) (scripts []script.Script) {
	n, every := length, 40
	if f.short {
		n, every = length/3, 10
	}
	r := rand.New(rand.NewPCG(uint64(variant), 5))
	for number := range 4 {
		s := script.Random(r, n, f.period)
		if number > 0 {
			script.Disturb(r, s, every)
		}
		scripts = append(scripts, s)
	}
	arrive, depart := script.Op{Kind: script.Arrive, Wait: f.period, Size: 1000, ECN: aqm.ECT0}, script.Op{Kind: script.Depart}
	slow := arrive
	slow.Wait *= 20
	var pauses, few script.Script
	for i := range 200 {
		pause := depart
		pause.Wait = 1 << (16 + i%28) // ns, to 2.4 h
		pauses = append(pauses, arrive, arrive, arrive, pause, depart, depart)
	}
	few = append(few, slow)
	for range 1000 {
		few = append(few, slow, depart)
	}
	scripts = append(scripts, pauses, few)
	switch {
	case f.short:
		return scripts
	case variant > 0:
		return append(scripts, f.scripts(0)[len(scripts)])
	}
	const packets = 160_000
	stand := append(make(script.Script, 0, 2*packets), slices.Repeat(script.Script{arrive}, 10)...)
	for range packets {
		stand = append(stand, arrive, depart)
	}
	return append(scripts, stand)
}

// numbered is a source whose number is that of the question, so that two algorithms
// draw alike for a packet even where only one of them drew for one before: where p is
// 0 in one and the rounding of 0 in the other.
type numbered struct{ question, draw uint64 }

// Uint64 returns a well-mixed function of the numbers (splitmix64).
func (s *numbered) Uint64() uint64 {
	x := (s.question<<8 + s.draw) * 0x9e3779b97f4a7c15
	s.draw++
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// asked counts the questions for a numbered source.
type asked struct {
	aqm.AQM
	source *numbered
}

func ask(a aqm.AQM, src rand.Source) aqm.AQM {
	if n, ok := src.(*numbered); ok {
		return asked{a, n}
	}
	return a
}

func (a asked) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	a.source.question, a.source.draw = a.source.question+1, 0
	return a.AQM.Enqueue(now, p, q)
}

func (a asked) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	a.source.question, a.source.draw = a.source.question+1, 0
	return a.AQM.Dequeue(now, p, q)
}

// check returns the laws of aqmtest that the model breaks.
func (f family) check(fault string, options ...aqmtest.Option) (broken []string) {
	options = append(options, aqmtest.Packets(1000))
	for _, variant := range f.checked {
		err := aqmtest.Check(func(src rand.Source) aqm.AQM { return f.model(fault, variant, src) }, options...)
		for _, v := range aqmtest.Violations(err) {
			if !slices.Contains(broken, v.Law.Name) {
				broken = append(broken, v.Law.Name)
			}
		}
	}
	return broken
}

// TestModels sees every model without a fault agree with its oracle and keep all
// laws, so that a fault is all that is noticed.
func TestModels(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			require.NoError(t, f.agree(""))
			assert.Empty(t, f.check(""))
		})
	}
}

var whole = flag.Bool("table", false, "try every fault with all laws of aqmtest and with the oracle, for a table of who catches what")

// TestPlantedFaults sees every fault caught, by those that have to.
func TestPlantedFaults(t *testing.T) {
	planted, byKit, byOracle := 0, 0, 0
	var table strings.Builder
	for _, f := range families() {
		names := map[string]bool{}
		for _, fault := range f.faults {
			t.Run(f.name+"/"+fault.name, func(t *testing.T) {
				require.False(t, names[fault.name], "twice")
				names[fault.name] = true
				planted++
				require.True(t, fault.oracle || len(fault.laws) > 0, "nobody has to notice")
				oracle := "-"
				if fault.oracle || *whole && !slices.Contains(fault.laws, "bounded-work") { // with which a run takes for ever
					if f.agree(fault.name) != nil {
						byOracle++
						oracle = "oracle"
					}
				}
				if fault.oracle {
					assert.Equal(t, "oracle", oracle, "it does not notice")
				}
				var broken []string
				switch {
				case *whole:
					broken = f.check(fault.name)
				case len(fault.laws) > 0:
					broken = f.check(fault.name, aqmtest.Only(fault.laws...))
				}
				if len(broken) > 0 {
					byKit++
				}
				assert.Subset(t, broken, fault.laws)
				fmt.Fprintf(&table, "%-10s %-48s %-7s %s\n", f.name, fault.name, oracle, strings.Join(broken, " "))
			})
		}
	}
	if *whole {
		t.Logf("%d faults planted, %d killed by aqmtest alone, %d by the oracles\n%v", planted, byKit, byOracle, &table)
	} else {
		t.Logf("%d faults planted, and caught by those that have to; -table shows who else does", planted)
	}
	assert.GreaterOrEqual(t, planted, 40)
}

// uniform draws from (0, 1].
func uniform(src rand.Source) float64 { return float64(src.Uint64()>>11+1) / (1 << 53) }

// near leaves room for rounding, where one loops and the other leaps.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9 }

var (
	pass     = aqm.Verdict{}
	overflow = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
)
