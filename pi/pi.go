package pi

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/lazy"
	"github.com/aqmkit/aqmkit/internal/num"
)

// PI is a PI controller of the queue. It implements aqm.AQM; use New, and do not
// copy it.
type PI struct {
	// What a passing packet needs comes first.
	timer  lazy.Timer
	clock  aqm.Time      // largest now
	chance num.Chance    // of a signal, for a packet of average size
	delay  time.Duration // queueing delay, where Unit is Delay
	timed  bool          // Unit is Delay
	scaled bool          // ScaleBySize

	prob    float64 // p, before it is squared
	queue   float64 // as the last update saw it, in Unit, q_old
	updates uint64
	rand    num.Rand

	*cold
}

// cold is what only a signal, an update or a new configuration touches.
type cold struct{ config Config }

// State is a snapshot of a PI, as of the last event.
type State struct {
	Prob    float64 // p; where Squared, signals have the probability p^2
	Queue   float64 // the queue at the last update, in Unit
	Updates uint64  // updates so far
}

// New returns a PI that has seen an empty queue. The error lists all that is wrong
// with c.
func New(c Config) (*PI, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	a := &PI{clock: math.MinInt64, timer: lazy.NewTimer(c.Interval), cold: new(cold)}
	a.rand.Init(c.Rand)
	a.set(c)
	return a, nil
}

// Reconfigure replaces the configuration. After an error the old one stands. The
// probability of a signal stays, and so do the random source and the last update,
// one Interval after which comes the next. In a new unit the queue is taken to stand
// where it stood in proportion to QRef.
func (a *PI) Reconfigure(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Unit != a.config.Unit {
		a.queue *= c.QRef / a.config.QRef
		a.delay = 0
	}
	switch {
	case c.Squared && !a.config.Squared:
		a.prob = math.Sqrt(a.prob)
	case !c.Squared && a.config.Squared:
		a.prob = float64(a.prob * a.prob)
	}
	a.timer.SetPeriod(c.Interval)
	a.set(c)
	return nil
}

// set derives from a valid c what the law needs.
func (a *PI) set(c Config) {
	a.timed, a.scaled = c.Unit == aqm.Delay, c.ScaleBySize
	a.config = c
	a.setProb(a.prob)
}

// State returns a snapshot.
func (a *PI) State() State { return State{Prob: a.prob, Queue: a.queue, Updates: a.updates} }

// Probability returns the probability of a signal for a packet of average size.
func (a *PI) Probability() float64 {
	if a.config.Squared {
		return float64(a.prob * a.prob) // RFC 9332 A.1: p_C = p'^2
	}
	return a.prob
}

// Enqueue signals with the probability.
func (a *PI) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now > a.clock {
		a.clock = now
	} else {
		now = a.clock
	}
	if q.Packets <= 0 {
		a.delay = 0 // also where no departure left it so: a flush, or all were refused
	}
	if now >= a.timer.Next || q.Full || a.scaled {
		return a.judge(now, p, q)
	}
	if a.chance == 0 || !a.rand.Hit(a.chance) {
		return aqm.Verdict{}
	}
	return a.signal(p.ECN)
}

// Dequeue passes the packet and measures its delay.
func (a *PI) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now > a.clock {
		a.clock = now
	} else {
		now = a.clock
	}
	if now >= a.timer.Next {
		a.update(now, float64(q.Packets)+1, float64(q.Bytes)+float64(p.Size))
	}
	if a.timed {
		a.delay = 0
		if q.Packets > 0 {
			a.delay = now.Sub(p.EnqueuedAt)
		}
	}
	return aqm.Verdict{}
}

// judge returns the verdict on an arrival that is due for an update, finds no room or
// is judged by its size. It is out of line to keep the path of a passing packet free
// of its frame.
//
//go:noinline
func (a *PI) judge(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now >= a.timer.Next {
		a.update(now, float64(q.Packets), float64(q.Bytes))
	}
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	chance := a.chance
	if a.scaled {
		chance = num.NewChance(a.Probability() * float64(p.Size) / float64(a.config.MeanPacket))
	}
	if chance == 0 || !a.rand.Hit(chance) {
		return aqm.Verdict{}
	}
	return a.signal(p.ECN)
}

// signal returns the verdict on a packet with codepoint e that is signalled.
//
//go:noinline
func (a *PI) signal(e aqm.ECN) aqm.Verdict {
	if limit := a.config.MaxECN; limit > 0 && a.Probability() >= limit {
		return aqm.MarkOrDrop(e, aqm.Forced)
	}
	return aqm.MarkOrDrop(e, aqm.Early)
}

// update runs the updates that are due, with the backlog that there was since the
// last event.
//
//go:noinline
func (a *PI) update(now aqm.Time, packets, bytes float64) {
	n := a.timer.Ticks(now)
	if n == 0 {
		return
	}
	c := &a.config
	q := packets
	switch c.Unit {
	case aqm.Bytes:
		q = bytes
	case aqm.Delay:
		q = max(0, a.delay.Seconds())
	}
	// PI 2001: p(kT) = p((k-1)T) + a(q(kT) - q_ref) - b(q((k-1)T) - q_ref).
	e := q - c.QRef
	prob := clamp(a.prob + float64(c.A*e) - float64(c.B*(a.queue-c.QRef)))
	// The updates that follow see q twice and add the same each time, so that only
	// the last of them can be the one that meets an end of [0, 1].
	prob = clamp(prob + float64(float64(n-1)*float64((c.A-c.B)*e)))
	a.queue = q
	a.updates += n
	a.setProb(prob)
}

// setProb sets p and the chance that follows from it.
func (a *PI) setProb(p float64) {
	a.prob = p
	a.chance = num.NewChance(a.Probability())
}

func clamp(p float64) float64 { return max(0, min(1, p)) }
