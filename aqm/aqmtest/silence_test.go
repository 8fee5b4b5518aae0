package aqmtest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// undecayed is red's Enqueue but for what it makes of idle time.
func undecayed(decay func(r *red, now aqm.Time)) MakeAQM {
	average := func(r *red, now aqm.Time, q aqm.Occupancy) {
		r.clock = max(r.clock, now)
		if q.Packets <= 0 {
			decay(r, r.clock)
			r.idle = r.clock
		}
	}
	return with(planted{
		enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			average(r, now, q)
			return r.Enqueue(now, p, q)
		},
		dequeue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			average(r, now, q)
			return r.Dequeue(now, p, q)
		},
	})
}

// own is an AQM with a state of its own beside the occupancy.
type own struct {
	aqm.TailDrop
	src        rand.Source
	clock, was aqm.Time
	n          int
	x          float64
	on         bool

	enqueue, dequeue func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict
}

func (o *own) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	o.clock = max(o.clock, now)
	if q.Full {
		if o.enqueue != nil {
			o.enqueue(o, p, q)
		}
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	if o.enqueue == nil {
		return aqm.Verdict{}
	}
	return o.enqueue(o, p, q)
}

func (o *own) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	o.clock = max(o.clock, now)
	if o.dequeue == nil {
		return aqm.Verdict{}
	}
	return o.dequeue(o, p, q)
}

func owning(o own) MakeAQM {
	return func(src rand.Source) aqm.AQM {
		o := o
		o.src, o.clock, o.was = src, -1<<63, -1<<63
		return &o
	}
}

func (o *own) draw() float64 { return float64(o.src.Uint64()>>11) / (1 << 53) }

// lasting are AQMs that a silence leaves in a state that it should have ended: by what
// ages wrongly in it, by what a queue leaves behind that has drained, and by what many
// departures in one instant do. No other law finds them, but for the last but one, whose
// first instant decides how it begins.
var lasting = []struct {
	name, law string
	mk        MakeAQM
}{
	{"keeps its average through silence", "silence", undecayed(func(r *red, now aqm.Time) { r.idle = now })},
	{"ages by one step an event", "silence", undecayed(func(r *red, now aqm.Time) {
		if now.Sub(r.idle) > 10*time.Millisecond {
			r.avg /= 2
		}
		r.idle = now
	})},
	{"has gaps in 32 bits", "silence", undecayed(func(r *red, now aqm.Time) {
		r.idle = now - aqm.Time(uint32(now-r.idle))
	})},
	{"counts what was refused", "silence", owning(own{
		enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			o.n++
			if o.n > 100 && o.draw() < 0.1 {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
		dequeue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict { o.n--; return aqm.Verdict{} },
	})},
	{"goes on dropping", "silence", owning(own{
		dequeue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			switch sojourn := o.clock.Sub(p.EnqueuedAt); {
			case sojourn > 20*time.Millisecond:
				o.on = true
			case q.Packets > 0:
				o.on = false
			}
			if o.on {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
	})},
	{"believes the last sojourn", "silence", owning(own{
		enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if o.x > 0.02 && o.draw() < 0.1 {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
		dequeue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			o.x = o.clock.Sub(p.EnqueuedAt).Seconds()
			return aqm.Verdict{}
		},
	})},
	{"takes a flush for a fast link", "revival", owning(own{ // the highest rate it has seen over 16 departures
		enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if o.x > 0 && float64(q.Packets)/o.x > 0.002 && o.draw() < 0.1 {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
		dequeue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if o.n++; o.n == 16 {
				took := max(1, o.clock.Sub(o.was))
				o.x = max(o.x, 16/took.Seconds())
				o.n, o.was = 0, o.clock
			}
			return aqm.Verdict{}
		},
	})},
	{"has a time per packet of not a number", "revival", owning(own{ // 0/0 once 16 have departed at once
		enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if o.x*float64(q.Packets) > 0.002 && o.draw() < 0.1 {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
		dequeue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if o.n++; o.n == 16 {
				took := o.clock.Sub(o.was).Seconds()
				o.x = 0.9*o.x + 0.1*took/16*(took/took)
				o.n, o.was = 0, o.clock
			}
			return aqm.Verdict{}
		},
	})},
	{"owes a departure for each of a flush", "silence", owning(own{ // its own count, below 0 once more depart than it saw come
		enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if !q.Full {
				o.n++
			}
			if o.n > 30 && o.draw() < 0.1 {
				if p.ECN == aqm.NotECT {
					o.n -= 2
				}
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
		dequeue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict { o.n--; return aqm.Verdict{} },
	})},
}

// TestLasting sees each found by its law.
func TestLasting(t *testing.T) {
	for _, f := range lasting {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			err := Check(f.mk, Packets(4096), Only(revival.Name, forgetting.Name), Forgets(hour))
			assert.Equal(t, []string{f.law}, broken(err))
			t.Log(err)
		})
	}
}

// TestForgets sees good AQMs that promise to forget do so, and the law left out where
// nothing is promised.
func TestForgets(t *testing.T) {
	for name, mk := range goodAQMs {
		assert.NoError(t, Check(mk, Only(forgetting.Name), Forgets(time.Second)), name)
	}
	keeps := lasting[0].mk
	assert.NoError(t, Check(keeps, Packets(4096), Only(forgetting.Name)), "nothing is promised")
	assert.Equal(t, []string{"silence"}, broken(Check(keeps, Packets(4096), Only(forgetting.Name), Forgets(24*time.Hour))))

	// BLUE is right to remember: it has no idle time but in steps.
	blue := owning(own{
		enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			switch {
			case q.Full:
				o.x = min(1, o.x+0.02)
			case q.Packets == 0 && o.clock.Sub(o.was) > 100*time.Millisecond:
				o.x, o.was = max(0, o.x-0.002), o.clock
			}
			if o.draw() < o.x {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
	})
	assert.NoError(t, Check(blue, Packets(4096), Only(alive.Name, revival.Name, forgetting.Name)))
	assert.Equal(t, []string{"silence"}, broken(Check(blue, Packets(4096), Only(forgetting.Name), Forgets(hour))))

	for _, bad := range []time.Duration{0, -1, 366 * 24 * hour} {
		assert.ErrorContains(t, Check(blue, Forgets(bad)), "Forgets = "+bad.String()+", must be in (0s, 8760h]")
	}
}

// TestSilences has gaps of at least what is asked for, one of them a multiple of 2^32
// in each unit.
func TestSilences(t *testing.T) {
	for _, enough := range []time.Duration{1, time.Second, hour, 365 * 24 * hour} {
		all := silences(enough)
		for _, gap := range all {
			assert.GreaterOrEqual(t, gap, enough)
		}
		for i, unit := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond} {
			assert.Zero(t, all[2+i]%(unit<<32))
		}
	}
}

// TestDrained has a queue leave in one instant, in the order in which it came.
func TestDrained(t *testing.T) {
	p := aqm.Packet{EnqueuedAt: 100, Size: 1500}
	history := []Call{{AtDequeue: true, Now: 500, Packet: p, Occupancy: aqm.Occupancy{Packets: 4, Bytes: 6000}}}
	calls := drained(history)
	require.Len(t, calls, 5)
	for i, c := range calls[1:] {
		assert.Equal(t, Call{
			AtDequeue: true, Now: 500, Packet: aqm.Packet{EnqueuedAt: aqm.Time(200 + 100*i), Size: 1500, ECN: aqm.ECT0, Class: aqm.Data},
			Occupancy: aqm.Occupancy{Packets: 3 - i, Bytes: int64(3-i) * 1500},
		}, c)
	}
	assert.Len(t, drained([]Call{{Occupancy: aqm.Occupancy{Packets: -3}}}), 1)
}
