package oracle

import (
	"math"
	"math/big"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// RED is RED as Floyd and Jacobson (1993) give it, gentle as Floyd (2000) does, and
// Adaptive RED as Floyd, Gummadi and Shenker (2001) do: with a timer that ticks one
// by one, and an idle time that is spent packet by packet.
type RED struct {
	Bytes        bool
	MinTh, MaxTh float64
	MaxP         float64 // where Adaptive starts
	Weight       float64
	Gentle, Wait bool
	MeanPacket   uint32
	ScaleBySize  bool
	Rate         uint64
	MaxECN       float64
	Adaptive     bool
	Interval     time.Duration
	Bottom, Top  float64
	Rand         rand.Source

	Avg   float64
	Ticks uint64  // of the timer
	maxP  float64 // once it may differ from MaxP

	clock   aqm.Time
	next    aqm.Time // tick, once armed
	armed   bool
	stopped bool // no tick is left before the end of time
	seen    bool
	adapted bool

	idle big.Int // all idle time so far, nanoseconds
	sent big.Int // packets that it was worth

	n     float64 // packets since the last signal
	drawn bool
	u     float64
}

// Next returns the instant of the next tick.
func (o *RED) Next() aqm.Time {
	if o.stopped {
		return math.MaxInt64
	}
	return o.next
}

// Reconfigure goes on with the parameters of c, but for its Rand.
func (o *RED) Reconfigure(c *RED) {
	if c.Bytes && !o.Bytes {
		o.Avg *= float64(c.MeanPacket)
	}
	if !c.Bytes && o.Bytes {
		o.Avg /= float64(o.MeanPacket)
	}
	if c.Wait != o.Wait || c.ScaleBySize != o.ScaleBySize || c.ScaleBySize && c.MeanPacket != o.MeanPacket {
		o.restart()
	}
	maxP := c.MaxP
	if o.Adaptive && c.Adaptive && o.MaxP == c.MaxP { // as adapted, within the new range
		maxP = math.Max(c.Bottom, math.Min(c.Top, o.MaximumP()))
	}
	o.maxP, o.adapted = maxP, true
	if c.Adaptive && !o.Adaptive {
		o.armed = false // a new timer
	} else if c.Adaptive && o.armed && !o.stopped && o.Interval != c.Interval {
		last := o.next - aqm.Time(o.Interval)
		o.Interval = c.Interval
		o.arm(last)
	}
	o.idle, o.sent = big.Int{}, big.Int{} // no part of a packet is left over

	o.Bytes, o.MinTh, o.MaxTh, o.MaxP, o.Weight = c.Bytes, c.MinTh, c.MaxTh, c.MaxP, c.Weight
	o.Gentle, o.Wait, o.MeanPacket, o.ScaleBySize, o.Rate, o.MaxECN = c.Gentle, c.Wait, c.MeanPacket, c.ScaleBySize, c.Rate, c.MaxECN
	o.Adaptive, o.Interval, o.Bottom, o.Top = c.Adaptive, c.Interval, c.Bottom, c.Top
}

// Enqueue judges an arrival.
func (o *RED) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	empty := q.Packets <= 0
	o.elapse(now, empty)
	if !empty {
		queue := float64(q.Packets)
		if o.Bytes {
			queue = math.Max(float64(q.Bytes), 0)
		}
		// "avg <- (1-w_q) avg + w_q q"
		o.Avg = math.FMA(1-o.Weight, o.Avg, o.Weight*queue) // the old average is not rounded before the sum
	}
	if q.Full {
		o.restart()
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	pb := o.Probability()
	switch {
	case o.Avg < o.MinTh: // "count <- -1"
		o.restart()
		return aqm.Verdict{}
	case o.certain(): // "max_th <= avg: mark the arriving packet, count <- 0"
		o.restart()
		return o.signal(p, pb)
	}
	// "count packets or bytes since the last marked packet"
	mean := 1.0
	size := 1.0
	if o.ScaleBySize {
		mean, size = float64(o.MeanPacket), float64(p.Size)
	}
	if !o.drawn {
		o.draw()
	}
	o.n += size
	due := float64(o.n*pb) >= float64(o.u*mean)
	if o.Wait {
		due = float64((o.n+mean)*pb) >= float64(o.u*mean)+mean
	}
	if !due {
		return aqm.Verdict{}
	}
	o.draw()
	return o.signal(p, pb)
}

// Dequeue keeps the time.
func (o *RED) Dequeue(now aqm.Time, _ aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	o.elapse(now, false)
	return aqm.Verdict{}
}

// Probability is p_b.
func (o *RED) Probability() float64 {
	slope := o.MaximumP() / (o.MaxTh - o.MinTh)
	switch {
	case o.Avg < o.MinTh:
		return 0
	case o.certain():
		return 1
	case o.Avg < o.MaxTh: // "p_b <- max_p (avg - min_th)/(max_th - min_th)"
		return math.Min(slope*(o.Avg-o.MinTh), o.MaximumP())
	}
	// gentle_: from max_p at max_th to 1 at twice max_th
	slope = (1 - o.MaximumP()) / o.MaxTh
	return math.Min(o.MaximumP()+float64(slope*(o.Avg-o.MaxTh)), 1)
}

// MaximumP is max_p as adapted.
func (o *RED) MaximumP() float64 {
	if !o.adapted {
		return o.MaxP
	}
	return o.maxP
}

// certain reports whether p_b is 1.
func (o *RED) certain() bool {
	if o.Gentle && o.MaximumP() < 1 {
		return o.Avg >= 2*o.MaxTh
	}
	return o.Avg >= o.MaxTh
}

func (o *RED) restart() { o.n, o.drawn = 0, false }

func (o *RED) draw() {
	o.n, o.drawn = 0, true
	o.u = (float64(o.Rand.Uint64()>>11) + 1) / (1 << 53)
}

// signal follows RFC 3168 section 7, or ns-2's mark_p_.
func (o *RED) signal(p aqm.Packet, pb float64) aqm.Verdict {
	forced := o.Avg >= o.MaxTh
	if o.MaxECN != 0 {
		forced = pb >= o.MaxECN
	}
	switch {
	case forced:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	case p.ECN != aqm.NotECT:
		return aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	}
	return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
}

// elapse runs the timer and the idle time up to the event at now, before which the
// queue was empty or not.
func (o *RED) elapse(now aqm.Time, empty bool) {
	if !o.seen {
		o.seen = true
		o.clock = now
	}
	if now < o.clock {
		now = o.clock
	}
	if o.Adaptive && !o.armed {
		o.armed, o.stopped = true, false
		o.arm(now)
	}
	for o.Adaptive && !o.stopped && o.next <= now {
		if empty && o.Avg > 0 && o.next > o.clock { // else it is due late, since the interval became shorter
			o.rest(o.next)
		}
		o.tick()
		o.arm(o.next)
	}
	if empty {
		o.rest(now)
	}
	o.clock = now
}

// arm sets the timer to an interval after last.
func (o *RED) arm(last aqm.Time) {
	if last > 0 && aqm.Time(o.Interval) > math.MaxInt64-last {
		o.stopped = true
		return
	}
	o.next = last + aqm.Time(o.Interval)
}

// tick is the Adaptive RED algorithm, section 4.
func (o *RED) tick() {
	o.maxP, o.adapted = o.MaximumP(), true
	target := o.MaxTh - o.MinTh
	low, high := o.MinTh+float64(0.4*target), o.MinTh+float64(0.6*target)
	if o.Avg > high && o.maxP <= o.Top {
		o.maxP = math.Min(o.maxP+math.Min(0.01, o.maxP/4), o.Top)
	} else if o.Avg < low && o.maxP >= o.Bottom {
		o.maxP = math.Max(o.maxP*0.9, o.Bottom)
	}
	o.Ticks++
}

// rest lets the queue be idle until t: "m <- f(time - q_time); avg <- (1-w_q)^m avg".
func (o *RED) rest(t aqm.Time) {
	var d big.Int
	o.idle.Add(&o.idle, d.Sub(big.NewInt(int64(t)), big.NewInt(int64(o.clock))))
	o.clock = t

	// m = time * Rate / (8 * MeanPacket), with time in nanoseconds
	var m, s, steps big.Int
	m.Mul(&o.idle, new(big.Int).SetUint64(o.Rate))
	s.Mul(big.NewInt(8*int64(o.MeanPacket)), big.NewInt(1e9))
	m.Div(&m, &s)
	steps.Sub(&m, &o.sent)
	o.sent.Set(&m)
	n := uint64(math.MaxUint64)
	if steps.IsUint64() {
		n = steps.Uint64()
	}
	for ; n > 0 && o.Avg > 0; n-- {
		o.Avg = float64((1 - o.Weight) * o.Avg)
		if o.Avg < 1e-200 {
			o.Avg = 0 // before it gets to numbers that no multiplication makes smaller
		}
	}
}
