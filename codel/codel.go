package codel

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// CoDel controls the sojourn time. It implements aqm.AQM; use New.
type CoDel struct {
	clock   aqm.Time      // largest now
	sojourn time.Duration // of the last packet judged

	// What passes and changes nothing, derived from the rest by arm: a sojourn below
	// passBelow; and before wake one from target to ceThreshold with more than mtu
	// bytes left.
	passBelow   time.Duration
	wake        aqm.Time
	target      time.Duration
	ceThreshold time.Duration // the largest where it is off
	mtu         int64

	// RFC 8289 5.2. first_above_time is 0 there for "not above".
	firstAbove       aqm.Time // valid if above
	dropNext         aqm.Time
	count, lastCount uint32
	above, dropping  bool

	resume resume // where in the dequeue routine the next packet goes on
	drops  int    // in this run of it

	emptied   bool     // an arrival found the queue empty
	emptiedAt aqm.Time // its now

	*cold
}

// cold is what only a signal or a new configuration touches.
type cold struct{ config Config }

// resume is a place in the RFC's dequeue routine.
type resume uint8

const (
	atStart       resume = iota
	afterDrop            // in the loop of the dropping state, where it has dropped a packet
	afterEntering        // where the dropping state was entered with a drop
)

// State is a snapshot of a CoDel, as of the last event.
type State struct {
	Dropping  bool
	Count     uint32        // signals since the dropping state was entered, and those it resumed from
	LastCount uint32        // Count when the dropping state was last entered
	DropNext  aqm.Time      // when the next signal is due, in the dropping state
	Sojourn   time.Duration // of the last packet judged
}

// New returns a CoDel. The error lists all that is wrong with c.
func New(c Config) (*CoDel, error) {
	d := &CoDel{clock: math.MinInt64, cold: new(cold)}
	if err := d.Reconfigure(c); err != nil {
		return nil, err
	}
	return d, nil
}

// Reconfigure replaces the configuration and keeps the state: instants that are
// already set stand. After an error the old configuration stands.
func (c *CoDel) Reconfigure(config Config) error {
	if err := config.Validate(); err != nil {
		return err
	}
	c.config = config
	c.target, c.ceThreshold, c.mtu = config.Target, config.CEThreshold, int64(config.MTU)
	if c.ceThreshold == 0 {
		c.ceThreshold = math.MaxInt64
	}
	c.arm()
	return nil
}

// State returns a snapshot.
func (c *CoDel) State() State {
	return State{Dropping: c.dropping, Count: c.count, LastCount: c.lastCount, DropNext: c.dropNext, Sojourn: c.sojourn}
}

// Enqueue passes what the queue has room for.
func (c *CoDel) Enqueue(now aqm.Time, _ aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now > c.clock {
		c.clock = now
	}
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	if q.Packets == 0 {
		c.emptied, c.emptiedAt, c.wake = true, now, math.MinInt64
	}
	return aqm.Verdict{}
}

// Dequeue signals by the law of RFC 8289 section 5.
func (c *CoDel) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now <= c.clock {
		now = c.clock
	} else {
		c.clock = now
	}
	sojourn := time.Duration(now - p.EnqueuedAt)
	if p.EnqueuedAt > now || sojourn < 0 { // from the future, or longer than a Duration
		sojourn = now.Sub(p.EnqueuedAt)
	}
	c.sojourn = sojourn
	if sojourn < c.passBelow {
		return aqm.Verdict{}
	}
	if now < c.wake && sojourn >= c.target && sojourn <= c.ceThreshold && q.Bytes > c.mtu {
		return aqm.Verdict{}
	}
	return c.judge(p, q.Bytes)
}

// judge runs the dequeue routine of RFC 8289 5.5 on the packet p, which was taken
// from the queue and left bytes in it. It is out of line to keep the path of a
// passing packet free of its frame.
//
//go:noinline
func (c *CoDel) judge(p aqm.Packet, bytes int64) aqm.Verdict {
	if c.emptied && p.EnqueuedAt >= c.emptiedAt {
		// RFC 8289 5.6: "queue is empty - we can't be above TARGET". p is what came
		// next, and whatever the routine was at, it passes.
		c.emptied, c.above, c.dropping = false, false, false
	}
	ok := c.okToDrop(bytes)
	signal, next := false, afterDrop
	switch {
	case c.resume == afterEntering: // the packet after the one that was dropped is delivered
	case c.dropping:
		switch {
		case !ok:
			c.dropping = false
		case c.resume == afterDrop:
			c.dropNext = c.controlLaw(c.dropNext)
		}
		if limit := c.config.MaxDropsPerDequeue; c.dropping && c.clock >= c.dropNext && (limit == 0 || c.drops < limit) {
			signal = true
			if c.count < math.MaxUint32 {
				c.count++
			}
			if p.ECN.Capable() {
				c.dropNext = c.controlLaw(c.dropNext)
			}
		}
	case ok:
		signal, next = true, afterEntering
		c.enter()
	}

	var v aqm.Verdict
	if signal || c.sojourn > c.ceThreshold && p.ECN.Capable() {
		v = aqm.MarkOrDrop(p.ECN, aqm.Early)
	}
	if v.Action == aqm.Drop {
		c.resume = next
		c.drops++
	} else {
		c.resume, c.drops = atStart, 0
	}
	c.arm()
	return v
}

// okToDrop tracks whether the queue is above Target, and reports whether it has
// been for an Interval [RFC 8289 5.6, dodequeue].
func (c *CoDel) okToDrop(bytes int64) bool {
	switch {
	case c.sojourn < c.target || bytes <= c.mtu:
		c.above = false
	case !c.above:
		c.above = true
		c.firstAbove = c.clock.Add(c.config.Interval)
	default:
		return c.clock >= c.firstAbove
	}
	return false
}

// enter enters the dropping state. If that was left a short time ago, it resumes at
// the rate that had controlled the queue [RFC 8289 5.5].
func (c *CoDel) enter() {
	c.dropping = true
	delta := c.count - c.lastCount
	c.count = 1
	if delta > 1 && c.clock.Sub(c.dropNext) < 16*c.config.Interval {
		c.count = delta
	}
	c.dropNext = c.controlLaw(c.clock)
	c.lastCount = c.count
}

// controlLaw returns the instant of the signal after the one at t: count signals
// make a rate of sqrt(count)/Interval [RFC 8289 5.6].
func (c *CoDel) controlLaw(t aqm.Time) aqm.Time {
	return t.Add(time.Duration(float64(c.config.Interval) / math.Sqrt(float64(c.count))))
}

// arm sets passBelow and wake to what the state lets pass.
func (c *CoDel) arm() {
	c.passBelow, c.wake = math.MinInt64, math.MinInt64
	switch {
	case c.resume != atStart || c.dropping && !c.above || c.emptied && c.above: // the next packet ends something
	case c.dropping:
		c.wake = c.dropNext // above: it has been for an Interval, or dropping had ended
	case c.above:
		c.wake = c.firstAbove
	default:
		c.passBelow = c.target
		if c.ceThreshold < c.target {
			c.passBelow = c.ceThreshold + 1
		}
	}
}
