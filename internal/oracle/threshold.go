package oracle

import (
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Threshold is marking at a threshold as DCTCP (SIGCOMM 2010) section 3.1 says it:
// "if the queue occupancy is greater than K upon its arrival, a packet is marked
// with the CE codepoint".
type Threshold struct {
	Packets    int
	Bytes      int64
	Sojourn    time.Duration
	DropNotECT bool

	clock aqm.Time // largest now, once there was one
	seen  bool
}

// Enqueue judges an arrival.
func (t *Threshold) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	t.look(now)
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	over := false
	if t.Packets != 0 && q.Packets > t.Packets {
		over = true
	}
	if t.Bytes != 0 && q.Bytes > t.Bytes {
		over = true
	}
	return t.answer(over, p)
}

// Dequeue judges a departure.
func (t *Threshold) Dequeue(now aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	t.look(now)
	over := false
	if t.Sojourn != 0 && t.clock.Sub(p.EnqueuedAt) > t.Sojourn {
		over = true
	}
	return t.answer(over, p)
}

func (t *Threshold) look(now aqm.Time) {
	if !t.seen || now > t.clock {
		t.clock = now
	}
	t.seen = true
}

func (t *Threshold) answer(over bool, p aqm.Packet) aqm.Verdict {
	switch {
	case !over:
		return aqm.Verdict{}
	case p.ECN != aqm.NotECT:
		return aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	case t.DropNotECT:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	}
	return aqm.Verdict{}
}
