package oracle

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// REM is the price and the marking probability of Athuraliya et al. (IEEE Network,
// 2001), with a timer that runs.
type REM struct {
	Gamma, Alpha, Phi, Target float64
	Interval                  time.Duration
	Rate                      uint64
	Unit                      aqm.Unit
	MeanPacket                uint32
	ScaleBySize               bool
	MaxECN                    float64
	Rand                      rand.Source

	Price float64
	Prob  float64
	Ticks uint64

	x       float64 // arrivals since the last tick
	clock   aqm.Time
	next    aqm.Time
	started bool
	over    bool // next is beyond the end of time
}

// Reconfigure goes on with the parameters of c, but for its Rand. The probability of
// a signal stays, and so does the last tick, one period after which comes the next.
// What has arrived since then goes on in the new unit, in whole packets.
func (o *REM) Reconfigure(c *REM) {
	if o.Unit == aqm.Packets && c.Unit == aqm.Bytes {
		o.x = o.x * float64(c.MeanPacket)
	}
	if o.Unit == aqm.Bytes && c.Unit == aqm.Packets {
		o.x = math.Floor(o.x / float64(o.MeanPacket))
	}
	if c.Phi != o.Phi { // phi^-price is what it was
		o.Price = o.Price * math.Log(o.Phi) / math.Log(c.Phi)
	}
	if o.started && !o.over {
		o.arm(o.next-aqm.Time(o.Interval), c.Interval)
	}
	o.Gamma, o.Alpha, o.Phi, o.Target, o.Interval, o.Rate, o.Unit = c.Gamma, c.Alpha, c.Phi, c.Target, c.Interval, c.Rate, c.Unit
	o.MeanPacket, o.ScaleBySize, o.MaxECN = c.MeanPacket, c.ScaleBySize, c.MaxECN
}

// Enqueue judges an arrival.
func (o *REM) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	o.pass(now, float64(q.Packets), float64(q.Bytes))
	if o.Unit == aqm.Bytes {
		o.x += float64(p.Size)
	} else {
		o.x++
	}
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	forced := o.MaxECN != 0 && o.Prob >= o.MaxECN
	prob := o.Prob
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
func (o *REM) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	o.pass(now, float64(q.Packets)+1, float64(q.Bytes)+float64(p.Size))
	return aqm.Verdict{}
}

// pass lets the time pass until now, with a backlog that has not changed.
func (o *REM) pass(now aqm.Time, packets, bytes float64) {
	if !o.started {
		o.started, o.clock = true, now
		o.arm(now, o.Interval)
		return
	}
	if now < o.clock {
		now = o.clock
	}
	o.clock = now
	b := packets
	if o.Unit == aqm.Bytes {
		b = bytes
	}
	for !o.over && o.next <= now {
		before, x := o.Price, o.x
		o.tick(b)
		o.arm(o.next, o.Interval)
		if o.Price == before && x == 0 {
			// And so will all that follow: count them.
			if !o.over && o.next <= now {
				n := (now - o.next) / aqm.Time(o.Interval)
				o.Ticks += uint64(n) + 1
				o.arm(o.next+n*aqm.Time(o.Interval), o.Interval)
			}
		}
	}
	// The paper computes the probability in every period; the last one is seen.
	o.Prob = 1 - math.Pow(o.Phi, -o.Price)
}

// arm sets the timer to an interval after last.
func (o *REM) arm(last aqm.Time, interval time.Duration) {
	if o.over = last > math.MaxInt64-aqm.Time(interval); !o.over {
		o.next = last + aqm.Time(interval)
	}
}

// tick is the paper's update of the price.
func (o *REM) tick(b float64) {
	o.Ticks++
	c := float64(o.Rate) / 8 * o.Interval.Seconds() // bytes
	if o.Unit == aqm.Packets {
		c /= float64(o.MeanPacket)
	}
	o.Price += o.Gamma * (o.Alpha*(b-o.Target) + o.x - c)
	if o.Price < 0 {
		o.Price = 0
	}
	o.x = 0
}
