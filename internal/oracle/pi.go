package oracle

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// PI is the controller of Hollot et al. (INFOCOM 2001), with a timer that runs, and
// PI squared, the base law of RFC 9332 appendix A.1.
type PI struct {
	A, B, QRef  float64
	Interval    time.Duration
	Unit        aqm.Unit
	MeanPacket  uint32
	Squared     bool
	ScaleBySize bool
	MaxECN      float64
	Rand        rand.Source

	P     float64 // p, or p' where squared
	QOld  float64
	Ticks uint64

	delay   float64 // seconds
	clock   aqm.Time
	next    aqm.Time
	started bool
	over    bool // next is beyond the end of time
}

// Reconfigure goes on with the parameters of c, but for its Rand. The probability of
// a signal stays, and so does the last tick, one period after which comes the next.
// In another unit, the queue stood where it did in proportion to the reference.
func (o *PI) Reconfigure(c *PI) {
	if c.Unit != o.Unit {
		o.QOld = o.QOld * (c.QRef / o.QRef)
		o.delay = 0
	}
	if c.Squared && !o.Squared {
		o.P = math.Sqrt(o.P)
	}
	if !c.Squared && o.Squared {
		o.P = o.P * o.P
	}
	if o.started && !o.over {
		o.arm(o.next-aqm.Time(o.Interval), c.Interval)
	}
	o.A, o.B, o.QRef, o.Interval, o.Unit = c.A, c.B, c.QRef, c.Interval, c.Unit
	o.MeanPacket, o.Squared, o.ScaleBySize, o.MaxECN = c.MeanPacket, c.Squared, c.ScaleBySize, c.MaxECN
}

// Enqueue judges an arrival.
func (o *PI) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Packets <= 0 {
		o.delay = 0
	}
	o.pass(now, float64(q.Packets), float64(q.Bytes))
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	prob := o.P
	if o.Squared {
		prob = o.P * o.P
	}
	forced := o.MaxECN != 0 && prob >= o.MaxECN
	if o.ScaleBySize {
		prob = prob * float64(p.Size) / float64(o.MeanPacket)
		if prob > 1 {
			prob = 1
		}
	}
	if prob < 1.0/(1<<53) {
		return aqm.Verdict{} // no u is as small: nothing is drawn
	}
	u := float64(o.Rand.Uint64()>>11+1) / (1 << 53) // (0, 1]
	switch {
	case u > prob:
		return aqm.Verdict{}
	case forced:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	case p.ECN == aqm.NotECT:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	}
	return aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
}

// Dequeue sees a departure.
func (o *PI) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	o.pass(now, float64(q.Packets)+1, float64(q.Bytes)+float64(p.Size))
	if q.Packets <= 0 {
		o.delay = 0
	} else {
		// In whole nanoseconds first: a float64 has no room for them past 2^53.
		o.delay = float64(o.clock.Sub(p.EnqueuedAt)) / 1e9
		if o.delay < 0 {
			o.delay = 0
		}
	}
	return aqm.Verdict{}
}

// pass lets the time pass until now, with a backlog that has not changed.
func (o *PI) pass(now aqm.Time, packets, bytes float64) {
	if !o.started {
		o.started, o.clock = true, now
		o.arm(now, o.Interval)
		return
	}
	if now < o.clock {
		now = o.clock
	}
	o.clock = now
	q := packets
	if o.Unit == aqm.Bytes {
		q = bytes
	}
	if o.Unit == aqm.Delay {
		q = o.delay
	}
	for !o.over && o.next <= now {
		before, old := o.P, o.QOld
		o.tick(q)
		o.arm(o.next, o.Interval)
		if o.P == before && q == old {
			// And so will all that follow: count them.
			if !o.over && o.next <= now {
				n := (now - o.next) / aqm.Time(o.Interval)
				o.Ticks += uint64(n) + 1
				o.arm(o.next+n*aqm.Time(o.Interval), o.Interval)
			}
		}
	}
}

// arm sets the timer to an interval after last.
func (o *PI) arm(last aqm.Time, interval time.Duration) {
	if o.over = last > math.MaxInt64-aqm.Time(interval); !o.over {
		o.next = last + aqm.Time(interval)
	}
}

// tick is the difference equation of the paper's digital implementation.
func (o *PI) tick(q float64) {
	o.Ticks++
	o.P = o.A*(q-o.QRef) - o.B*(o.QOld-o.QRef) + o.P
	if o.P < 0 {
		o.P = 0
	}
	if o.P > 1 {
		o.P = 1
	}
	o.QOld = q
}
