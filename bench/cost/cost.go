// Package cost measures what a decision costs, per algorithm and regime: bare,
// under a policy and inside a FIFO, beside the floor of a decision that decides
// nothing.
package cost

import (
	"fmt"
	"math"
	"reflect"
	"runtime"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
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
	Both    Figure  `json:"both_ns"`         // one decision at either end
	Policy  Figure  `json:"under_policy_ns"` // both decisions, under a policy that protects ACK and SYN packets
	FIFO    Figure  `json:"fifo_ns"`         // a packet's way through a FIFO under the algorithm
	Signals float64 `json:"signals"`         // share of the packets that were marked or dropped, at either end
	Allocs  uint64  `json:"allocations"`     // over packets decisions at either end and as many round trips
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

	Rows []Row `json:"rows"`
}

// Run measures the algorithms of the catalog with these names, in rounds samples
// each. progress, if not nil, is told of each step.
func Run(names []string, rounds int, progress func(done, of int, what string)) (Report, error) {
	r := Report{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpu(),
		Rounds: rounds, Packets: packets,
	}
	type task struct {
		algorithm string
		regime    regime.Regime
	}
	var tasks []task
	for _, name := range names {
		if _, err := catalog.Find(name); err != nil {
			return Report{}, err
		}
		for _, g := range regime.For(name) {
			tasks = append(tasks, task{name, g})
		}
	}
	if progress == nil {
		progress = func(int, int, string) {}
	}
	progress(0, len(tasks)+1, "the floor")
	r.references(rounds)
	for i, t := range tasks {
		progress(i+1, len(tasks)+1, t.algorithm+", "+t.regime.Name)
		row, err := measure(t.algorithm, t.regime, rounds)
		if err != nil {
			return Report{}, err
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// references measures what the rows are compared with.
func (r *Report) references(rounds int) {
	var noop aqm.AQM = new(regime.Noop)
	load := regime.NewLoad(regime.Standing(100), aqm.ECT0)
	item := new(regime.Item)
	f, err := aqm.NewFIFO(aqm.FIFOConfig[*regime.Item]{LimitPackets: 1000}, aqm.TailDrop{})
	if err != nil {
		panic(fmt.Sprintf("cost: %v", err)) // the configuration is this package's own
	}
	now := aqm.Time(0)
	figures := sample(rounds,
		func() { load.Enqueues(noop, 0, packets) },
		func() { load.Dequeues(noop, 0, packets) },
		func() { load.Pairs(noop, 0, packets) },
		func() { now = load.RoundTrips(f, item, 100, now, packets) },
		channel(item))
	r.FloorEnqueue, r.FloorDequeue, r.FloorBoth, r.TailDropFIFO, r.Channel = figures[0], figures[1], figures[2], figures[3], figures[4]
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

// instance is an algorithm in a regime, with the instant its load has come to.
type instance struct {
	aqm.AQM
	now  aqm.Time
	load *regime.Load
}

func newInstance(g regime.Regime) *instance {
	a, now := g.Instance()
	return &instance{a, now, g.Load}
}

func (i *instance) enqueues() { i.now, _ = i.load.Enqueues(i.AQM, i.now, packets) }
func (i *instance) dequeues() { i.now, _ = i.load.Dequeues(i.AQM, i.now, packets) }
func (i *instance) pairs()    { i.now, _ = i.load.Pairs(i.AQM, i.now, packets) }

// roundTrips returns a run through a FIFO under the algorithm.
func (i *instance) roundTrips(level int) (func(), error) {
	f, err := aqm.NewFIFO(aqm.FIFOConfig[*regime.Item]{LimitPackets: 1000}, i.AQM)
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	item := new(regime.Item)
	return func() { i.now = i.load.RoundTrips(f, item, level, i.now, packets) }, nil
}

// size returns the bytes of an algorithm's own state.
func size(a aqm.AQM) int {
	t := reflect.TypeOf(a)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return int(t.Size())
}

func measure(name string, g regime.Regime, rounds int) (Row, error) {
	in, out, both, under, queued := newInstance(g), newInstance(g), newInstance(g), newInstance(g), newInstance(g)
	row := Row{Algorithm: name, Regime: g.Name, Bytes: size(in.AQM)}
	_, signals := g.Load.Pairs(both.AQM, both.now, 2*packets)
	row.Signals = float64(signals) / (2 * packets)
	both = newInstance(g)

	p, err := ecnpolicy.New(under.AQM, ecnpolicy.Config{Protect: ecnpolicy.ACKSYN})
	if err != nil {
		return Row{}, fmt.Errorf("cost: %w", err)
	}
	under.AQM = p
	roundTrips, err := queued.roundTrips(g.Level)
	if err != nil {
		return Row{}, err
	}
	figures := sample(rounds, in.enqueues, out.dequeues, both.pairs, under.pairs, roundTrips)
	row.Enqueue, row.Dequeue, row.Both, row.Policy, row.FIFO = figures[0], figures[1], figures[2], figures[3], figures[4]

	row.Allocs = math.MaxUint64
	for range 5 { // the counter is the whole process's, so that the least of some tries is the row's own
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		under.pairs()
		roundTrips()
		runtime.ReadMemStats(&after)
		row.Allocs = min(row.Allocs, after.Mallocs-before.Mallocs)
	}
	return row, nil
}
