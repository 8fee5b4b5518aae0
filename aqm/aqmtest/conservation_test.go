package aqmtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// faultyQueue is a queue with a fault: no AQM can make an aqm.FIFO lose an item, so
// the kit's bookkeeping is tried on queues that do.
type faultyQueue struct {
	queue
	enqueue func(queue, aqm.Time, *item, aqm.Packet) aqm.Verdict
	dequeue func(queue, aqm.Time) (*item, aqm.Packet, bool)
	flush   func(queue, func(*item, aqm.Packet))
	stats   func(aqm.Stats) aqm.Stats
	bytes   func(int64) int64
}

func (f faultyQueue) Enqueue(now aqm.Time, it *item, p aqm.Packet) aqm.Verdict {
	if f.enqueue != nil {
		return f.enqueue(f.queue, now, it, p)
	}
	return f.queue.Enqueue(now, it, p)
}

func (f faultyQueue) Dequeue(now aqm.Time) (*item, aqm.Packet, bool) {
	if f.dequeue != nil {
		return f.dequeue(f.queue, now)
	}
	return f.queue.Dequeue(now)
}

func (f faultyQueue) Flush(release func(*item, aqm.Packet)) {
	if f.flush != nil {
		f.flush(f.queue, release)
		return
	}
	f.queue.Flush(release)
}

func (f faultyQueue) Stats() aqm.Stats {
	s := f.queue.Stats()
	if f.stats != nil {
		s = f.stats(s)
	}
	return s
}

func (f faultyQueue) Bytes() int64 {
	if f.bytes != nil {
		return f.bytes(f.queue.Bytes())
	}
	return f.queue.Bytes()
}

func TestConservationFindsFaultyQueues(t *testing.T) {
	var held *item
	for _, tc := range []struct {
		name, says string
		fault      faultyQueue
		onDrop     func(dropFunc) dropFunc
	}{
		{name: "none"},
		{
			name: "loses an item", says: "Dequeue finds no packet, though 1 are queued",
			fault: faultyQueue{dequeue: func(q queue, now aqm.Time) (*item, aqm.Packet, bool) {
				q.Dequeue(now)
				return q.Dequeue(now)
			}},
		},
		{
			name: "has no packet", says: "Dequeue finds no packet, though",
			fault: faultyQueue{dequeue: func(q queue, now aqm.Time) (*item, aqm.Packet, bool) { return nil, aqm.Packet{}, false }},
		},
		{
			name: "delivers an item again", says: "an item comes out that is not the oldest",
			fault: faultyQueue{dequeue: func(q queue, now aqm.Time) (*item, aqm.Packet, bool) {
				it, p, ok := q.Dequeue(now)
				if held == nil {
					held = it
				}
				if ok {
					it = held
				}
				return it, p, ok
			}},
		},
		{
			name: "says Drop and keeps the packet", says: "packets and",
			fault: faultyQueue{enqueue: func(q queue, now aqm.Time, it *item, p aqm.Packet) aqm.Verdict {
				q.Enqueue(now, it, p)
				return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
			}},
		},
		{
			name: "forgets to flush", says: "packets are left after Flush",
			fault: faultyQueue{flush: func(queue, func(*item, aqm.Packet)) {}},
		},
		{
			name: "drops without OnDrop", says: "an item comes out that is not the oldest",
			onDrop: func(dropFunc) dropFunc { return nil },
		},
		{
			name: "calls OnDrop twice", says: "an item comes out that is not the oldest",
			onDrop: func(f dropFunc) dropFunc {
				return func(it *item, p aqm.Packet, v aqm.Verdict) { f(it, p, v); f(it, p, v) }
			},
		},
		{
			name: "calls OnDrop with another verdict", says: "Mark/Early given to OnDrop",
			onDrop: func(f dropFunc) dropFunc {
				return func(it *item, p aqm.Packet, _ aqm.Verdict) {
					f(it, p, aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early})
				}
			},
		},
		{
			name: "marks NotECT", says: "comes out as",
			fault: faultyQueue{dequeue: func(q queue, now aqm.Time) (*item, aqm.Packet, bool) {
				it, p, ok := q.Dequeue(now)
				p.ECN = aqm.CE
				return it, p, ok
			}},
		},
		{
			name: "clears CE", says: "comes out as",
			fault: faultyQueue{dequeue: func(q queue, now aqm.Time) (*item, aqm.Packet, bool) {
				it, p, ok := q.Dequeue(now)
				if p.ECN == aqm.CE {
					p.ECN = aqm.ECT0
				}
				return it, p, ok
			}},
		},
		{
			name: "has one byte too many", says: "bytes are queued, and the queue says",
			fault: faultyQueue{bytes: func(n int64) int64 { return n + min(n, 1) }},
		},
		{
			name: "counts no drops", says: "Arrived is not Refused + Delivered + Dropped + Flushed + queued",
			fault: faultyQueue{stats: func(s aqm.Stats) aqm.Stats { s.Dropped = aqm.Count{}; return s }},
		},
		{
			name: "counts a drop as delivered", says: "Stats are",
			fault: faultyQueue{stats: func(s aqm.Stats) aqm.Stats {
				s.Delivered.Packets += s.Dropped.Packets
				s.Delivered.Bytes += s.Dropped.Bytes
				s.Dropped = aqm.Count{}
				return s
			}},
		},
		{
			name: "counts no marks", says: "Stats are",
			fault: faultyQueue{stats: func(s aqm.Stats) aqm.Stats { s.Marked = aqm.Count{}; return s }},
		},
		{
			name: "forgets a verdict", says: "the AQM answered Mark/Early at Enqueue once, and the queue carried it out 0 times",
			fault: faultyQueue{stats: func(s aqm.Stats) aqm.Stats { s.AtEnqueue[aqm.Mark][aqm.Early] = 0; return s }},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plant := func(c *config) {
				c.queue = func(limit limits, a *recorder, onDrop dropFunc) (queue, error) {
					held = nil
					if tc.onDrop != nil {
						onDrop = tc.onDrop(onDrop)
					}
					q, err := newFIFO(limit, a, onDrop)
					f := tc.fault
					f.queue = q
					return f, err
				}
			}
			err := Check(goodAQMs["red"], Only("conservation"), Packets(3000), plant)
			if tc.says == "" {
				assert.NoError(t, err)
				return
			}
			require.Equal(t, []string{"conservation"}, broken(err))
			assert.ErrorContains(t, err, tc.says)
		})
	}
}
