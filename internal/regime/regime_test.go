package regime

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
)

var names = []string{"droptail", "threshold", "red", "codel", "pi", "pie", "rem"}

// shares are bounds of what a sample signals.
type shares struct{ low, high float64 }

// expected returns the bounds on the signals of a regime.
func expected(name, regime string) shares {
	switch regime {
	case "queued", "below", "idle", "p = 0":
		return shares{0, 0}
	case "marking", "dropping":
		switch name {
		case "red":
			return shares{0.05, 0.15} // max_p halfway between the thresholds, uniform intervals: twice p_b
		case "pie":
			return shares{0.02, 0.05} // a signal waits until the probabilities since the last add up to 0.85
		}
		return shares{0.04, 0.07} // codel: what an open loop comes to in a sample, see Sample
	case "between":
		switch name {
		case "threshold":
			return shares{0.3, 0.6} // 92 and up to 15 more, about the threshold of 100
		case "red":
			return shares{0.05, 0.15}
		}
		return shares{0.04, 0.07}
	case "above":
		if name == "codel" {
			return shares{0.04, 0.07}
		}
		return shares{1, 1}
	case "walk", "sojourn walk", "adaptive walk":
		switch name {
		case "threshold":
			return shares{0.4, 0.6}
		case "red":
			return shares{0.2, 0.4}
		case "codel":
			return shares{0.001, 0.01}
		case "pi":
			return shares{0.001, 0.05}
		case "rem":
			return shares{0.01, 0.1}
		case "pie":
			return shares{0, 0} // the mean delay of the walk, 12 ms, is below the target of 15 ms
		}
	}
	panic(fmt.Sprintf("nothing is expected of %s, %s", name, regime))
}

// TestRegimesAreWhatTheySay sees that a load takes its algorithm where its name says,
// in decisions and in a FIFO, for a whole sample: a benchmark of a branch that is not
// taken measures nothing.
func TestRegimesAreWhatTheySay(t *testing.T) {
	for _, name := range names {
		regimes := For(name)
		assert.NotEmpty(t, regimes, name)
		for _, r := range regimes {
			t.Run(name+"/"+r.Name, func(t *testing.T) {
				want := expected(name, r.Name)
				a, now := r.Instance()
				_, signals := r.Load.Pairs(a, now, Sample)
				share := float64(signals) / Sample
				assert.GreaterOrEqual(t, share, want.low, "decisions")
				assert.LessOrEqual(t, share, want.high, "decisions")

				q := r.Queue()
				before := q.Stats()
				q.Pass(Sample)
				queued, delivered := Passed(before, q.Stats())
				assert.GreaterOrEqual(t, queued, want.low, "FIFO")
				assert.LessOrEqual(t, queued, want.high, "FIFO")

				switch {
				case name == "red" && r.Name == "above":
					assert.Zero(t, delivered) // all are dropped, ECN-capable or not
				case name == "red" && (r.Name == "walk" || r.Name == "adaptive walk"):
					assert.InDelta(t, 0.75, delivered, 0.1) // with the average above MaxTh all are dropped
				case r.Name == "dropping":
					assert.InDelta(t, 1-queued, delivered, 0.001)
				default:
					assert.InDelta(t, 1, delivered, 0.001)
				}
			})
		}
	}
	assert.Nil(t, For("blue"))
}

// TestPoliciesDoWhatTheySay sees in a policy's counters that the load makes it do
// what the name says, for a whole sample.
func TestPoliciesDoWhatTheySay(t *testing.T) {
	type counts struct{ alone, signals, protected, carried, lost, limited, denied int }
	const all, half = Sample, Sample / 2
	expected := map[string]counts{
		"passing":             {},
		"passing, protected":  {},
		"mark stands":         {alone: all, signals: all},
		"drop stands":         {alone: all, signals: all},
		"drop becomes a pass": {alone: all, protected: all},
		"with Carry":          {alone: half, signals: half, protected: half, carried: half},
		"with MarkLimit":      {alone: all, signals: all, limited: half},
		"with a budget":       {alone: all, protected: all},
	}
	for _, p := range Policies() {
		t.Run(p.Name, func(t *testing.T) {
			want, ok := expected[p.Name]
			assert.True(t, ok)
			a, now := p.Alone()
			_, alone := p.Load.Enqueues(a, now, Sample)
			assert.Equal(t, want.alone, alone)

			u, now := p.Under()
			before := u.State()
			_, signals := p.Load.Enqueues(u, now, Sample)
			is := u.State()
			assert.Equal(t, want.signals, signals)
			assert.EqualValues(t, want.protected, is.Protected-before.Protected)
			assert.EqualValues(t, want.carried, is.Carried-before.Carried)
			assert.EqualValues(t, want.lost, is.Lost-before.Lost)
			assert.EqualValues(t, want.denied, is.Denied-before.Denied)
			assert.InDelta(t, want.limited, is.Limited-before.Limited, 100)
			if p.Config.BudgetRate > 0 {
				assert.Less(t, is.Tokens, float64(p.Config.BudgetBurst), "the last one was charged")
			}
		})
	}
	assert.Len(t, expected, len(Policies()))
}

// TestPoliciesAreSeen has acks be protected for what they are: without Protect the
// algorithm's drops stand.
func TestPoliciesAreSeen(t *testing.T) {
	for _, p := range Policies() {
		if p.Name == "drop becomes a pass" {
			p.Config = ecnpolicy.Config{}
			u, now := p.Under()
			_, signals := p.Load.Enqueues(u, now, Steps)
			assert.Equal(t, Steps, signals)
		}
	}
}

// TestInstancesShareNothing sees that a second instance answers as the first did:
// with one source of random numbers between them it would not, and two cores would
// fight for its cache line.
func TestInstancesShareNothing(t *testing.T) {
	for _, name := range names {
		for _, r := range For(name) {
			a, now := r.Instance()
			_, first := r.Load.Pairs(a, now, 4*Steps)
			a, now = r.Instance()
			_, second := r.Load.Pairs(a, now, 4*Steps)
			assert.Equal(t, first, second, "%s, %s", name, r.Name)
		}
	}
}

// TestLoadsAllocateNothing keeps what is measured free of the measuring.
func TestLoadsAllocateNothing(t *testing.T) {
	l := NewLoad(Walk(), aqm.ECT0)
	var a aqm.AQM = new(Noop)
	q := For("droptail")[0].Queue()
	assert.Zero(t, testing.AllocsPerRun(1, func() {
		l.Enqueues(a, 0, Steps)
		l.Dequeues(a, 0, Steps)
		l.Pairs(a, 0, Steps)
		q.Pass(Steps)
	}))
}
