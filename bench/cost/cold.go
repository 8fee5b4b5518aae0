package cost

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// Queues is how many queues the cold measurements have.
var Queues = []int{1, 1_000, 100_000, 1_000_000}

// Cold is what an arrival costs where each is for another of many queues, in random
// order, for each of Queues.
type Cold struct {
	Algorithm string   `json:"algorithm"`
	Enqueue   []Figure `json:"enqueue_ns"`
	// Bound is what Enqueue may be: the algorithm's cost with one queue, and what the
	// misses of two cache lines take, which are waited for.
	Bound []float64 `json:"bound_ns"`
}

// lines is an algorithm that touches two cache lines and does nothing else.
type lines struct {
	first uint64
	next  *lines
	_     [6]uint64
	last  uint64
	_     [7]uint64
}

// Enqueue touches both lines.
func (l *lines) Enqueue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict {
	l.first++
	l.last++
	return aqm.Verdict{}
}

// Dequeue touches nothing.
func (l *lines) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }

// misses measures two cache lines of each of n queues in random order, where the
// next queue is known only once the lines of the one before are there: nothing hides
// what a miss takes.
func misses(n, rounds int) Figure {
	all := make([]lines, n)
	order := rand.New(rand.NewPCG(uint64(n), 1)).Perm(n)
	for i, at := range order {
		all[at].next = &all[order[(i+1)%n]]
	}
	l := &all[0]
	return figure(samples(rounds, func() {
		for range packets {
			l.first++
			l.last++
			l = l.next
		}
	}))
}

// RunCold measures the algorithms with these names, after three references: no-op,
// two lines that are touched as an algorithm is asked, where the processor works on
// several queues at a time, and two lines that are waited for.
func RunCold(names []string, rounds int, progress func(done, of int, what string)) ([]Cold, error) {
	if progress == nil {
		progress = func(int, int, string) {}
	}
	of := len(names) + 3
	progress(0, of, "the floor")
	noop := cold("no-op AQM", rounds, func() aqm.AQM {
		return new(struct {
			regime.Noop
			_ [128]byte
		})
	})
	progress(1, of, "two cache lines")
	touch := cold("two lines, touched", rounds, func() aqm.AQM { return new(lines) })
	progress(2, of, "two cache lines, waited for")
	wait := Cold{Algorithm: "two lines, waited for"}
	for _, n := range Queues {
		wait.Enqueue = append(wait.Enqueue, misses(n, rounds))
	}
	all := []Cold{noop, touch, wait}
	for i, name := range names {
		progress(3+i, of, name)
		e, err := catalog.Find(name)
		if err != nil {
			return nil, err
		}
		src := rand.NewPCG(1, 2)
		if _, err := e.Default(src); err != nil {
			return nil, fmt.Errorf("cost: %w", err)
		}
		c := cold(name, rounds, func() aqm.AQM {
			a, _ := e.Default(src) // as above
			return a
		})
		for j := range Queues {
			c.Bound = append(c.Bound, c.Enqueue[0].Median+wait.Enqueue[j].Median-wait.Enqueue[0].Median)
		}
		all = append(all, c)
	}
	return all, nil
}

// cold measures arrivals to short queues, a nanosecond apart, so that no timer runs.
func cold(name string, rounds int, newAQM func() aqm.AQM) Cold {
	c := Cold{Algorithm: name}
	for _, n := range Queues {
		queues := make([]aqm.AQM, n) // in the order in which they are visited
		for i := range queues {
			queues[i] = newAQM()
		}
		runtime.GC() // and not while samples are taken
		rand.New(rand.NewPCG(uint64(n), 1)).Shuffle(n, func(i, j int) { queues[i], queues[j] = queues[j], queues[i] })
		now, at := aqm.Time(1), 0
		pass := func() {
			for range packets {
				now++
				queues[at].Enqueue(now, aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}, aqm.Occupancy{Packets: 2, Bytes: 3000})
				if at++; at == n {
					at = 0
				}
			}
		}
		for range n/packets + 1 { // the first event of each is another path
			pass()
		}
		c.Enqueue = append(c.Enqueue, figure(samples(rounds, pass)))
	}
	return c
}

// WriteCold writes the table for people.
func WriteCold(w io.Writer, all []Cold) error {
	fmt.Fprint(w, "An arrival at one of many queues, in random order: ns, median, and the bound\n\n")
	t := newTable(w)
	fmt.Fprint(t, "algorithm\t")
	for _, n := range Queues {
		fmt.Fprintf(t, "%d\tspread\tbound\tof it\t", n)
	}
	fmt.Fprintln(t)
	for _, c := range all {
		fmt.Fprintf(t, "%s\t", c.Algorithm)
		for i, f := range c.Enqueue {
			if c.Bound == nil {
				fmt.Fprintf(t, "%.1f\t%s\t\t\t", f.Median, f.spread())
				continue
			}
			fmt.Fprintf(t, "%.1f\t%s\t%.1f\t%.0f %%\t", f.Median, f.spread(), c.Bound[i], 100*f.Median/c.Bound[i])
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nThe bound is the cost with one queue, plus what two cache lines of as many queues take that are waited for, less those of one queue.\n")
	return err
}
