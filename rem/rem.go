package rem

import (
	"math"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/lazy"
	"github.com/aqmkit/aqmkit/internal/num"
)

// REM is Random Exponential Marking. It implements aqm.AQM; use New, and do not copy
// it.
type REM struct {
	// What a passing packet needs comes first.
	timer   lazy.Timer
	clock   aqm.Time   // largest now
	chance  num.Chance // of a signal, for a packet of MeanPacket bytes
	arrived uint64     // since the last update, in Unit
	bytes   bool       // Unit is Bytes
	scaled  bool       // ScaleBySize

	prob    float64 // 1 - Phi^-price
	price   float64
	updates uint64
	rand    num.Rand

	*cold
}

// cold is what only a signal, an update or a new configuration touches.
type cold struct {
	lnPhi    float64 // ln(Phi)
	capacity float64 // of the link in an Interval, in Unit, c
	config   Config
}

// State is a snapshot of a REM, as of the last event.
type State struct {
	Prob    float64 // probability of a signal for a packet of MeanPacket bytes
	Price   float64
	Updates uint64 // updates so far
}

// New returns a REM whose price is 0. The error lists all that is wrong with c.
func New(c Config) (*REM, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &REM{clock: math.MinInt64, timer: lazy.NewTimer(c.Interval), cold: new(cold)}
	r.rand.Init(c.Rand)
	r.set(c)
	return r, nil
}

// Reconfigure replaces the configuration. After an error the old one stands. The
// probability of a signal stays, as a price to the new Phi, and so do the random
// source and the last update, one Interval after which comes the next. The arrivals
// since then stay, in the new unit.
func (r *REM) Reconfigure(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Unit != r.config.Unit {
		if c.Unit == aqm.Bytes {
			r.arrived *= uint64(c.MeanPacket)
		} else {
			r.arrived /= uint64(r.config.MeanPacket)
		}
	}
	if c.Phi != r.config.Phi {
		r.price *= r.lnPhi / num.Log(c.Phi)
	}
	r.timer.SetPeriod(c.Interval)
	r.set(c)
	return nil
}

// set derives from a valid c what the law needs.
func (r *REM) set(c Config) {
	r.lnPhi, r.capacity = num.Log(c.Phi), c.capacity()
	r.bytes, r.scaled = c.Unit == aqm.Bytes, c.ScaleBySize
	r.config = c
}

// State returns a snapshot.
func (r *REM) State() State { return State{Prob: r.prob, Price: r.price, Updates: r.updates} }

// Probability returns the probability of a signal for a packet of average size.
func (r *REM) Probability() float64 { return r.prob }

// Enqueue signals with the probability.
func (r *REM) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now > r.clock {
		r.clock = now
	} else {
		now = r.clock
	}
	if now >= r.timer.Next || q.Full || r.scaled {
		return r.judge(now, p, q)
	}
	r.count(p)
	if r.chance == 0 || !r.rand.Hit(r.chance) {
		return aqm.Verdict{}
	}
	return r.signal(p.ECN)
}

// Dequeue passes the packet.
func (r *REM) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now > r.clock {
		r.clock = now
	} else {
		now = r.clock
	}
	if now >= r.timer.Next {
		r.update(now, float64(q.Packets)+1, float64(q.Bytes)+float64(p.Size))
	}
	return aqm.Verdict{}
}

// count counts an arrival.
func (r *REM) count(p aqm.Packet) {
	if r.bytes {
		r.arrived += uint64(p.Size)
		return
	}
	r.arrived++
}

// judge returns the verdict on an arrival that is due for an update, finds no room or
// is judged by its size. It is out of line to keep the path of a passing packet free
// of its frame.
//
//go:noinline
func (r *REM) judge(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now >= r.timer.Next {
		r.update(now, float64(q.Packets), float64(q.Bytes))
	}
	r.count(p) // in the interval that follows an update at this instant
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	chance := r.chance
	if r.scaled {
		chance = num.NewChance(r.Probability() * float64(p.Size) / float64(r.config.MeanPacket))
	}
	if chance == 0 || !r.rand.Hit(chance) {
		return aqm.Verdict{}
	}
	return r.signal(p.ECN)
}

// signal returns the verdict on a packet with codepoint e that is signalled.
//
//go:noinline
func (r *REM) signal(e aqm.ECN) aqm.Verdict {
	if limit := r.config.MaxECN; limit > 0 && r.Probability() >= limit {
		return aqm.MarkOrDrop(e, aqm.Forced)
	}
	return aqm.MarkOrDrop(e, aqm.Early)
}

// update runs the updates that are due, with the backlog that there was since the
// last event.
//
//go:noinline
func (r *REM) update(now aqm.Time, packets, bytes float64) {
	n := r.timer.Ticks(now)
	if n == 0 {
		return
	}
	c := &r.config
	b, x := packets, float64(r.arrived)
	if r.bytes {
		b = bytes
	}
	// REM 2001: p(t+1) = [p(t) + gamma (alpha (b(t) - b*) + x(t) - c)]+. The updates that
	// follow the first see no arrivals, and all add the same, which is no more than the
	// first does: only the last of them can be the one that meets 0.
	queue := float64(c.Alpha * (b - c.Target))
	first, others := float64(c.Gamma*(queue+x-r.capacity)), float64(c.Gamma*(queue-r.capacity))
	price := max(0, r.price+first+float64(float64(n-1)*others))
	r.arrived = 0
	r.updates += n
	r.setPrice(price)
}

// setPrice sets the price and the probability that follows from it.
func (r *REM) setPrice(price float64) {
	r.price = price
	r.prob = num.Expm1Neg(float64(price * r.lnPhi)) // REM 2001: m(t) = 1 - phi^-p(t)
	r.chance = num.NewChance(r.prob)
}
