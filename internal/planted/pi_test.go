package planted

import (
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/lazy"
	"github.com/aqmkit/aqmkit/internal/oracle"
)

// pis are a PI in packets, one in bytes that is scaled by size, one in delay, and PI
// squared. Their gains take p from 0 to 1 within seconds, and are sums of few powers
// of 2, so that nothing is rounded.
var pis = []oracle.PI{
	{A: 1.0 / 256, B: 3.0 / 1024, QRef: 8, Interval: 6 * time.Millisecond, MaxECN: 1, MeanPacket: 1000},
	{A: 1.0 / (1 << 18), B: 3.0 / (1 << 20), QRef: 8192, Interval: 6 * time.Millisecond, Unit: aqm.Bytes, MeanPacket: 1000, ScaleBySize: true, MaxECN: 0.4987654321},
	{A: 4, B: 3, QRef: 1.0 / 128, Interval: 16 * time.Millisecond, Unit: aqm.Delay, MeanPacket: 1000},
	{A: 4, B: 3, QRef: 1.0 / 128, Interval: 16 * time.Millisecond, Unit: aqm.Delay, MeanPacket: 1000, Squared: true},
}

func piFamily() family {
	return family{
		name: "pi",
		model: func(fault string, variant int, src rand.Source) aqm.AQM {
			c := &pis[variant]
			return &piModel{fault: fault, c: c, src: src, timer: lazy.NewTimer(c.Interval)}
		},
		oracle: func(variant int, src rand.Source) aqm.AQM {
			o := pis[variant]
			o.Rand = src
			return &o
		},
		same: func(model, naive aqm.AQM) bool {
			return near(model.(*piModel).p, naive.(*oracle.PI).P)
		},
		variants: 4, checked: []int{0, 2}, period: 800 * time.Microsecond, limit: 40,
		faults: []fault{
			by("u < p"),
			by("u <= p, for u from 0 on", "zero"),
			by("u is drawn once and for all"),
			by("one update an event"),
			by("the period starts at an event"),
			by("the first update comes early"),
			by("an unsigned difference"),
			by("p below 0"),
			by("p above 1"),
			by("q_old stands"),
			by("a signal starts anew"),
			by("the departing packet is gone"),
			by("a flushed queue has the delay it had"),
			by("winds up while idle"),
			by("p is not squared"),
			by("p at MaxECN"),
			by("MaxECN for every packet"),
			by("sizes over 1500"),
			by("a delay in milliseconds"),
			by("the backlog in 16 bits"),
			contract("updates one by one", "bounded-work"),
			contract("the clock starts at 0", "time-origin"),
			contract("every now is believed", "time-backwards"),
			contract("the order of a map", "determinism"),
			contract("a table of delays", "survival"),
			contract("p as it comes", "probability"),
			contract("p decays when it is asked for", "observer"),
			contract("p allocates when it is asked for", "observer"),
			contract("p is always said to be 0", "zero"),
			contract("drops above a half", "early-marks"),
			contract("waits once in 5000 packets", "no-blocking"),
			contract("a table of packets in 16 bits", "survival"),
		},
	}
}

type piModel struct {
	fault string
	c     *oracle.PI
	src   rand.Source

	p, old  float64
	delay   time.Duration
	timer   lazy.Timer
	clock   aqm.Time
	started bool
	u       float64
	table   [64]int
	packets int
}

// Probability is p, or its square.
func (a *piModel) Probability() float64 {
	switch a.fault {
	case "p decays when it is asked for":
		defer func() { a.p *= 0.99 }()
	case "p allocates when it is asked for":
		memory = new(int64)
	case "p is always said to be 0":
		return 0
	}
	return a.probability()
}

func (a *piModel) probability() float64 {
	if a.c.Squared && a.fault != "p is not squared" {
		return a.p * a.p
	}
	if a.fault == "p as it comes" {
		return a.p + a.c.A*(a.old-a.c.QRef)
	}
	return a.p
}

func (a *piModel) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Packets <= 0 && a.fault != "a flushed queue has the delay it had" && a.fault != "winds up while idle" {
		a.delay = 0
	}
	a.pass(now, float64(q.Packets), float64(q.Bytes))
	if q.Full {
		return overflow
	}
	prob := a.probability()
	switch a.packets++; {
	case a.fault == "waits once in 5000 packets" && a.packets%5000 == 0:
		time.Sleep(20 * time.Millisecond)
	case a.fault == "a table of packets in 16 bits" && a.packets > 60_000:
		a.table[a.packets>>8]++
	}
	forced := a.c.MaxECN > 0 && (prob > a.c.MaxECN || prob == a.c.MaxECN && a.fault != "p at MaxECN")
	if a.c.ScaleBySize {
		mean := float64(a.c.MeanPacket)
		if a.fault == "sizes over 1500" {
			mean = 1500
		}
		prob = min(prob*float64(p.Size)/mean, 1)
	}
	if a.fault == "MaxECN for every packet" {
		forced = a.c.MaxECN > 0 && prob >= a.c.MaxECN
	}
	if prob < 1.0/(1<<53) && a.fault != "u <= p, for u from 0 on" {
		return pass
	}
	u := a.draw()
	if u > prob || u == prob && a.fault == "u < p" {
		return pass
	}
	if a.fault == "a signal starts anew" {
		a.p /= 2
	}
	if a.fault == "the order of a map" {
		for verdict := range map[aqm.Verdict]int{pass: 0, aqm.MarkOrDrop(p.ECN, aqm.Early): 1} {
			return verdict
		}
	}
	if prob > 0.5 && a.fault == "drops above a half" {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	}
	if forced {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	}
	return aqm.MarkOrDrop(p.ECN, aqm.Early)
}

func (a *piModel) draw() float64 {
	switch a.fault {
	case "u is drawn once and for all":
		if a.u == 0 {
			a.u = uniform(a.src)
		}
		return a.u
	case "u <= p, for u from 0 on":
		return uniform(a.src) - 1.0/(1<<53)
	}
	return uniform(a.src)
}

func (a *piModel) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if a.fault == "the departing packet is gone" {
		a.pass(now, float64(q.Packets), float64(q.Bytes))
	} else {
		a.pass(now, float64(q.Packets)+1, float64(q.Bytes)+float64(p.Size))
	}
	a.delay = max(0, a.clock.Sub(p.EnqueuedAt))
	if q.Packets <= 0 && a.fault != "winds up while idle" {
		a.delay = 0
	}
	if a.fault == "a table of delays" {
		a.table[int(a.clock.Sub(p.EnqueuedAt)/time.Millisecond)%len(a.table)]++
	}
	return pass
}

// pass lets the time pass until now, with a backlog that has not changed.
func (a *piModel) pass(now aqm.Time, packets, bytes float64) {
	if !a.started {
		a.started = true
		a.clock = now
		if a.fault == "the clock starts at 0" {
			a.timer.Ticks(0)
		}
		if a.fault == "the first update comes early" {
			a.timer.Ticks(now.Add(-a.c.Interval / 2))
		}
	}
	if now < a.clock {
		if a.fault == "every now is believed" {
			a.delay = 0
		}
		now = a.clock
	}
	a.clock = now
	n := a.timer.Ticks(now)
	if n == 0 {
		return
	}
	if a.fault == "the period starts at an event" {
		a.timer = lazy.NewTimer(a.c.Interval)
		a.timer.Ticks(now)
	}
	if a.fault == "one update an event" {
		n = 1
	}
	queue := packets
	switch a.c.Unit {
	case aqm.Bytes:
		queue = bytes
	case aqm.Delay:
		queue = float64(a.delay) / 1e9
		if a.fault == "a delay in milliseconds" {
			queue = float64(a.delay.Milliseconds()) / 1e3
		}
	}
	if a.fault == "the backlog in 16 bits" {
		queue = float64(uint16(int64(queue)))
		if a.c.Unit == aqm.Delay {
			queue = float64(a.delay) / 1e9
		}
	}
	a.update(queue, n)
}

func (a *piModel) update(queue float64, n uint64) {
	c := a.c
	e := queue - c.QRef
	if a.fault == "an unsigned difference" && e < 0 {
		e += 1 << 32
	}
	a.p = a.clamp(a.p + float64(c.A*e) - float64(c.B*(a.old-c.QRef)))
	if a.fault == "updates one by one" {
		for ; n > 1; n-- {
			a.p = a.clamp(a.p + float64((c.A-c.B)*e))
		}
	}
	a.p = a.clamp(a.p + float64(n-1)*float64((c.A-c.B)*e))
	if a.fault != "q_old stands" {
		a.old = queue
	}
}

func (a *piModel) clamp(p float64) float64 {
	if a.fault != "p below 0" {
		p = max(0, p)
	}
	if a.fault != "p above 1" {
		p = min(1, p)
	}
	return p
}
