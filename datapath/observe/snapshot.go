package observe

import (
	"context"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aqmkit/aqmkit/aqm"
)

// Snapshot is all that has happened up to an instant between two events, since the
// Observer's beginning.
type Snapshot struct {
	Name string
	At   aqm.Time // of the last event; meaningless before the first

	Counts Counts
	ECN    [4]aqm.Count // arrivals by codepoint
	Marked aqm.Count    // turned from ECT to CE at either end; a mark on CE is none

	Packets, Bytes int64 // in the queue

	Sojourn *hdrhistogram.Histogram // of the packets that left the queue undropped, ns
	Waited  float64                 // their sojourn times added up, s

	Sample Sample // the last
}

// Arrived returns what was offered to the queue.
func (s *Snapshot) Arrived() aqm.Count { return s.sum(Enqueue, aqm.Pass, aqm.Mark, aqm.Drop) }

// Dropped returns what was dropped at either end.
func (s *Snapshot) Dropped() aqm.Count {
	c := s.sum(Enqueue, aqm.Drop)
	d := s.sum(Dequeue, aqm.Drop)
	return aqm.Count{Packets: c.Packets + d.Packets, Bytes: c.Bytes + d.Bytes}
}

// Delivered returns what has left the queue undropped.
func (s *Snapshot) Delivered() aqm.Count { return s.sum(Dequeue, aqm.Pass, aqm.Mark) }

func (s *Snapshot) sum(end End, actions ...aqm.Action) (c aqm.Count) {
	for g := range s.Counts[end] {
		for _, a := range actions {
			for _, n := range s.Counts[end][g][a] {
				c.Packets += n.Packets
				c.Bytes += n.Bytes
			}
		}
	}
	return c
}

// Snapshot returns what has happened so far. It may be called by any goroutine.
//
// While the queue has packets it waits for the next event. If ctx ends before that,
// the error is ctx's and the snapshot the one of the call before; nothing is lost.
func (o *Observer) Snapshot(ctx context.Context) (*Snapshot, error) {
	o.readers.Lock()
	defer o.readers.Unlock()
	var err error
	ask := &o.fresh.ask
	if loan := o.cell.Swap(ask); loan != nil {
		o.take(loan.ledger)
	} else {
		select {
		case d := <-o.given:
			o.take(d)
		case <-ctx.Done():
			if o.cell.CompareAndSwap(ask, nil) {
				err = ctx.Err()
			} else { // the owner has just picked it up
				o.take(<-o.given)
			}
		}
	}
	s := o.total
	s.Sojourn = s.Sojourn.Clone()
	s.Sample.Values = slices.Clone(s.Sample.Values)
	s.Sample.Packets, s.Sample.Bytes = s.Packets, s.Bytes
	return &s, err
}

// take adds a ledger that was handed over, and keeps it for the next reader to bring.
func (o *Observer) take(d *ledger) {
	t := &o.total
	for end := range t.Counts {
		for g := range t.Counts[end] {
			for a := range t.Counts[end][g] {
				for r := range t.Counts[end][g][a] {
					add(&t.Counts[end][g][a][r], d.counts[end][g][a][r])
				}
			}
		}
	}
	for e := range t.ECN {
		add(&t.ECN[e], d.ecn[e])
	}
	add(&t.Marked, d.marked)
	t.Sojourn.Merge(d.sojourn)
	t.Waited += d.waited / 1e9
	if d.events > 0 {
		t.At, t.Packets, t.Bytes = d.at, d.packets, d.bytes
	}
	if d.hasSample {
		t.Sample.At, t.Sample.Probability = d.sample.At, d.sample.Probability
		copy(t.Sample.Values, d.sample.Values)
	}
	d.reset()
	o.fresh = d
}

func add(c *aqm.Count, d aqm.Count) {
	c.Packets += d.Packets
	c.Bytes += d.Bytes
}
