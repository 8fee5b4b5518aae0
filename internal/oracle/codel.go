package oracle

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// CoDelQueue is the CoDelQueue of RFC 8289 section 5: a queue that drops in its
// dequeue routine, transcribed with its loops, its names and its comments' cases.
// It is a queue and not an aqm.AQM because the RFC's algorithm is one; see CoDel. Not
// in the RFC, and marked below: ECN, the CE threshold and the bound on drops.
type CoDelQueue struct {
	Target, Interval time.Duration // TARGET, INTERVAL
	MaxPacket        int64         // maxpacket_
	CEThreshold      time.Duration // 0 = off
	MaxDrops         int           // 0 = no bound

	// Section 5.2, per-queue state.
	firstAboveTime *aqm.Time // nil for the RFC's 0, "no time set"
	dropNext       aqm.Time
	count          uint64
	lastCount      uint64
	dropping       bool

	queue []CoDelPacket
	clock *aqm.Time

	Resumed, Bounded int // how often the dropping state resumed a count, and MaxDrops stopped the loop
}

// CoDelPacket is a packet in a CoDelQueue.
type CoDelPacket struct {
	ID     int
	Size   uint32
	ECN    aqm.ECN
	TStamp aqm.Time // tstamp
}

// CoDelResult is what became of the packets that one Dequeue took.
type CoDelResult struct {
	Delivered *CoDelPacket // nil if the queue was empty, or was emptied by drops
	Marked    bool
	Dropped   []int
	Sojourn   time.Duration // of the packet delivered
}

// Vars returns count_, lastcount_, drop_next_ and dropping_.
func (q *CoDelQueue) Vars() (count, lastCount uint64, dropNext aqm.Time, dropping bool) {
	return q.count, q.lastCount, q.dropNext, q.dropping
}

// now is the RFC's clock(), which does not run backwards.
func (q *CoDelQueue) now(t aqm.Time) aqm.Time {
	if q.clock == nil || t > *q.clock {
		q.clock = &t
	}
	return *q.clock
}

func (q *CoDelQueue) bytes() int64 {
	sum := int64(0)
	for _, p := range q.queue {
		sum += int64(p.Size)
	}
	return sum
}

// Enqueue is section 5.4, for a packet that there is room for. The caller says when
// it came in.
func (q *CoDelQueue) Enqueue(t aqm.Time, p CoDelPacket) {
	q.now(t)
	q.queue = append(q.queue, p)
}

// Flush takes all packets at once. It stands for a dequeue routine that runs until
// the queue is empty without dropping.
func (q *CoDelQueue) Flush() {
	q.queue = nil
	q.firstAboveTime = nil
	q.dropping = false
}

type doDequeueResult struct {
	p        *CoDelPacket
	okToDrop bool
}

// Dequeue is section 5.5.
func (q *CoDelQueue) Dequeue(t aqm.Time) CoDelResult {
	now := q.now(t)
	var out CoDelResult
	drop := func(p *CoDelPacket) { out.Dropped = append(out.Dropped, p.ID) }
	r := q.doDequeue(now)

	if q.dropping {
		if !r.okToDrop {
			// sojourn time below TARGET - leave drop state
			q.dropping = false
		}
		for now >= q.dropNext && q.dropping {
			if q.MaxDrops != 0 && len(out.Dropped) == q.MaxDrops { // not in the RFC
				q.Bounded++
				break
			}
			if r.p.ECN != aqm.NotECT { // not in the RFC
				out.Marked = true
				q.count++
				q.dropNext = q.controlLaw(q.dropNext, q.count)
				break
			}
			drop(r.p)
			q.count++
			r = q.doDequeue(now)
			if !r.okToDrop {
				// leave drop state
				q.dropping = false
			} else {
				// schedule the next drop
				q.dropNext = q.controlLaw(q.dropNext, q.count)
			}
		}
	} else if r.okToDrop {
		if r.p.ECN != aqm.NotECT { // not in the RFC
			out.Marked = true
		} else {
			drop(r.p)
			r = q.doDequeue(now)
		}
		q.dropping = true
		delta := q.count - q.lastCount
		q.count = 1
		if delta > 1 && now.Sub(q.dropNext) < 16*q.Interval {
			q.count = delta
			q.Resumed++
		}
		q.dropNext = q.controlLaw(now, q.count)
		q.lastCount = q.count
	}

	if r.p == nil {
		return out
	}
	out.Sojourn = now.Sub(r.p.TStamp)
	if q.CEThreshold != 0 && out.Sojourn > q.CEThreshold && r.p.ECN != aqm.NotECT { // not in the RFC
		out.Marked = true
	}
	if out.Marked {
		r.p.ECN = aqm.CE
	}
	out.Delivered = r.p
	return out
}

// controlLaw is control_law of section 5.6, with time_t in whole nanoseconds.
func (q *CoDelQueue) controlLaw(t aqm.Time, count uint64) aqm.Time {
	return t.Add(time.Duration(float64(q.Interval) / math.Sqrt(float64(count))))
}

// doDequeue is dodequeue of section 5.6.
func (q *CoDelQueue) doDequeue(now aqm.Time) doDequeueResult {
	var r doDequeueResult
	if len(q.queue) == 0 {
		// queue is empty - we can't be above TARGET
		q.firstAboveTime = nil
		return r
	}
	p := q.queue[0]
	q.queue = q.queue[1:]
	r.p = &p

	sojournTime := now.Sub(p.TStamp)
	if sojournTime < q.Target || q.bytes() <= q.MaxPacket {
		// went below - stay below for at least INTERVAL
		q.firstAboveTime = nil
	} else if q.firstAboveTime == nil {
		// just went above from below. if still above at first_above_time, will say
		// it's ok to drop.
		above := now.Add(q.Interval)
		q.firstAboveTime = &above
	} else if now >= *q.firstAboveTime {
		r.okToDrop = true
	}
	return r
}

// CoDel is a CoDelQueue in the place of an algorithm: it holds the packets that the
// caller's queue holds. When the first packet of a dequeue is judged it runs the
// whole of the RFC's routine, and says of each packet what came of it.
//
// An arrival's EnqueuedAt is read in Enqueue, where it has to be set.
type CoDel struct {
	CoDelQueue

	arrived int
	answers []aqm.Verdict // for the packets of a dequeue that are still to come
}

// Settled reports whether the caller has asked about all packets of a dequeue.
func (c *CoDel) Settled() bool { return len(c.answers) == 0 }

// Enqueue takes an arrival into the queue.
func (c *CoDel) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Packets == 0 && len(c.queue) > 0 { // the caller's queue was emptied
		c.Flush()
	}
	if q.Full {
		c.now(now)
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	c.CoDelQueue.Enqueue(now, CoDelPacket{ID: c.arrived, Size: p.Size, ECN: p.ECN, TStamp: p.EnqueuedAt})
	c.arrived++
	return aqm.Verdict{}
}

// Dequeue says what came of a packet.
func (c *CoDel) Dequeue(now aqm.Time, _ aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	if len(c.answers) == 0 {
		r := c.CoDelQueue.Dequeue(now)
		for range r.Dropped {
			c.answers = append(c.answers, aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early})
		}
		switch {
		case r.Marked:
			c.answers = append(c.answers, aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early})
		case r.Delivered != nil:
			c.answers = append(c.answers, aqm.Verdict{})
		}
	}
	if len(c.answers) == 0 { // a dequeue from a queue that is empty
		return aqm.Verdict{}
	}
	v := c.answers[0]
	c.answers = c.answers[1:]
	return v
}
