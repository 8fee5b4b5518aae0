package planted

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/lazy"
	"github.com/aqmkit/aqmkit/internal/oracle"
)

// rems are a REM in packets and one in bytes, whose constants are sums of few powers
// of 2.
var rems = []oracle.REM{
	{Gamma: 1.0 / 64, Alpha: 1.0 / 8, Phi: 1.5, Target: 8, Interval: 8 * time.Millisecond, Rate: 8_000_000, MeanPacket: 1000, MaxECN: 0.7},
	{Gamma: 1.0 / (1 << 16), Alpha: 1.0 / 8, Phi: 1.5, Target: 8192, Interval: 8 * time.Millisecond, Rate: 8_000_000, Unit: aqm.Bytes, MeanPacket: 1000, ScaleBySize: true},
}

func remFamily() family {
	return family{
		name: "rem",
		model: func(fault string, variant int, src rand.Source) aqm.AQM {
			c := &rems[variant]
			return &remModel{fault: fault, c: c, src: src, timer: lazy.NewTimer(c.Interval)}
		},
		oracle: func(variant int, src rand.Source) aqm.AQM {
			o := rems[variant]
			o.Rand = src
			return &o
		},
		same: func(model, naive aqm.AQM) bool {
			return near(model.(*remModel).prob, naive.(*oracle.REM).Prob)
		},
		variants: 2, checked: []int{0, 1}, period: 800 * time.Microsecond, limit: 40,
		faults: []fault{
			by("refused arrivals do not count"),
			by("arrivals are not cleared"),
			by("arrivals of every period of a gap"),
			by("departures count too"),
			by("a price below 0"),
			by("phi^-price"),
			by("a power of e"),
			by("the capacity of a second"),
			by("the capacity in packets of 1500"),
			by("a byte queue in packets"),
			by("the price moves without its backlog"),
			by("the backlog's weight for the rate too"),
			by("the rate lost where the queue is short"),
			by("arrivals in 16 bits"),
			contract("a log of arrivals", "no-allocation"),
		},
	}
}

type remModel struct {
	fault string
	c     *oracle.REM
	src   rand.Source

	price, prob float64
	arrived     float64
	timer       lazy.Timer
	clock       aqm.Time
	started     bool
	log         []float64
}

func (r *remModel) Probability() float64 { return r.prob }

func (r *remModel) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	r.pass(now, float64(q.Packets), float64(q.Bytes))
	if !q.Full || r.fault != "refused arrivals do not count" {
		r.count(p)
	}
	if q.Full {
		return overflow
	}
	forced := r.c.MaxECN > 0 && r.prob >= r.c.MaxECN
	prob := r.prob
	if r.c.ScaleBySize {
		prob = min(prob*float64(p.Size)/float64(r.c.MeanPacket), 1)
	}
	switch {
	case prob < 1.0/(1<<53) || uniform(r.src) > prob:
		return pass
	case forced:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	}
	return aqm.MarkOrDrop(p.ECN, aqm.Early)
}

func (r *remModel) count(p aqm.Packet) {
	if r.fault == "a log of arrivals" {
		r.log = append(r.log, float64(p.Size))
	}
	if r.c.Unit == aqm.Bytes {
		r.arrived += float64(p.Size)
	} else {
		r.arrived++
	}
	if r.fault == "arrivals in 16 bits" {
		r.arrived = float64(uint16(r.arrived))
	}
}

func (r *remModel) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	r.pass(now, float64(q.Packets)+1, float64(q.Bytes)+float64(p.Size))
	if r.fault == "departures count too" {
		r.count(p)
	}
	return pass
}

func (r *remModel) pass(now aqm.Time, packets, bytes float64) {
	if !r.started {
		r.started, r.clock = true, now
	}
	r.clock = max(r.clock, now)
	n := r.timer.Ticks(r.clock)
	if n == 0 {
		return
	}
	c := r.c
	backlog := packets
	if c.Unit == aqm.Bytes && r.fault != "a byte queue in packets" {
		backlog = bytes
	}
	capacity := float64(c.Rate) / 8 * c.Interval.Seconds()
	switch r.fault {
	case "the capacity of a second":
		capacity = float64(c.Rate) / 8
	case "the capacity in packets of 1500":
		capacity *= float64(c.MeanPacket) / 1500
	}
	if c.Unit == aqm.Packets {
		capacity /= float64(c.MeanPacket)
	}
	deviation := float64(c.Alpha * (backlog - c.Target))
	switch r.fault {
	case "the price moves without its backlog":
		deviation = 0
	case "the backlog's weight for the rate too":
		r.arrived, capacity = r.arrived*c.Alpha, capacity*c.Alpha
	case "the rate lost where the queue is short":
		if deviation < 0 {
			r.arrived = capacity
		}
	}
	later := deviation - capacity
	if r.fault == "arrivals of every period of a gap" {
		later += r.arrived
	}
	r.move(float64(c.Gamma*(deviation+r.arrived-capacity)), 1)
	r.move(float64(c.Gamma*later), float64(n-1))
	if r.fault != "arrivals are not cleared" {
		r.arrived = 0
	}
	switch r.fault {
	case "phi^-price":
		r.prob = math.Pow(c.Phi, -r.price)
	case "a power of e":
		r.prob = 1 - math.Exp(-r.price)
	default:
		r.prob = 1 - math.Pow(c.Phi, -max(r.price, 0))
	}
}

func (r *remModel) move(step, times float64) {
	r.price += times * step
	if r.fault != "a price below 0" {
		r.price = max(0, r.price)
	}
}
