package cost

import (
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// Cores is the cost of both decisions on one core, and on each where all are at it,
// every one with an instance of its own.
type Cores struct {
	Algorithm string `json:"algorithm"`
	One       Figure `json:"one_core_ns"`
	All       Figure `json:"all_cores_ns"`
}

// Change returns how much more a packet costs where all cores are at it, as a share.
func (c Cores) Change() float64 { return c.All.Median/c.One.Median - 1 }

// RunCores measures the algorithms with these names, after the no-op AQM.
func RunCores(names []string, rounds int, progress func(done, of int, what string)) ([]Cores, error) {
	if progress == nil {
		progress = func(int, int, string) {}
	}
	load := regime.NewLoad(regime.Walk(), aqm.ECT0)
	all := []Cores{cores("no-op AQM", rounds, func() *instance { return &instance{new(regime.Noop), 0, load} })}
	for i, name := range names {
		progress(1+i, len(names)+1, name)
		if _, err := catalog.Find(name); err != nil {
			return nil, err
		}
		g := regime.For(name)[0]
		for _, other := range regime.For(name) {
			if other.Name == "walk" {
				g = other
			}
		}
		all = append(all, cores(name, rounds, func() *instance { return newInstance(g) }))
	}
	return all, nil
}

// cores measures one core and all of them in turns.
func cores(name string, rounds int, newOne func() *instance) Cores {
	n := runtime.GOMAXPROCS(0)
	var one, all []float64
	for range turns {
		each := max(1, rounds/turns)
		one = append(one, samples(each, newOne().pairs)...)
		var wait sync.WaitGroup
		ns := make([][]float64, n)
		for i := range n {
			wait.Go(func() { ns[i] = samples(each, newOne().pairs) })
		}
		wait.Wait()
		for _, some := range ns {
			all = append(all, some...)
		}
	}
	return Cores{Algorithm: name, One: figure(one), All: figure(all)}
}

// WriteCores writes the table for people.
func WriteCores(w io.Writer, all []Cores) error {
	fmt.Fprintf(w, "Both decisions on one core and on each of %d: ns, median\n\n", runtime.GOMAXPROCS(0))
	t := newTable(w)
	fmt.Fprintln(t, "algorithm\tone core\tspread\tall cores\tspread\tchange\tless the no-op's\t")
	for _, c := range all {
		fmt.Fprintf(t, "%s\t%.2f\t%s\t%.2f\t%s\t%+.1f %%\t%+.1f %%\t\n", c.Algorithm, c.One.Median, c.One.spread(), c.All.Median, c.All.spread(),
			100*c.Change(), 100*(c.Change()-all[0].Change()))
	}
	return t.Flush()
}
