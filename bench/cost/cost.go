// Package cost measures what a decision costs, per algorithm and regime: bare, which
// is by direct calls, through the interface aqm.AQM, under a policy and inside a FIFO,
// beside the floor of a decision that decides nothing.
package cost

import (
	"math"
	"reflect"
	"runtime"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// Row is one algorithm in one regime.
type Row struct {
	Algorithm string `json:"algorithm"`
	Regime    string `json:"regime"`
	Bytes     int    `json:"bytes"` // of state, less what only a signal or an update touches

	Enqueue Figure  `json:"enqueue_ns"`      // one decision, through the interface
	Dequeue Figure  `json:"dequeue_ns"`      // likewise
	Bare    Figure  `json:"bare_ns"`         // one decision at either end, by direct calls
	Both    Figure  `json:"both_ns"`         // likewise, through the interface
	Policy  Figure  `json:"under_policy_ns"` // likewise, under a policy that protects ACK and SYN packets
	Signals float64 `json:"signals"`         // share of Both's packets that were marked or dropped, at either end

	FIFO          Figure  `json:"fifo_ns"`        // a packet's way through a FIFO under the algorithm; see RoundTrip
	FIFOSignals   float64 `json:"fifo_signals"`   // share of its packets that were marked or dropped
	FIFODelivered float64 `json:"fifo_delivered"` // share of its packets that came out

	Allocs uint64 `json:"allocations"` // over packets decisions at either end and as many round trips
}

// RoundTrip reports whether FIFO is the cost of round trips: whether at least half of
// what was offered came out.
func (r Row) RoundTrip() bool { return r.FIFODelivered >= 0.5 }

// figures returns all that is printed of the row.
func (r Row) figures() []Figure {
	f := []Figure{r.Enqueue, r.Dequeue, r.Bare, r.Both, r.Policy}
	if r.RoundTrip() {
		f = append(f, r.FIFO)
	}
	return f
}

// Report is all that was measured, with what it was measured on.
type Report struct {
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPU     string `json:"cpu"`
	Rounds  int    `json:"rounds"`
	Packets int    `json:"packets_per_sample"`

	FloorEnqueue Figure `json:"floor_enqueue_ns"` // a decision that decides nothing, through the interface
	FloorDequeue Figure `json:"floor_dequeue_ns"`
	FloorBoth    Figure `json:"floor_both_ns"`
	TailDropFIFO Figure `json:"taildrop_fifo_ns"` // a FIFO without AQM
	Channel      Figure `json:"channel_ns"`       // a buffered channel of pointers: send and receive

	Rows     []Row       `json:"rows"`
	Policies []PolicyRow `json:"policies"`
}

// task is an algorithm in a regime.
type task struct {
	algorithm string
	regime    regime.Regime
}

// tasks returns all regimes of the algorithms of the catalog with these names; nil
// are all.
func tasks(names []string) ([]task, error) {
	if names == nil {
		names = catalog.Names()
	}
	var all []task
	for _, name := range names {
		if _, err := catalog.Find(name); err != nil {
			return nil, err
		}
		for _, g := range regime.For(name) {
			all = append(all, task{name, g})
		}
	}
	return all, nil
}

// Run measures the algorithms of the catalog with these names, in rounds samples
// each; nil are all, and what policies cost besides. progress, if not nil, is told of
// each step.
func Run(names []string, rounds int, progress func(done, of int, what string)) (Report, error) {
	r := Report{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpu(),
		Rounds: rounds, Packets: packets, Rows: []Row{}, Policies: []PolicyRow{},
	}
	all, err := tasks(names)
	if err != nil {
		return Report{}, err
	}
	var policies []regime.Policy
	if names == nil {
		policies = regime.Policies()
	}
	steps := newSteps(1+len(all)+len(policies), progress)
	steps.next("the floor")
	r.references(rounds)
	for _, t := range all {
		steps.next(t.algorithm + ", " + t.regime.Name)
		r.Rows = append(r.Rows, measure(t, rounds))
	}
	for _, p := range policies {
		steps.next("policy, " + p.Name)
		r.Policies = append(r.Policies, measurePolicy(p, rounds))
	}
	return r, nil
}

// references measures what the rows are compared with.
func (r *Report) references(rounds int) {
	load := regime.NewLoad(regime.Standing(100), aqm.ECT0)
	noop := func() (aqm.AQM, aqm.Time) { return new(regime.Noop), 0 }
	ns := sample(rounds,
		decisions(load, noop, (*regime.Load).Enqueues),
		decisions(load, noop, (*regime.Load).Dequeues),
		decisions(load, noop, (*regime.Load).Pairs),
		roundTrips(regime.For("droptail")[0]),
		&run{pass: channel(new(regime.Item))})
	r.FloorEnqueue, r.FloorDequeue, r.FloorBoth = figure(ns[0]), figure(ns[1]), figure(ns[2])
	r.TailDropFIFO, r.Channel = figure(ns[3]), figure(ns[4])
}

// channel returns a run through a buffered channel that holds 100 items.
func channel(item *regime.Item) func() {
	c := make(chan *regime.Item, 1000)
	for range 100 {
		c <- item
	}
	return func() {
		for range packets {
			c <- item
			<-c
		}
	}
}

// size returns the bytes of an algorithm's own state.
func size(a aqm.AQM) int {
	t := reflect.TypeOf(a)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return int(t.Size())
}

func measure(t task, rounds int) Row {
	g := t.regime
	a, _ := g.Instance()
	row := Row{Algorithm: t.algorithm, Regime: g.Name, Bytes: size(a)}
	in, out := decisions(g.Load, g.Instance, (*regime.Load).Enqueues), decisions(g.Load, g.Instance, (*regime.Load).Dequeues)
	direct, both := decisions(g.Load, g.Instance, bare), decisions(g.Load, g.Instance, (*regime.Load).Pairs)
	under, queued := decisions(g.Load, protected(g), (*regime.Load).Pairs), roundTrips(g)
	ns := sample(rounds, in, out, direct, both, under, queued)
	row.Enqueue, row.Dequeue, row.Bare, row.Both = figure(ns[0]), figure(ns[1]), figure(ns[2]), figure(ns[3])
	row.Policy, row.FIFO = figure(ns[4]), figure(ns[5])
	row.Signals, row.FIFOSignals = both.meanSignals(), queued.meanSignals()
	row.FIFODelivered = queued.delivered / float64(queued.samples)

	row.Allocs = math.MaxUint64
	for range 5 { // the counter is the whole process's, so that the least of some tries is the row's own
		var before, after runtime.MemStats
		under.prepare()
		queued.prepare()
		runtime.ReadMemStats(&before)
		under.pass()
		queued.pass()
		runtime.ReadMemStats(&after)
		row.Allocs = min(row.Allocs, after.Mallocs-before.Mallocs)
	}
	return row
}
