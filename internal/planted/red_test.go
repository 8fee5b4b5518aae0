package planted

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/lazy"
	"github.com/aqmkit/aqmkit/internal/oracle"
)

// reds are a RED of its time, one in bytes without an average to speak of, Adaptive
// RED, and one that hardly ever signals.
var reds = []oracle.RED{
	{MinTh: 5, MaxTh: 15, MaxP: 0.1, Weight: 0.02, Gentle: true, Wait: true, MeanPacket: 500, Rate: 1_500_000},
	{Bytes: true, MinTh: 4000, MaxTh: 12_000, MaxP: 0.1, Weight: 1, MeanPacket: 1000, ScaleBySize: true, Rate: 10_000_000},
	{MinTh: 3, MaxTh: 9, MaxP: 0.1, Weight: 0.05, Gentle: true, MeanPacket: 500, Rate: 1_500_000, Adaptive: true, Interval: 50 * time.Millisecond, Bottom: 0.01, Top: 0.5},
	{MinTh: 5, MaxTh: 15, MaxP: 1.0 / (1 << 17), Weight: 1, MeanPacket: 1000, Rate: 10_000_000},
	{MinTh: 2, MaxTh: 4, MaxP: 0.5, Weight: 1, MeanPacket: 1000, Rate: 10_000_000},
}

func redFamily() family {
	return family{
		name: "red",
		model: func(fault string, variant int, src rand.Source) aqm.AQM {
			if fault == "one average for all instances" {
				sharedAverage = 0 // so that one instance after the other is alike
			}
			c := &reds[variant]
			return &redModel{fault: fault, c: c, src: src, maxP: c.MaxP, timer: lazy.NewTimer(max(1, c.Interval))}
		},
		oracle: func(variant int, src rand.Source) aqm.AQM {
			o := reds[variant]
			o.Rand = src
			return &o
		},
		same: func(model, naive aqm.AQM) bool {
			return near(model.(*redModel).Probability(), naive.(*oracle.RED).Probability())
		},
		variants: 5, checked: []int{0, 2}, period: 2 * time.Millisecond, limit: 40,
		faults: []fault{
			by("idle time is lost"),
			by("idle time in microseconds"),
			by("idle packets in 32 bits"),
			by("the rest of an idle packet is lost"),
			by("the slope of the first max_p"),
			by("an average frozen in silence"),
			by("max_p leaves its range"),
			by("the count goes on after a signal"),
			by("the count goes on below MinTh"),
			by("the count goes on after an overflow"),
			by("the count in 16 bits"),
			by("the arriving packet is averaged"),
			by("departures are averaged"),
			by("marks above MaxTh"),
			by("above MaxTh, not at it"),
			by("a draw for every packet"),
			by("a draw once and for all"),
			by("p_a without 1 - count p_b"),
			by("sizes over 1500"),
			by("Wait is forgotten"),
			by("a byte queue in packets"),
			contract("idle packets one by one", "bounded-work"),
			contract("ticks one by one", "bounded-work"),
			contract("every now is believed", "time-backwards"),
			contract("numbers from the global generator", "determinism"),
			contract("one average for all instances", "no-shared-state"),
			contract("memory for a forced drop", "no-allocation"),
			contract("time 0 is no time", "time-origin"),
		},
	}
}

type redModel struct {
	fault string
	c     *oracle.RED
	src   rand.Source

	avg, maxP float64
	timer     lazy.Timer
	clock     aqm.Time
	started   bool
	idleRest  uint64

	count float64
	drawn bool
	u     float64
}

var (
	sharedAverage float64
	memory        any
)

func (r *redModel) Probability() float64 {
	p, _ := r.probability()
	return p
}

func (r *redModel) probability() (p float64, certain bool) {
	c, maxP := r.c, r.maxP
	full := c.MaxTh
	if c.Gentle && maxP < 1 {
		full = 2 * c.MaxTh
	}
	switch {
	case r.avg < c.MinTh:
		return 0, false
	case r.avg >= full && !(r.avg == c.MaxTh && r.fault == "above MaxTh, not at it"):
		return 1, true
	case r.avg < c.MaxTh || !c.Gentle:
		return min(maxP/(c.MaxTh-c.MinTh)*(r.avg-c.MinTh), maxP), false
	}
	slope := (1 - maxP) / c.MaxTh
	if r.fault == "the slope of the first max_p" {
		slope = (1 - c.MaxP) / c.MaxTh
	}
	return min(maxP+slope*(r.avg-c.MaxTh), 1), false
}

func (r *redModel) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	c := r.c
	if r.fault == "one average for all instances" {
		r.avg = sharedAverage
		defer func() { sharedAverage = r.avg }()
	}
	empty := q.Packets <= 0
	r.elapse(now, empty)
	if !empty {
		r.average(p, q)
	}
	if q.Full {
		if r.fault != "the count goes on after an overflow" {
			r.restart()
		}
		return overflow
	}
	prob, certain := r.probability()
	switch {
	case r.avg < c.MinTh:
		if r.fault != "the count goes on below MinTh" {
			r.restart()
		}
		return pass
	case certain:
		r.restart()
		return r.signal(p)
	}
	if r.fault == "numbers from the global generator" && rand.IntN(20) == 0 {
		return r.signal(p)
	}
	unit, size := 1.0, 1.0
	if c.ScaleBySize {
		unit, size = float64(c.MeanPacket), float64(p.Size)
		if r.fault == "sizes over 1500" {
			unit = 1500
		}
	}
	if r.fault == "a draw for every packet" {
		if uniform(r.src) > prob*size/unit {
			return pass
		}
		return r.signal(p)
	}
	if !r.drawn {
		r.draw()
	}
	r.count += size
	if r.fault == "the count in 16 bits" {
		r.count = float64(uint16(r.count))
	}
	due := r.count*prob >= r.u*unit
	if r.fault == "p_a without 1 - count p_b" {
		due = r.count*r.count*prob >= r.u*unit*unit
	}
	if c.Wait && r.fault != "Wait is forgotten" {
		due = (r.count+unit)*prob >= r.u*unit+unit
	}
	if !due {
		return pass
	}
	if r.fault == "the count goes on after a signal" {
		r.u = uniform(r.src)
	} else {
		r.draw()
	}
	return r.signal(p)
}

func (r *redModel) average(p aqm.Packet, q aqm.Occupancy) {
	queue := float64(q.Packets)
	if r.c.Bytes && r.fault != "a byte queue in packets" {
		queue = max(0, float64(q.Bytes))
	}
	if r.fault == "the arriving packet is averaged" {
		queue++
		if r.c.Bytes {
			queue += float64(p.Size) - 1
		}
	}
	r.avg = float64((1-r.c.Weight)*r.avg) + float64(r.c.Weight*queue)
}

func (r *redModel) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	r.elapse(now, false)
	if r.fault == "departures are averaged" && q.Packets > 0 {
		r.average(p, q)
	}
	return pass
}

func (r *redModel) restart() { r.count, r.drawn = 0, false }

func (r *redModel) draw() {
	if r.fault != "a draw once and for all" || r.u == 0 {
		r.u = uniform(r.src)
	}
	r.count, r.drawn = 0, true
}

func (r *redModel) signal(p aqm.Packet) aqm.Verdict {
	if r.avg >= r.c.MaxTh && r.fault != "marks above MaxTh" {
		if r.fault == "memory for a forced drop" {
			memory = new(int64)
		}
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	}
	return aqm.MarkOrDrop(p.ECN, aqm.Early)
}

func (r *redModel) elapse(now aqm.Time, empty bool) {
	if !r.started || r.fault == "time 0 is no time" && r.clock == 0 {
		r.started, r.clock = true, now
	}
	if r.fault == "time 0 is no time" && now < 0 {
		empty = false
	}
	if now < r.clock && r.fault != "every now is believed" {
		now = r.clock
	}
	first := r.timer.Next
	if n := r.timer.Ticks(now); r.c.Adaptive {
		r.ticks(first, n, empty)
	}
	if empty && now > r.clock && r.fault != "idle time is lost" {
		r.decay(uint64(now) - uint64(r.clock))
	}
	r.clock = now
}

// ticks adapts max_p n times, with the average as it is at each instant.
func (r *redModel) ticks(first aqm.Time, n uint64, empty bool) {
	before, rest, start := r.avg, r.idleRest, r.clock
	for ; n > 0; n-- {
		if empty && first > start && r.fault != "an average frozen in silence" && r.fault != "idle time is lost" {
			r.avg, r.idleRest = before, rest
			r.decay(uint64(first) - uint64(start))
		}
		was, avg := r.maxP, r.avg
		r.adapt()
		first += aqm.Time(r.timer.Period())
		settled := r.maxP == was && (avg == 0 || !empty || r.fault == "an average frozen in silence")
		if settled && r.fault != "ticks one by one" {
			break
		}
	}
	r.avg, r.idleRest = before, rest
}

func (r *redModel) adapt() {
	c := r.c
	width := c.MaxTh - c.MinTh
	top := c.Top
	if r.fault == "max_p leaves its range" {
		top = 1
	}
	switch {
	case r.avg > c.MinTh+float64(0.6*width):
		r.maxP = min(top, r.maxP+min(0.01, r.maxP/4))
	case r.avg < c.MinTh+float64(0.4*width):
		r.maxP = max(c.Bottom, float64(r.maxP*0.9))
	}
}

// decay lets ns nanoseconds of idle time pass.
func (r *redModel) decay(ns uint64) {
	per := uint64(r.c.MeanPacket) * 8 * 1e9
	hi, lo := bits.Mul64(ns, r.c.Rate)
	lo, carry := bits.Add64(lo, r.idleRest, 0)
	hi += carry
	packets := ^uint64(0)
	r.idleRest = 0
	if hi < per {
		packets, r.idleRest = bits.Div64(hi, lo, per)
	}
	switch r.fault {
	case "idle time in microseconds":
		packets /= 1000
	case "idle packets in 32 bits":
		packets = uint64(uint32(ns) * uint32(r.c.Rate) / uint32(per))
	case "the rest of an idle packet is lost":
		r.idleRest = 0
	case "idle packets one by one":
		for ; packets > 0; packets-- {
			r.avg *= 1 - r.c.Weight
		}
		return
	}
	x := 1 - r.c.Weight
	for ; packets > 0 && r.avg > 0; packets >>= 1 {
		if packets&1 != 0 {
			r.avg *= x
		}
		x *= x
	}
	if r.avg < 1e-200 {
		r.avg = 0
	}
}
