package regime

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aqmkit/aqmkit/aqm"
)

// TestRegimesAreWhatTheySay sees that a load takes its algorithm where its name
// says: a benchmark of a branch that is not taken measures nothing.
func TestRegimesAreWhatTheySay(t *testing.T) {
	for _, name := range []string{"droptail", "threshold", "red", "codel", "pi", "pie", "rem"} {
		regimes := For(name)
		assert.NotEmpty(t, regimes, name)
		for _, r := range regimes {
			t.Run(name+"/"+r.Name, func(t *testing.T) {
				a, now := r.Instance()
				_, signals := r.Load.Pairs(a, now, 10*Steps)
				share := float64(signals) / (10 * Steps)
				switch r.Name {
				case "below", "idle", "queued", "p = 0":
					assert.Zero(t, signals)
				case "marking", "dropping":
					if name == "codel" || name == "red" {
						assert.Greater(t, share, 0.001)
						break
					}
					assert.InDelta(t, probability, share, 0.03)
				case "above":
					assert.Greater(t, share, 0.005)
				case "between":
					assert.GreaterOrEqual(t, share, 0.0)
				default: // walks
					if name != "pie" { // the walk's mean delay is below its target
						assert.Greater(t, share, 0.0)
					}
					assert.Less(t, share, 1.0)
				}
			})
		}
	}
	assert.Nil(t, For("blue"))
}

// TestInstancesShareNothing sees that a second instance answers as the first did:
// with one source of random numbers between them it would not, and two cores would
// fight for its cache line.
func TestInstancesShareNothing(t *testing.T) {
	for _, name := range []string{"droptail", "threshold", "red", "codel", "pi", "pie", "rem"} {
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
	f, err := aqm.NewFIFO(aqm.FIFOConfig[*Item]{LimitPackets: 1000}, a)
	assert.NoError(t, err)
	item := new(Item)
	assert.Zero(t, testing.AllocsPerRun(1, func() {
		l.Enqueues(a, 0, Steps)
		l.Dequeues(a, 0, Steps)
		l.Pairs(a, 0, Steps)
		l.RoundTrips(f, item, 10, 0, Steps)
	}))
}
