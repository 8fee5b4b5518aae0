package record

import (
	"errors"
	"fmt"
	"io"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/serve"
)

// Options say how a recording is replayed.
type Options struct {
	// New returns the instance that a queue is replayed through, or nil to leave the
	// queue out.
	New func(queue int, h Header) (aqm.AQM, error)

	// Serve has the packets depart as from a link of the queue's rate, which is what
	// another algorithm needs: it keeps and drops other packets. Otherwise, and for a
	// queue without a rate, they depart at the recorded opportunities.
	Serve bool

	// Recorded and Replayed, unless nil, see the events of either run, each in its
	// order.
	Recorded, Replayed func(queue int, e Event)

	// Stop, unless nil, is asked now and then, and its error ends the replay.
	Stop func() error
}

// Result is what became of one queue.
type Result struct {
	Queue      int
	Header     Header
	Recorded   uint64      // events
	Replayed   uint64      // events
	Difference *Difference // nil if all events are equal
}

// Difference is the first event in which two runs are not equal. A run that has ended
// there has none.
type Difference struct {
	Index              uint64
	Recorded, Replayed *Event
}

// String returns the difference in words.
func (d *Difference) String() string {
	say := func(e *Event) string {
		if e == nil {
			return "nothing"
		}
		return fmt.Sprintf("%v at %d ns of %d bytes, %v, %v: %v", e.Kind, e.At, e.Packet.Size, e.Packet.ECN, e.Packet.Class, e.Verdict)
	}
	return fmt.Sprintf("event %d: recorded %s; replayed %s", d.Index, say(d.Recorded), say(d.Replayed))
}

// Replay reads the rest of a recording, and runs each queue's arrivals through the
// algorithm that o.New gives for it.
func Replay(r *Reader, o Options) ([]Result, error) {
	var runs []*run
	open := func() error {
		for len(runs) < r.Queues() {
			n := len(runs)
			run, err := newRun(n, r.Header(n), o)
			if err != nil {
				return fmt.Errorf("record: queue %d: %w", n, err)
			}
			runs = append(runs, run)
		}
		return nil
	}
	for n := 0; ; n++ {
		if o.Stop != nil && n%4096 == 0 {
			if err := o.Stop(); err != nil {
				return nil, fmt.Errorf("record: %w", err)
			}
		}
		number, e, err := r.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err := open(); err != nil {
			return nil, err
		}
		if err != nil {
			break
		}
		if run := runs[number]; run != nil {
			run.recorded(e)
		}
	}
	var results []Result
	for _, run := range runs {
		if run != nil {
			results = append(results, run.end())
		}
	}
	return results, nil
}

// run is one queue's replay.
type run struct {
	Result
	options Options
	last    Event // recorded
	ahead   bool  // whether unmatched holds replayed events
	// unmatched are the events of the run that is ahead of the other one, up to the
	// first difference.
	unmatched ring[Event]

	arrive func(Event)
	depart func(at aqm.Time) // an opportunity
	finish func(at aqm.Time) // the last event of the recording
}

func newRun(number int, h Header, o Options) (*run, error) {
	a, err := o.New(number, h)
	if err != nil || a == nil {
		return nil, err
	}
	r := &run{Result: Result{Queue: number, Header: h}, options: o}
	limits := aqm.FIFOConfig[struct{}]{LimitPackets: h.LimitPackets, LimitBytes: h.LimitBytes}
	a = tap{a, r.replayed}
	if o.Serve && h.Rate > 0 {
		link, err := serve.New(limits, h.Rate, a, func(struct{}, aqm.Packet, aqm.Time, aqm.Time) {})
		if err != nil {
			return nil, err
		}
		r.arrive = func(e Event) { link.Arrive(e.At, struct{}{}, e.Packet) }
		r.depart = func(aqm.Time) {}
		r.finish = link.Advance
		return r, nil
	}
	queue, err := aqm.NewFIFO(limits, a)
	if err != nil {
		return nil, err
	}
	r.arrive = func(e Event) { queue.Enqueue(e.At, struct{}{}, e.Packet) }
	r.depart = func(at aqm.Time) { queue.Dequeue(at) }
	r.finish = func(aqm.Time) {}
	return r, nil
}

// recorded takes the next event of the recording.
func (r *run) recorded(e Event) {
	if r.options.Recorded != nil {
		r.options.Recorded(r.Queue, e)
	}
	// What follows a dropped departure is of the same call of Dequeue.
	sameCall := r.last.Kind == Departure && r.last.Verdict.Action == aqm.Drop
	r.last = e
	switch {
	case e.Kind == Arrival:
		r.arrive(e)
	case !sameCall:
		r.depart(e.At)
	}
	r.match(e, false, r.Recorded)
	r.Recorded++
}

// replayed takes the next event of the replay.
func (r *run) replayed(e Event) {
	if r.options.Replayed != nil {
		r.options.Replayed(r.Queue, e)
	}
	r.match(e, true, r.Replayed)
	r.Replayed++
}

// match compares the event of that index with the other run's, now or when that comes.
func (r *run) match(e Event, replayed bool, index uint64) {
	if r.Difference != nil {
		return
	}
	if r.unmatched.len() == 0 || r.ahead == replayed {
		r.ahead = replayed
		r.unmatched.push(e)
		return
	}
	if other := r.unmatched.pop(); other != e {
		r.differ(index, e, other, replayed)
	}
}

func (r *run) differ(index uint64, e, other Event, replayed bool) {
	r.Difference = &Difference{Index: index, Recorded: &e, Replayed: &other}
	if replayed {
		r.Difference.Recorded, r.Difference.Replayed = &other, &e
	}
	r.unmatched = ring[Event]{}
}

func (r *run) end() Result {
	if r.Recorded > 0 {
		r.finish(r.last.At)
	}
	if r.Difference == nil && r.unmatched.len() > 0 {
		e := r.unmatched.pop()
		r.Difference = &Difference{Index: min(r.Recorded, r.Replayed), Recorded: &e}
		if r.ahead {
			r.Difference.Recorded, r.Difference.Replayed = nil, &e
		}
	}
	return r.Result
}
