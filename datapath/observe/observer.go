package observe

import (
	"errors"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
)

// Observer is a decorator that counts. It implements aqm.AQM; use New.
type Observer struct {
	inner   aqm.AQM
	cell    atomic.Pointer[offer] // see meet
	ledger  *ledger               // the owner's
	clock   aqm.Time              // largest now
	due     aqm.Time              // of the next sample
	longest time.Duration
	lent    bool // the owner has put its ledger into cell
	tap     func(Event)

	gauges gauges
	given  chan *ledger // to the reader that waits, who is one at most
	config Config

	readers sync.Mutex // taken by readers alone; guards the rest
	fresh   *ledger
	total   Snapshot
}

// New returns an Observer around inner. The error lists all that is wrong with c, and
// with inner if it is nil, and wraps aqm.ErrConfig.
func New(inner aqm.AQM, c Config) (*Observer, error) {
	l := check.For("observe")
	v := reflect.ValueOf(inner) // a nil pointer is what a failed New returned
	l.Require(inner != nil && (v.Kind() != reflect.Pointer || !v.IsNil()), "inner", "nil", "", "an algorithm; aqm.TailDrop{} is a queue without one")
	if err := errors.Join(l.Err(), c.Validate()); err != nil {
		return nil, err
	}
	o := &Observer{
		inner: inner, clock: math.MinInt64, due: math.MaxInt64, longest: c.Longest, tap: c.Tap,
		gauges: gaugesOf(inner), given: make(chan *ledger, 1), config: c,
	}
	if c.Every > 0 {
		o.due = math.MinInt64
	}
	n := len(o.gauges.fields)
	o.ledger, o.fresh = c.newLedger(n), c.newLedger(n)
	o.total = Snapshot{Name: c.Name, Sojourn: c.newLedger(0).sojourn, Sample: Sample{Fields: o.gauges.fields, Values: make([]float64, n), Probability: math.NaN()}}
	o.lend()
	return o, nil
}

// Name returns the name of the queue.
func (o *Observer) Name() string { return o.config.Name }

// Unwrap returns the algorithm inside, the one given to New.
func (o *Observer) Unwrap() aqm.AQM { return o.inner }

// Enqueue has the algorithm judge an arrival, and counts it.
func (o *Observer) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	o.clock = max(o.clock, now)
	if o.cell.Load() != nil {
		o.meet()
	}
	v := o.inner.Enqueue(now, p, q)
	d := o.ledger
	e := &d.ecn[p.ECN&0b11]
	e.Packets++
	e.Bytes += uint64(p.Size)
	packets, bytes := int64(q.Packets), q.Bytes
	if v.Action == aqm.Pass && !q.Full {
		c := &d.counts[Enqueue][groups[p.Class]][aqm.Pass][aqm.None]
		c.Packets++
		c.Bytes += uint64(p.Size)
		packets, bytes = packets+1, bytes+int64(p.Size)
	} else if d.settle(Enqueue, v, p, q.Full) != aqm.Drop {
		packets, bytes = packets+1, bytes+int64(p.Size)
	}
	d.events++
	d.at, d.packets, d.bytes = o.clock, packets, bytes
	if o.tap != nil {
		o.tap(Event{Enqueue, now, p, q, carriedOut(v, p.ECN, q.Full)})
	}
	if o.clock > o.due {
		o.tick()
	}
	if packets <= 0 {
		o.lend()
	}
	return v
}

// Dequeue has the algorithm judge a departure, and counts it and how long it took.
func (o *Observer) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	o.clock = max(o.clock, now)
	if o.cell.Load() != nil {
		o.meet()
	}
	v := o.inner.Dequeue(now, p, q)
	d := o.ledger
	action := aqm.Pass
	if v.Action == aqm.Pass {
		c := &d.counts[Dequeue][groups[p.Class]][aqm.Pass][aqm.None]
		c.Packets++
		c.Bytes += uint64(p.Size)
	} else {
		action = d.settle(Dequeue, v, p, false)
	}
	if action != aqm.Drop {
		sojourn := min(max(o.clock.Sub(p.EnqueuedAt), 0), o.longest)
		d.waited += float64(sojourn)
		_ = d.sojourn.RecordValue(int64(sojourn)) // in range
	}
	d.events++
	d.at, d.packets, d.bytes = o.clock, int64(q.Packets), q.Bytes
	if o.tap != nil {
		o.tap(Event{Dequeue, now, p, q, carriedOut(v, p.ECN, false)})
	}
	if o.clock > o.due {
		o.tick()
	}
	if q.Packets <= 0 {
		o.lend()
	}
	return v
}

// settle counts a verdict that may be other than Pass, and returns what becomes of
// the packet.
//
//go:noinline
func (d *ledger) settle(end End, v aqm.Verdict, p aqm.Packet, full bool) aqm.Action {
	v = carriedOut(v, p.ECN, full)
	c := &d.counts[end][groups[p.Class]][v.Action][v.Reason]
	c.Packets++
	c.Bytes += uint64(p.Size)
	if v.Action == aqm.Mark && p.ECN&0b11 != aqm.CE {
		d.marked.Packets++
		d.marked.Bytes += uint64(p.Size)
	}
	return v.Action
}

// carriedOut returns what a queue makes of a verdict.
func carriedOut(v aqm.Verdict, e aqm.ECN, full bool) aqm.Verdict {
	switch {
	case full:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	case v.Action == aqm.Pass, v.Action >= aqm.NumActions, v.Reason >= aqm.NumReasons,
		v.Action == aqm.Mark && !e.Capable():
		return aqm.Verdict{}
	}
	return v
}

// Idle tells that there may be no event for a while, and what is queued, so that
// readers need not wait for one. It belongs to the owner. A queue that Dequeue has left
// empty is idle without it; after a Flush, or before a wait for a link that stands
// still, it is worth its few nanoseconds.
func (o *Observer) Idle(now aqm.Time, q aqm.Occupancy) {
	o.clock = max(o.clock, now)
	if o.cell.Load() != nil {
		o.meet()
	}
	d := o.ledger
	d.events++
	d.at, d.packets, d.bytes = o.clock, int64(q.Packets), q.Bytes
	if o.clock > o.due {
		o.tick()
	}
	o.lend()
}

// meet is called by the owner when there is something in the cell: the ledger that it
// has lent, or an empty one that a reader has put there in exchange for that, or an
// empty one of a reader who waits for the owner's.
//
//go:noinline
func (o *Observer) meet() {
	if o.lent {
		o.lent = false
		// It is not nil: a reader takes one out only by putting another one in.
		o.ledger = o.cell.Swap(nil).ledger
		return
	}
	ask := o.cell.Swap(nil)
	if ask == nil {
		return // the reader has waited long enough
	}
	d := o.ledger
	o.ledger = ask.ledger
	o.sample(&d.sample)
	d.hasSample = true
	o.given <- d // has room for the one reader there is
}

// lend puts the owner's ledger into the cell.
//
//go:noinline
func (o *Observer) lend() {
	for !o.cell.CompareAndSwap(nil, &o.ledger.loan) {
		o.meet() // a reader waits, and is gone before another comes
	}
	o.lent = true
}

// tick takes a sample that is due.
//
//go:noinline
func (o *Observer) tick() {
	o.due = o.clock.Add(o.config.Every - 1)
	d := o.ledger
	o.sample(&d.sample)
	d.hasSample = true
	if o.config.Samples != nil {
		s := d.sample
		s.Fields = o.gauges.fields
		s.Packets, s.Bytes = d.packets, d.bytes
		o.config.Samples(s)
	}
}
