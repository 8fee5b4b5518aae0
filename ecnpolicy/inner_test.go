package ecnpolicy

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// Verdicts by their names.
var (
	pass       = aqm.Verdict{}
	markEarly  = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	markForced = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Forced}
	dropEarly  = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	dropForced = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	overflow   = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
)

// inner is an algorithm that says what reason tells it to, and remembers what it
// was shown and said.
type inner struct {
	reason func() aqm.Reason
	shown  []aqm.Packet
	said   []aqm.Verdict
}

// says returns an algorithm that always has the same reason.
func says(r aqm.Reason) *inner { return &inner{reason: func() aqm.Reason { return r }} }

// mostly returns an algorithm that has reason Early and Forced for a share of the
// packets each.
func mostly(seed uint64, early, forced float64) *inner {
	r := rand.New(rand.NewPCG(seed, 0))
	return &inner{reason: func() aqm.Reason {
		switch u := r.Float64(); {
		case u < early:
			return aqm.Early
		case u < early+forced:
			return aqm.Forced
		}
		return aqm.None
	}}
}

func (in *inner) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	r := in.reason()
	if q.Full {
		r = aqm.Overflow
	}
	return in.say(p, aqm.MarkOrDrop(p.ECN, r))
}

func (in *inner) Dequeue(_ aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	return in.say(p, aqm.MarkOrDrop(p.ECN, in.reason()))
}

func (in *inner) say(p aqm.Packet, v aqm.Verdict) aqm.Verdict {
	in.shown = append(in.shown, p)
	in.said = append(in.said, v)
	return v
}

func (in *inner) lastShown() aqm.Packet { return in.shown[len(in.shown)-1] }
func (in *inner) lastSaid() aqm.Verdict { return in.said[len(in.said)-1] }

// fixed is an algorithm that gives one verdict, whatever the contract says of it.
type fixed aqm.Verdict

func (f fixed) Enqueue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict(f) }
func (f fixed) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict(f) }

// around returns a Policy that must be right.
func around(t testing.TB, in aqm.AQM, c Config) *Policy {
	t.Helper()
	p, err := New(in, c)
	require.NoError(t, err)
	return p
}

// packet returns a packet of a size that its class suggests.
func packet(e aqm.ECN, c aqm.Class) aqm.Packet {
	p := aqm.Packet{Size: 40, ECN: e, Class: c}
	if c.Has(aqm.Data | aqm.Other) {
		p.Size = 1500
	}
	return p
}

// redlike drops and marks by the backlog at Enqueue: Early above 5 packets, one
// packet in three, and Forced above 30.
type redlike struct{ count int }

func (r *redlike) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	switch {
	case q.Full:
		return overflow
	case q.Packets > 30:
		return aqm.MarkOrDrop(p.ECN, aqm.Forced)
	case q.Packets > 5:
		if r.count++; r.count%3 == 0 {
			return aqm.MarkOrDrop(p.ECN, aqm.Early)
		}
	}
	return pass
}

func (*redlike) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return pass }

// codellike drops and marks by the sojourn time at Dequeue, every second packet that
// was queued for more than 2 ms.
type codellike struct{ count int }

func (*codellike) Enqueue(_ aqm.Time, _ aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Full {
		return overflow
	}
	return pass
}

func (c *codellike) Dequeue(now aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	if now.Sub(p.EnqueuedAt) > 2e6 {
		if c.count++; c.count%2 == 0 {
			return aqm.MarkOrDrop(p.ECN, aqm.Early)
		}
	}
	return pass
}
