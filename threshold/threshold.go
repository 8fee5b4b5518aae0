package threshold

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Threshold marks above a threshold. It implements aqm.AQM; use New.
type Threshold struct {
	packets int           // backlog above which an arrival is signalled; the largest int where unused
	bytes   int64         // likewise
	sojourn time.Duration // likewise, for a departure
	clock   aqm.Time      // largest now
	signals uint64
	config  Config
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
	t.config = c
	t.packets, t.bytes, t.sojourn = math.MaxInt, math.MaxInt64, math.MaxInt64
	switch {
	case c.Packets > 0:
		t.packets = c.Packets
	case c.Bytes > 0:
		t.bytes = c.Bytes
	default:
		t.sojourn = c.Sojourn
	}
	return nil
}

// State returns a snapshot.
func (t *Threshold) State() State { return State{Signals: t.signals} }

// Enqueue signals if the backlog is above Packets or Bytes.
func (t *Threshold) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	t.clock = max(t.clock, now)
	if q.Full || q.Packets > t.packets || q.Bytes > t.bytes { // DCTCP 3.1
		return t.signal(p, q.Full)
	}
	return aqm.Verdict{}
}

// Dequeue signals if the packet was queued for longer than Sojourn.
func (t *Threshold) Dequeue(now aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	t.clock = max(t.clock, now)
	if t.clock.Sub(p.EnqueuedAt) > t.sojourn {
		return t.signal(p, false)
	}
	return aqm.Verdict{}
}

// signal returns the verdict on a packet that is above the threshold or finds no
// room. It is out of line to keep the path of a passing packet free of its frame.
//
//go:noinline
func (t *Threshold) signal(p aqm.Packet, full bool) aqm.Verdict {
	if full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	t.signals++
	if !p.ECN.Capable() && !t.config.DropNotECT {
		return aqm.Verdict{}
	}
	return aqm.MarkOrDrop(p.ECN, aqm.Early)
}
