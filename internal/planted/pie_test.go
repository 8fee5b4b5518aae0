package planted

import (
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/lazy"
	"github.com/aqmkit/aqmkit/internal/oracle"
)

// pies are a PIE by timestamps, two by the departure rate, one of which sleeps below a
// third of its buffer, and one that never stops marking.
var pies = []oracle.PIE{
	{Target: 4 * time.Millisecond, Update: 4 * time.Millisecond, MaxBurst: 38 * time.Millisecond, Alpha: 2, Beta: 20, MaxECN: 0.1, MeanPacket: 1024},
	{Target: 10 * time.Millisecond, Update: 40 * time.Millisecond, MaxBurst: 50 * time.Millisecond, Alpha: 2, Beta: 20, MeanPacket: 1024, LimitBytes: 60_000, DepartureRate: true},
	{Target: 40 * time.Millisecond, Update: 4 * time.Millisecond, Alpha: 0.25, Beta: 2.5, MeanPacket: 1024, DepartureRate: true},
	{Target: 4 * time.Millisecond, Update: 4 * time.Millisecond, Alpha: 4, Beta: 20, MaxECN: 1, MeanPacket: 500},
}

func pieFamily() family {
	return family{
		name: "pie",
		model: func(fault string, variant int, src rand.Source) aqm.AQM {
			c := &pies[variant]
			p := &pieModel{fault: fault, c: c, src: src, timer: lazy.NewTimer(c.Update)}
			if c.LimitBytes == 0 {
				p.active, p.burst = true, c.MaxBurst
			}
			return p
		},
		oracle: func(variant int, src rand.Source) aqm.AQM {
			o := pies[variant]
			o.Rand = src
			return &o
		},
		same: func(model, naive aqm.AQM) bool {
			return near(model.(*pieModel).p, naive.(*oracle.PIE).DropProb)
		},
		variants: 4, checked: []int{0, 1}, period: 800 * time.Microsecond, limit: 50,
		faults: []fault{
			// lib/sched/rte_pie.h: uint32_t less uint64_t is never below 0.
			by("DPDK's burst allowance wraps"),
			// lib/sched/rte_pie.h: uint64_t delays.
			by("DPDK's difference from the target is unsigned"),
			// lib/sched/rte_pie.h: a draw divided by its maximum in integers.
			by("DPDK's draw is 0"),
			// net/sched/sch_pie.c: the accumulator is cleared where a packet is dropped, or
			// the random choice hits, but not where it reached its limit and the packet is
			// marked.
			by("Linux keeps the accumulator on a mark"),
			by("no tier below 1e-4"),
			by("the tier after the step"),
			by("a step up of any size"),
			by("p never decays"),
			by("p decays below the target"),
			by("two packets, not their bytes"),
			by("winds up while idle"),
			by("the last delay stands"),
			by("the accumulator outlives p"),
			by("an overflow keeps the accumulator"),
			by("an allowance for once"),
			by("the allowance is judged last"),
			by("spared by the delay of now"),
			by("spared at any p"),
			by("p at MaxECN"),
			by("no MaxECN"),
			by("active at half of the buffer"),
			by("never inactive again"),
			by("an update a packet"),
			by("one update an event"),
			by("a measurement starts with its first departure"),
			by("a measurement weighs a half"),
			by("a measurement of half as much"),
			contract("updates one by one", "bounded-work"),
			contract("every now is believed", "time-backwards"),
			contract("marks whatever is due", "not-ect"),
		},
	}
}

type pieModel struct {
	fault string
	c     *oracle.PIE
	src   rand.Source

	pieState
	timer   lazy.Timer
	clock   aqm.Time
	started bool
	rested  bool

	measuring bool
	start     aqm.Time
	count     int64
	average   float64
}

// pieState is what an update changes.
type pieState struct {
	p, accumulated, old, delay float64
	burst                      time.Duration
	active                     bool
}

func (a *pieModel) Probability() float64 { return a.p }

func (a *pieModel) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	a.pass(now, float64(q.Bytes), q.Packets <= 0 && q.Bytes <= 0)
	v := pass
	switch {
	case q.Full:
		v = overflow
		if a.fault != "an overflow keeps the accumulator" {
			a.accumulated = 0
		}
	case a.active && a.fault == "the allowance is judged last":
		if a.due(q) && a.burst == 0 {
			v = a.signal(p)
		}
	case a.active && a.burst == 0 && a.due(q):
		v = a.signal(p)
	}
	third := (a.c.LimitBytes + 2) / 3
	if a.fault == "active at half of the buffer" {
		third = a.c.LimitBytes / 2
	}
	if !a.active && q.Bytes >= third {
		a.pieState = pieState{active: true, burst: a.c.MaxBurst, delay: a.delay}
		a.measuring, a.average = false, 0
		if a.fault == "an allowance for once" && a.rested {
			a.burst = 0
		}
	}
	return v
}

func (a *pieModel) due(q aqm.Occupancy) bool {
	spared := a.old < a.c.Target.Seconds()/2
	if a.fault == "spared by the delay of now" {
		spared = a.delay < a.c.Target.Seconds()/2
	}
	if spared && (a.p < 0.2 || a.fault == "spared at any p") {
		return false
	}
	if a.fault == "two packets, not their bytes" {
		if q.Packets <= 2 {
			return false
		}
	} else if q.Bytes <= 2*int64(a.c.MeanPacket) {
		return false
	}
	a.accumulated += a.p
	if a.accumulated < 0.85 {
		return false
	}
	if a.accumulated >= 8.5 {
		return true
	}
	u := uniform(a.src)
	if a.fault == "DPDK's draw is 0" {
		u = 0
	}
	if u > a.p {
		return false
	}
	a.accumulated = 0
	return true
}

func (a *pieModel) signal(p aqm.Packet) aqm.Verdict {
	reason := aqm.Early
	if limit := a.c.MaxECN; limit > 0 && a.fault != "no MaxECN" && (a.p > limit || a.p == limit && a.fault != "p at MaxECN") {
		reason = aqm.Forced
	}
	v := aqm.MarkOrDrop(p.ECN, reason)
	if a.fault == "marks whatever is due" {
		v.Action = aqm.Mark
	}
	if v.Action == aqm.Drop || a.fault != "Linux keeps the accumulator on a mark" {
		a.accumulated = 0
	}
	return v
}

func (a *pieModel) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	a.pass(now, float64(q.Bytes)+float64(p.Size), false)
	if a.c.DepartureRate {
		a.measure(p, q)
		return pass
	}
	if a.fault != "every now is believed" {
		now = a.clock
	}
	a.delay = float64(max(0, now.Sub(p.EnqueuedAt))) / 1e9
	if q.Packets <= 0 && q.Bytes <= 0 && a.fault != "winds up while idle" {
		a.delay = 0
	}
	return pass
}

func (a *pieModel) measure(p aqm.Packet, q aqm.Occupancy) {
	threshold, weight := int64(16384), 0.25
	if a.fault == "a measurement of half as much" {
		threshold /= 2
	}
	if a.measuring {
		a.count += int64(p.Size)
		if a.count >= threshold {
			took := float64(a.clock.Sub(a.start)) / 1e9
			if a.fault == "a measurement weighs a half" {
				weight = 0.5
			}
			if a.average == 0 {
				a.average = took
			} else {
				a.average = float64(weight*took) + float64((1-weight)*a.average)
			}
			a.measuring = false
		}
	}
	if !a.measuring && q.Bytes >= threshold {
		a.measuring, a.start, a.count = true, a.clock, 0
		if a.fault == "a measurement starts with its first departure" {
			a.count = int64(p.Size)
		}
	}
}

// pass lets the time pass until now, with a backlog that has not changed.
func (a *pieModel) pass(now aqm.Time, bytes float64, empty bool) {
	if !a.started {
		a.started, a.clock = true, now
	}
	a.clock = max(a.clock, now)
	n := a.timer.Ticks(a.clock)
	if a.fault == "an update a packet" {
		n = 1
	}
	if a.fault == "one update an event" {
		n = min(n, 1)
	}
	for ; n > 0; n-- {
		before := a.pieState
		a.tick(bytes, empty)
		if a.pieState == before && a.fault != "updates one by one" {
			break
		}
	}
}

func (a *pieModel) tick(bytes float64, empty bool) {
	if !a.active {
		if empty && !a.c.DepartureRate {
			a.delay = 0
		}
		return
	}
	switch {
	case a.c.DepartureRate:
		a.delay = max(bytes, 0) * a.average / 16384
	case empty && a.fault != "winds up while idle":
		a.delay = 0
	}
	c, target := a.c, a.c.Target.Seconds()
	deviation := a.delay - target
	if a.fault == "DPDK's difference from the target is unsigned" && deviation < 0 {
		deviation += 1 << 34 // 2^64 ns
	}
	step := float64(c.Alpha*deviation) + float64(c.Beta*(a.delay-a.old))
	divisor := tier(a.p)
	switch {
	case a.fault == "no tier below 1e-4":
		divisor = min(divisor, 32)
	case a.fault == "the tier after the step":
		divisor = tier(a.p + step)
	}
	step /= divisor
	if a.p >= 0.1 && step > 0.02 && a.fault != "a step up of any size" {
		step = 0.02
	}
	a.p += step
	low := a.delay < target/2 && a.old < target/2
	decays := low
	switch a.fault {
	case "p never decays":
		decays = false
	case "p decays below the target":
		decays = a.delay < target && a.old < target
	}
	if decays {
		a.p *= 0.98
	}
	a.p = min(max(a.p, 0), 1)
	if a.p == 0 && a.fault != "the accumulator outlives p" {
		a.accumulated = 0
	}
	if a.fault != "the last delay stands" {
		a.old = a.delay
	}
	a.burst = max(0, a.burst-c.Update)
	if a.fault == "DPDK's burst allowance wraps" {
		a.burst = time.Duration(uint32(uint64(a.burst) - uint64(c.Update)))
	}
	if a.p == 0 && low {
		a.rested = true
		if a.fault != "an allowance for once" {
			a.burst = c.MaxBurst
		}
		if c.LimitBytes > 0 && a.fault != "never inactive again" {
			a.active = false
		}
	}
}

// tier is the divisor of RFC 8033 4.2.
func tier(p float64) float64 {
	for _, t := range []struct{ below, divisor float64 }{{1e-6, 2048}, {1e-5, 512}, {1e-4, 128}, {1e-3, 32}, {1e-2, 8}, {0.1, 2}} {
		if p < t.below {
			return t.divisor
		}
	}
	return 1
}
