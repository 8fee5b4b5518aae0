package planted

import (
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
)

// thresholds are K in packets, in bytes, and in time.
var thresholds = []oracle.Threshold{{Packets: 10}, {Bytes: 9000}, {Sojourn: 2 * time.Millisecond, DropNotECT: true}}

func thresholdFamily() family {
	return family{
		name: "threshold",
		model: func(fault string, variant int, _ rand.Source) aqm.AQM {
			c := &thresholds[variant]
			return &thresholdModel{fault: fault, packets: c.Packets, bytes: c.Bytes, sojourn: c.Sojourn, dropNotECT: c.DropNotECT}
		},
		oracle: func(variant int, _ rand.Source) aqm.AQM {
			o := thresholds[variant]
			return &o
		},
		variants: 3, checked: []int{0, 2}, period: 200 * time.Microsecond, limit: 40,
		faults: []fault{
			by("at K"),
			by("the arriving packet counts"),
			by("the sojourn time in 32 bits"),
			by("the sojourn time by every now", "time-backwards"),
			by("NotECT is dropped"),
			by("CE is not signalled again"),
			by("a full buffer is K", "overflow"),
			by("bytes in 16 bits"),
			by("a signal pauses the next"),
			contract("reads EnqueuedAt in Enqueue", "unset-fields"),
		},
	}
}

type thresholdModel struct {
	fault      string
	packets    int
	bytes      int64
	sojourn    time.Duration
	dropNotECT bool

	clock   aqm.Time
	started bool
	paused  bool
}

func (t *thresholdModel) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	t.tick(now)
	packets, bytes := q.Packets, q.Bytes
	switch t.fault {
	case "at K":
		packets++
	case "the arriving packet counts":
		bytes += int64(p.Size)
	case "bytes in 16 bits":
		bytes = int64(uint16(bytes))
	case "reads EnqueuedAt in Enqueue":
		if now.Sub(p.EnqueuedAt) > time.Minute {
			packets = 0
		}
	}
	above := t.packets > 0 && packets > t.packets || t.bytes > 0 && bytes > t.bytes
	if q.Full && !(t.fault == "a full buffer is K" && above) {
		return overflow
	}
	return t.answer(above, p)
}

func (t *thresholdModel) Dequeue(now aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	t.tick(now)
	stay := t.clock.Sub(p.EnqueuedAt)
	switch t.fault {
	case "the sojourn time in 32 bits":
		stay = time.Duration(uint32(stay))
	case "the sojourn time by every now":
		stay = now.Sub(p.EnqueuedAt)
	}
	return t.answer(t.sojourn > 0 && stay > t.sojourn, p)
}

func (t *thresholdModel) tick(now aqm.Time) {
	if !t.started || now > t.clock {
		t.started, t.clock = true, now
	}
}

func (t *thresholdModel) answer(above bool, p aqm.Packet) aqm.Verdict {
	if t.fault == "a signal pauses the next" && above {
		if t.paused = !t.paused; !t.paused {
			return pass
		}
	}
	switch {
	case !above:
		return pass
	case p.ECN == aqm.CE && t.fault == "CE is not signalled again":
		return pass
	case p.ECN == aqm.NotECT && !t.dropNotECT && t.fault != "NotECT is dropped":
		return pass
	}
	return aqm.MarkOrDrop(p.ECN, aqm.Early)
}
