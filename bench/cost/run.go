package cost

import (
	"fmt"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// loop asks an AQM about n packets of a load from an instant on, and returns the
// instant of the last and the number of signals.
type loop func(*regime.Load, aqm.AQM, aqm.Time, int) (aqm.Time, int)

// decisions returns a run of the loop over instances that newOne makes.
func decisions(l *regime.Load, newOne func() (aqm.AQM, aqm.Time), ask loop) *run {
	r := new(run)
	var a aqm.AQM
	var now aqm.Time
	r.prepare = func() { a, now = newOne() }
	r.pass = func() {
		_, signals := ask(l, a, now, packets)
		r.passed(float64(signals)/packets, 0)
	}
	return r
}

// roundTrips returns a run of round trips through FIFOs in the regime.
func roundTrips(g regime.Regime) *run {
	r := new(run)
	var q *regime.Queue
	r.prepare = func() { q = g.Queue() }
	r.pass = func() {
		before := q.Stats()
		q.Pass(packets)
		r.passed(regime.Passed(before, q.Stats()))
	}
	return r
}

// protected returns what makes instances of g under a policy that protects ACK and
// SYN packets.
func protected(g regime.Regime) func() (aqm.AQM, aqm.Time) {
	return func() (aqm.AQM, aqm.Time) {
		a, now := g.Instance()
		p, err := ecnpolicy.New(a, ecnpolicy.DefaultConfig())
		if err != nil {
			panic(fmt.Sprintf("cost: %v", err)) // the configuration is the package's own
		}
		return p, now
	}
}
