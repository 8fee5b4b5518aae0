package threshold

import (
	"math"

	"github.com/aqmkit/aqmkit/aqm"
)

// Threshold marks above a threshold. It implements aqm.AQM; use New.
type Threshold struct {
	packets int         // backlog above which an arrival is signalled; the largest int where unused
	bytes   int64       // likewise
	sojourn uint64      // likewise, for a departure; ns
	clock   aqm.Time    // largest now
	notECT  aqm.Verdict // what a signal does to a packet that is not ECN-capable
	signals uint64
}

// State is a snapshot of a Threshold, as of the last event.
type State struct {
	Signals uint64 // packets found above the threshold, marked, dropped or passed
}

// New returns a Threshold. The error lists all that is wrong with c.
func New(c Config) (*Threshold, error) {
	t := &Threshold{clock: math.MinInt64}
	if err := t.Reconfigure(c); err != nil {
		return nil, err
	}
	return t, nil
}

// Reconfigure replaces the configuration. After an error the old one stands.
func (t *Threshold) Reconfigure(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	t.packets, t.bytes, t.sojourn = math.MaxInt, math.MaxInt64, math.MaxUint64
	switch {
	case c.Packets > 0:
		t.packets = c.Packets
	case c.Bytes > 0:
		t.bytes = c.Bytes
	case c.Sojourn < math.MaxInt64: // no gap is longer than the largest Duration: gaps saturate
		t.sojourn = uint64(c.Sojourn)
	}
	t.notECT = aqm.Verdict{}
	if c.DropNotECT {
		t.notECT = aqm.MarkOrDrop(aqm.NotECT, aqm.Early)
	}
	return nil
}

// State returns a snapshot.
func (t *Threshold) State() State { return State{Signals: t.signals} }

// Enqueue signals if the backlog is above Packets or Bytes.
func (t *Threshold) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now > t.clock { // a branch: the next call's time need not wait for this one's
		t.clock = now
	}
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	if q.Packets > t.packets || q.Bytes > t.bytes { // DCTCP 3.1
		return t.signal(p.ECN)
	}
	return aqm.Verdict{}
}

// Dequeue signals if the packet was queued for longer than Sojourn.
func (t *Threshold) Dequeue(now aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	if now > t.clock {
		t.clock = now
	} else {
		now = t.clock
	}
	if now > p.EnqueuedAt && uint64(now)-uint64(p.EnqueuedAt) > t.sojourn { // no overflow, whatever the two are
		return t.signal(p.ECN)
	}
	return aqm.Verdict{}
}

// signal returns the verdict on a packet above the threshold. It is inlined: without
// a call Enqueue and Dequeue need no frame.
func (t *Threshold) signal(e aqm.ECN) aqm.Verdict {
	t.signals++
	if e.Capable() {
		return aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	}
	return t.notECT
}
