package cost

import (
	"fmt"
	"io"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// PolicyRow is what an arrival costs under a policy that has something to do, and
// without the policy.
type PolicyRow struct {
	Policy  string  `json:"policy"`
	Without Figure  `json:"without_ns"`
	With    Figure  `json:"with_ns"`
	Cost    Figure  `json:"cost_ns"`         // with less without, sample by sample
	Alone   float64 `json:"signals_without"` // share of the arrivals
	Signals float64 `json:"signals_with"`
}

// measurePolicy measures an algorithm with and without the policy in turns.
func measurePolicy(p regime.Policy, rounds int) PolicyRow {
	under := func() (aqm.AQM, aqm.Time) { return p.Under() }
	without, with := decisions(p.Load, p.Alone, (*regime.Load).Enqueues), decisions(p.Load, under, (*regime.Load).Enqueues)
	ns := sample(rounds, without, with)
	more := make([]float64, rounds)
	for i := range more {
		more[i] = ns[1][i] - ns[0][i]
	}
	return PolicyRow{
		Policy: p.Name, Without: figure(ns[0]), With: figure(ns[1]), Cost: figure(more),
		Alone: without.meanSignals(), Signals: with.meanSignals(),
	}
}

// writePolicies writes the table of what a policy costs.
func (r Report) writePolicies(w io.Writer) error {
	if len(r.Policies) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nWhat a policy costs: an arrival in ns, with and without it in turns\n\n")
	t := newTable(w)
	fmt.Fprintln(t, "policy\twithout\tspread\twith\tspread\tdifference\tsignals without\twith\t")
	for _, p := range r.Policies {
		fmt.Fprintf(t, "%s\t%.2f\t%s\t%.2f\t%s\t%+.2f\t%.0f %%\t%.0f %%\t\n", p.Policy, p.Without.Median, p.Without.spread(),
			p.With.Median, p.With.spread(), p.Cost.Median, 100*p.Alone, 100*p.Signals)
	}
	return t.Flush()
}
