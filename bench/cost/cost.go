// Package cost measures what a decision costs, per algorithm and regime: bare,
// under a policy and inside a FIFO, beside the floor of a decision that decides
// nothing.
package cost

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/exp/stats"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// packets is how many packets one sample times: about a millisecond, so that an
// interrupt spoils one sample and not the median.
const packets = 1 << 17

// Figure is a cost in nanoseconds per packet: the median of the samples, and the
// quartiles around it.
type Figure struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`  // 25 %
	High   float64 `json:"high"` // 75 %
}

// Row is one algorithm in one regime.
type Row struct {
	Algorithm string `json:"algorithm"`
	Regime    string `json:"regime"`

	Enqueue Figure  `json:"enqueue_ns"`      // one decision, through the interface
	Dequeue Figure  `json:"dequeue_ns"`      // likewise
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
	r.FloorEnqueue = sample(rounds, func() { load.Enqueues(noop, 0, packets) })
	r.FloorDequeue = sample(rounds, func() { load.Dequeues(noop, 0, packets) })
	item := new(regime.Item)
	f, err := aqm.NewFIFO(aqm.FIFOConfig[*regime.Item]{LimitPackets: 1000}, aqm.TailDrop{})
	if err == nil {
		now := aqm.Time(0)
		r.TailDropFIFO = sample(rounds, func() { now = load.RoundTrips(f, item, 100, now, packets) })
	}
	c := make(chan *regime.Item, 1000)
	for range 100 {
		c <- item
	}
	r.Channel = sample(rounds, func() {
		for range packets {
			c <- item
			<-c
		}
	})
}

func measure(name string, g regime.Regime, rounds int) (Row, error) {
	row := Row{Algorithm: name, Regime: g.Name}
	a, now := g.Instance()
	row.Enqueue = sample(rounds, func() { now, _ = g.Load.Enqueues(a, now, packets) })
	a, now = g.Instance()
	row.Dequeue = sample(rounds, func() { now, _ = g.Load.Dequeues(a, now, packets) })

	a, now = g.Instance()
	now, signals := g.Load.Pairs(a, now, 2*packets)
	row.Signals = float64(signals) / (2 * packets)

	a, now = g.Instance()
	p, err := ecnpolicy.New(a, ecnpolicy.Config{Protect: ecnpolicy.ACKSYN})
	if err != nil {
		return Row{}, fmt.Errorf("cost: %w", err)
	}
	row.Policy = sample(rounds, func() { now, _ = g.Load.Pairs(p, now, packets) })

	a, now = g.Instance()
	f, err := aqm.NewFIFO(aqm.FIFOConfig[*regime.Item]{LimitPackets: 1000}, a)
	if err != nil {
		return Row{}, fmt.Errorf("cost: %w", err)
	}
	item := new(regime.Item)
	row.FIFO = sample(rounds, func() { now = g.Load.RoundTrips(f, item, g.Level, now, packets) })

	row.Allocs = math.MaxUint64
	for range 5 { // the counter is the whole process's, so that the least of some tries is the row's own
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		now, _ = g.Load.Pairs(p, now, packets)
		now = g.Load.RoundTrips(f, item, g.Level, now, packets)
		runtime.ReadMemStats(&after)
		row.Allocs = min(row.Allocs, after.Mallocs-before.Mallocs)
	}
	return row, nil
}

// sample returns the cost per packet of run, which passes packets of them, over
// rounds samples after one to warm up.
func sample(rounds int, run func()) Figure {
	run()
	ns := make([]float64, rounds)
	for i := range ns {
		start := time.Now()
		run()
		ns[i] = float64(time.Since(start).Nanoseconds()) / packets
	}
	q := stats.Quantiles(ns, 0.25, 0.5, 0.75)
	return Figure{Median: q[1], Low: q[0], High: q[2]}
}
