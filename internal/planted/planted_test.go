package planted

import (
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

	variants int           // configurations of both
	period   time.Duration // between two packets of the scripts
	limit    int           // packets; of the scripts' queue
	checked  []int         // variants that aqmtest sees; all others differ by numbers only
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
	return []family{thresholdFamily(), redFamily()}
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
				m := script.Machine{Now: -time0, LimitPackets: f.limit, Judged: script.Agree(nil)}
				a, o := source(), source()
				if err := m.Run(s, ask(f.model(fault, variant, a), a), ask(f.oracle(variant, o), o)); err != nil {
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

// scripts returns a calm script, hostile ones, and one with a queue that stands for
// more than 2^16 packets.
func (f family) scripts(variant int) []script.Script {
	r := rand.New(rand.NewPCG(uint64(variant), 5))
	scripts := []script.Script{script.Random(r, length, f.period)}
	for range 2 {
		s := script.Random(r, length, f.period)
		script.Disturb(r, s, 100)
		scripts = append(scripts, s)
	}
	stand := make(script.Script, 0, 200_000)
	for i := range cap(stand) {
		op := script.Op{Kind: script.Arrive, Wait: f.period, Size: 1000, ECN: aqm.ECT0}
		if i > 20 && i%2 == 0 {
			op = script.Op{Kind: script.Depart}
		}
		stand = append(stand, op)
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
func (f family) check(fault string) (broken []string) {
	for _, variant := range f.checked {
		err := aqmtest.Check(func(src rand.Source) aqm.AQM { return f.model(fault, variant, src) }, aqmtest.Packets(1000))
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

// TestPlantedFaults sees every fault caught, by whom the table says, and prints who
// caught what.
func TestPlantedFaults(t *testing.T) {
	planted, byKit, byOracle := 0, 0, 0
	var table strings.Builder
	for _, f := range families() {
		for _, fault := range f.faults {
			t.Run(f.name+"/"+fault.name, func(t *testing.T) {
				planted++
				var difference error
				if !slices.Contains(fault.laws, "bounded-work") { // else a run takes for ever
					difference = f.agree(fault.name)
				}
				broken := f.check(fault.name)
				if difference != nil {
					byOracle++
				}
				if len(broken) > 0 {
					byKit++
				}
				assert.True(t, difference != nil || len(broken) > 0, "nobody notices")
				if fault.oracle {
					assert.Error(t, difference, "the oracle does not notice")
				}
				assert.Subset(t, broken, fault.laws)
				oracle := "-"
				if difference != nil {
					oracle = "oracle"
				}
				fmt.Fprintf(&table, "%-10s %-48s %-7s %s\n", f.name, fault.name, oracle, strings.Join(broken, " "))
			})
		}
	}
	t.Logf("%d faults planted, %d killed by aqmtest alone, %d by the oracles\n%v", planted, byKit, byOracle, &table)
	assert.GreaterOrEqual(t, planted, 40)
}

// uniform draws from (0, 1].
func uniform(src rand.Source) float64 { return float64(src.Uint64()>>11+1) / (1 << 53) }

var (
	pass     = aqm.Verdict{}
	overflow = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
)
