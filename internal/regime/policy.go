package regime

import (
	"fmt"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/threshold"
)

// Policy is a policy with something to do, which the regime's arrivals make it do.
type Policy struct {
	Regime
	Config ecnpolicy.Config
}

// Alone returns the algorithm without the policy, and the instant from which the
// load goes on.
func (p Policy) Alone() (aqm.AQM, aqm.Time) {
	a, now := p.make()
	now, _ = p.Load.Enqueues(a, now, 2*Steps)
	return a, now
}

// Under returns the algorithm under the policy, likewise.
func (p Policy) Under() (*ecnpolicy.Policy, aqm.Time) {
	a, now := p.make()
	u, err := ecnpolicy.New(a, p.Config)
	if err != nil {
		panic(fmt.Sprintf("regime: %v", err)) // the configurations are this package's own
	}
	now, _ = p.Load.Enqueues(u, now, 2*Steps)
	return u, now
}

// Policies returns what a policy can have to do with an arrival: leave a pass as it
// is, leave a signal as it is, or make something else of it.
func Policies() []Policy {
	none := ready(func() (aqm.AQM, error) { return aqm.TailDrop{}, nil })
	signals := ready(func() (aqm.AQM, error) { return threshold.New(threshold.Config{Packets: 100, DropNotECT: true}) })
	protect := ecnpolicy.DefaultConfig()
	carry, limit, budget := protect, protect, protect
	carry.Carry = true
	limit.MarkLimit = 0.5
	budget.BudgetRate, budget.BudgetBurst = rate, 1<<16 // more than the ACKs below take

	data, unmarkable := NewLoad(Standing(300), aqm.ECT0), NewLoad(Standing(300), aqm.NotECT)
	// ACKs find the queue above the threshold, and what lies between them below: a
	// signal that is taken from one goes to the next, which had none.
	mixed := NewLoad(Standing(300), aqm.NotECT, aqm.ECT0)
	for i := range mixed {
		if mixed[i].ECN == aqm.NotECT {
			mixed[i].Size, mixed[i].Class = 64, aqm.PureACK
		} else {
			mixed[i].Backlog = 90
		}
	}
	return []Policy{
		{Regime{"passing", NewLoad(Standing(100), aqm.ECT0), none}, protect},
		{Regime{"passing, protected", acks(100), none}, protect},
		{Regime{"mark stands", data, signals}, protect},
		{Regime{"drop stands", unmarkable, signals}, protect},
		{Regime{"drop becomes a pass", acks(300), signals}, protect},
		{Regime{"with Carry", mixed, signals}, carry},
		{Regime{"with MarkLimit", data, signals}, limit},
		{Regime{"with a budget", acks(300), signals}, budget},
	}
}

// acks returns a stream of ACKs that cannot be marked and find a backlog of n.
func acks(n int) *Load {
	l := NewLoad(Standing(n), aqm.NotECT)
	for i := range l {
		l[i].Size, l[i].Class = 64, aqm.PureACK
	}
	return l
}
