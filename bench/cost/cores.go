package cost

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// Cores is the cost of both decisions on one core, and on each where all are at it,
// every one with an instance of its own.
type Cores struct {
	Algorithm string `json:"algorithm"`
	Samples   int    `json:"samples"` // on each core
	One       Figure `json:"one_core_ns"`
	All       Figure `json:"all_cores_ns"`
}

// Change returns how much more a packet costs where all cores are at it, as a share.
func (c Cores) Change() float64 { return c.All.Median/c.One.Median - 1 }

// RunCores measures the algorithms with these names, after the no-op AQM.
func RunCores(names []string, rounds int, progress func(done, of int, what string)) ([]Cores, error) {
	steps := newSteps(len(names)+1, progress)
	steps.next("the floor")
	load := regime.NewLoad(regime.Walk(), aqm.ECT0)
	all := []Cores{cores("no-op AQM", rounds, load, func() (aqm.AQM, aqm.Time) { return new(regime.Noop), 0 })}
	for _, name := range names {
		steps.next(name)
		if _, err := catalog.Find(name); err != nil {
			return nil, err
		}
		g := regime.For(name)[0]
		for _, other := range regime.For(name) {
			if other.Name == "walk" {
				g = other
			}
		}
		all = append(all, cores(name, rounds, g.Load, g.Instance))
	}
	return all, nil
}

// cores measures one core and all of them in turns.
func cores(name string, rounds int, l *regime.Load, newOne func() (aqm.AQM, aqm.Time)) Cores {
	n, each := runtime.GOMAXPROCS(0), eachTurn(rounds)
	var one, all []float64
	for range turns {
		one = append(one, sample(each, decisions(l, newOne, (*regime.Load).Pairs))[0]...)
		for _, ns := range together(n, each, func() *run { return decisions(l, newOne, (*regime.Load).Pairs) }) {
			all = append(all, ns...)
		}
	}
	return Cores{Algorithm: name, Samples: turns * each, One: figure(one), All: figure(all)}
}

// together samples n runs at once, each on a core of its own: none begins a sample
// before all are there.
func together(n, rounds int, newRun func() *run) [][]float64 {
	defer quiet()()
	var wait sync.WaitGroup
	var there atomic.Int64
	ns := make([][]float64, n)
	for i := range n {
		wait.Go(func() {
			defer thread()()
			r := newRun()
			for round := range rounds {
				r.prepare()
				there.Add(1)
				for there.Load() < int64(n*(round+1)) { // spins: to be woken takes longer than to begin may
				}
				ns[i] = append(ns[i], timed(packets, r.pass))
			}
		})
	}
	wait.Wait()
	return ns
}

// WriteCores writes the table for people.
func WriteCores(w io.Writer, all []Cores) error {
	fmt.Fprintf(w, "Both decisions on one core and on each of %d, which begin each sample together: ns, median of %d samples on each\n\n", runtime.GOMAXPROCS(0), all[0].Samples)
	t := newTable(w)
	fmt.Fprintln(t, "algorithm\tone core\tspread\tall cores\tspread\tchange\tless the no-op's\t")
	for _, c := range all {
		fmt.Fprintf(t, "%s\t%.2f\t%s\t%.2f\t%s\t%+.1f %%\t%+.1f %%\t\n", c.Algorithm, c.One.Median, c.One.spread(), c.All.Median, c.All.spread(),
			100*c.Change(), 100*(c.Change()-all[0].Change()))
	}
	return t.Flush()
}
