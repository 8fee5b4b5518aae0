package cost

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// Queues is how many queues the cold measurements have.
var Queues = []int{1, 1_000, 100_000, 1_000_000}

// Cold is what both decisions cost where each packet is for another of many queues,
// in random order, for each of Queues.
type Cold struct {
	Algorithm string   `json:"algorithm"`
	Both      []Figure `json:"both_ns"`
	// Bounds on Both: the algorithm's cost with one queue, and what two cache lines of
	// as many queues take more than those of one. Overlapped is where they are touched
	// as an algorithm is asked, while the processor is at other queues already;
	// WaitedFor is where nothing else goes on.
	Overlapped []float64 `json:"bound_overlapped_ns"`
	WaitedFor  []float64 `json:"bound_waited_for_ns"`
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
	steps := newSteps(len(names)+3, progress)
	steps.next("the floor")
	noop := cold("no-op AQM", rounds, func() aqm.AQM {
		return new(struct {
			regime.Noop
			_ [128]byte
		})
	})
	steps.next("two cache lines")
	touch := cold("two lines, touched", rounds, func() aqm.AQM { return new(lines) })
	steps.next("two cache lines, waited for")
	wait := Cold{Algorithm: "two lines, waited for"}
	for _, n := range Queues {
		wait.Both = append(wait.Both, misses(n, rounds))
	}
	all := []Cold{noop, touch, wait}
	for i := range all {
		all[i].Overlapped, all[i].WaitedFor = []float64{}, []float64{}
	}
	for _, name := range names {
		steps.next(name)
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
		hot := c.Both[0].Median
		for j := range Queues {
			c.Overlapped = append(c.Overlapped, hot+touch.Both[j].Median-touch.Both[0].Median)
			c.WaitedFor = append(c.WaitedFor, hot+wait.Both[j].Median-wait.Both[0].Median)
		}
		all = append(all, c)
	}
	return all, nil
}

// cold measures an arrival at a short queue and a departure from it that has waited a
// microsecond, a nanosecond after the last, so that no timer runs.
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
				a, p, q := queues[at], aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}, aqm.Occupancy{Packets: 2, Bytes: 3000}
				a.Enqueue(now, p, q)
				p.EnqueuedAt = now - aqm.Time(time.Microsecond)
				a.Dequeue(now, p, q)
				if at++; at == n {
					at = 0
				}
			}
		}
		for range n/packets + 1 { // the first event of each is another path
			pass()
		}
		c.Both = append(c.Both, figure(samples(rounds, pass)))
	}
	return c
}

// WriteCold writes the table for people.
func WriteCold(w io.Writer, all []Cold) error {
	fmt.Fprint(w, "An arrival and a departure at one of many queues, in random order: ns, median, spread, and what it would be with two cache lines' misses\n\n")
	t := newTable(w)
	fmt.Fprint(t, "algorithm\t")
	for _, n := range Queues {
		fmt.Fprintf(t, "%d\tspread\toverlapped\twaited for\t", n)
	}
	fmt.Fprintln(t)
	for _, c := range all {
		fmt.Fprintf(t, "%s\t", c.Algorithm)
		for i, f := range c.Both {
			fmt.Fprintf(t, "%.1f\t%s\t", f.Median, f.spread())
			if len(c.Overlapped) == 0 {
				fmt.Fprint(t, "\t\t")
				continue
			}
			fmt.Fprintf(t, "%.1f\t%.1f\t", c.Overlapped[i], c.WaitedFor[i])
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nBoth bounds are the cost with one queue, plus what two cache lines of as many queues take, less those of one: overlapped, as they are touched while other queues are asked; waited for, one queue after the other.\n")
	return err
}
