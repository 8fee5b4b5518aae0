package planted

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
)

// codels are a CoDel, one with all options, and one that takes its time. Target is the
// delay of a queue that stands at 10 packets, and Interval a multiple of the period.
var codels = []oracle.CoDelQueue{
	{Target: 5 * time.Millisecond, Interval: 50 * time.Millisecond, MaxPacket: 1000},
	{Target: 2 * time.Millisecond, Interval: 20 * time.Millisecond, MaxPacket: 1514, CEThreshold: 6 * time.Millisecond, MaxDrops: 2},
	{Target: 5 * time.Millisecond, Interval: 150 * time.Millisecond, MaxPacket: 1000},
}

func codelFamily() family {
	return family{
		name: "codel",
		model: func(fault string, variant int, _ rand.Source) aqm.AQM {
			return &codelModel{fault: fault, c: &codels[variant]}
		},
		oracle: func(variant int, _ rand.Source) aqm.AQM { return &oracle.CoDel{CoDelQueue: codels[variant]} },

		variants: 3, checked: []int{0, 1}, period: 500 * time.Microsecond, limit: 60,
		faults: []fault{
			by("above is enough"),
			by("the next signal is due at once"),
			by("the root of all time"),
			by("the interval over count"),
			by("the floor is the largest packet seen"),
			by("no floor"),
			by("the floor is one byte lower"),
			by("two less on re-entry"),
			by("re-entry at any time"),
			by("re-entry forgets the count"),
			by("the count of the last entry is lost"),
			by("the time in 32 bits"),
			by("the count in 16 bits"),
			by("one Newton step a signal"),
			by("at Target"),
			by("after first_above_time, not at it"),
			by("signals from when they come"),
			by("an empty queue is still above"),
			by("a mark does not count"),
			by("a mark does not end the dequeue"),
			by("one drop a dequeue"),
			by("the CE threshold counts"),
			by("no bound on drops"),
			by("catches up on signals"),
			by("every now is believed", "time-backwards"),
			contract("the CE threshold marks NotECT", "not-ect"),
			contract("a list of drops", "no-allocation"),
		},
	}
}

type codelModel struct {
	fault string
	c     *oracle.CoDelQueue

	clock      aqm.Time
	started    bool
	emptied    bool
	emptiedAt  aqm.Time
	above      bool
	firstAbove aqm.Time

	dropping         bool
	dropNext         aqm.Time
	count, lastCount uint64

	dropped  int  // in the dequeue under way
	entering bool // by its last drop
	largest  int64
	list     []int
}

func (d *codelModel) tick(now aqm.Time) {
	if d.fault == "the time in 32 bits" {
		now = aqm.Time(uint32(now))
	}
	if !d.started || now > d.clock || d.fault == "every now is believed" {
		d.started, d.clock = true, now
	}
}

func (d *codelModel) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	d.tick(now)
	if q.Full {
		return overflow
	}
	d.largest = max(d.largest, int64(p.Size))
	if q.Packets == 0 {
		d.emptied, d.emptiedAt = true, now
	}
	return pass
}

func (d *codelModel) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	d.tick(now)
	if d.emptied && p.EnqueuedAt >= d.emptiedAt {
		d.emptied = false
		if d.fault != "an empty queue is still above" {
			d.above, d.dropping = false, false
		}
	}
	sojourn := d.clock.Sub(p.EnqueuedAt)
	if d.fault == "the time in 32 bits" {
		sojourn = time.Duration(uint32(d.clock) - uint32(p.EnqueuedAt))
	}
	over := d.over(sojourn, q.Bytes)
	signal := d.law(over, p)
	if d.c.CEThreshold > 0 && sojourn > d.c.CEThreshold && p.ECN.Capable() {
		if d.fault == "the CE threshold counts" {
			d.count++
		}
		signal = true
	}
	if d.c.CEThreshold > 0 && sojourn > d.c.CEThreshold && d.fault == "the CE threshold marks NotECT" {
		return aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	}
	if !signal {
		d.dropped, d.entering = 0, false
		return pass
	}
	v := aqm.MarkOrDrop(p.ECN, aqm.Early)
	if v.Action == aqm.Drop {
		d.dropped++
		if d.fault == "a list of drops" {
			d.list = append(d.list, d.dropped)
		}
	} else if d.fault != "a mark does not end the dequeue" {
		d.dropped, d.entering = 0, false
	}
	return v
}

// over reports whether the queue has been above Target for an Interval.
func (d *codelModel) over(sojourn time.Duration, bytes int64) bool {
	floor := d.c.MaxPacket
	switch d.fault {
	case "the floor is the largest packet seen":
		floor = max(floor, d.largest)
	case "no floor":
		floor = -1
	case "the floor is one byte lower":
		floor--
	}
	switch {
	case sojourn < d.c.Target, bytes <= floor, d.fault == "at Target" && sojourn == d.c.Target:
		d.above = false
	case !d.above:
		d.above, d.firstAbove = true, d.clock.Add(d.c.Interval)
	case d.fault == "after first_above_time, not at it":
		return d.clock > d.firstAbove
	default:
		return d.clock >= d.firstAbove
	}
	return false
}

func (d *codelModel) law(over bool, p aqm.Packet) bool {
	if d.fault == "above is enough" {
		return over
	}
	if d.entering || d.dropped > 0 && d.fault == "one drop a dequeue" {
		return false // the packet after the one that was dropped on entry
	}
	if !d.dropping {
		if !over {
			return false
		}
		d.enter()
		d.entering = true
		return true
	}
	if !over {
		d.dropping = false
		return false
	}
	if d.dropped > 0 {
		d.advance(d.dropNext)
	}
	if d.clock < d.dropNext || d.c.MaxDrops > 0 && d.dropped >= d.c.MaxDrops && d.fault != "no bound on drops" {
		return false
	}
	if p.ECN.Capable() && d.fault == "a mark does not count" {
		d.advance(d.dropNext)
		return true
	}
	d.count++
	if d.fault == "the count in 16 bits" {
		d.count = uint64(uint16(d.count))
	}
	if p.ECN.Capable() {
		d.advance(d.dropNext)
		for n := 0; d.fault == "catches up on signals" && d.dropNext <= d.clock && n < 1000; n++ {
			d.count++
			d.advance(d.dropNext)
		}
	}
	if d.fault == "signals from when they come" {
		d.dropNext = d.clock
	}
	return true
}

func (d *codelModel) enter() {
	d.dropping = true
	delta := d.count - d.lastCount
	d.count = 1
	recent := d.clock.Sub(d.dropNext) < 16*d.c.Interval || d.fault == "re-entry at any time"
	if delta > 1 && recent && d.fault != "re-entry forgets the count" {
		d.count = delta
		if d.fault == "two less on re-entry" {
			d.count = max(1, delta-2)
		}
	}
	d.advance(d.clock)
	if d.fault == "the next signal is due at once" {
		d.dropNext = d.clock
	}
	if d.fault != "the count of the last entry is lost" {
		d.lastCount = d.count
	}
}

// advance sets drop_next to what follows t.
func (d *codelModel) advance(t aqm.Time) {
	root := math.Sqrt(float64(d.count))
	switch d.fault {
	case "the root of all time":
		d.dropNext = aqm.Time(float64(t.Add(d.c.Interval)) / root)
		return
	case "the interval over count":
		root = float64(d.count)
	case "one Newton step a signal":
		x := 1.0 // 1/sqrt(count), from 1 on
		for range min(d.count, 10) - 1 {
			x *= (3 - float64(d.count)*x*x) / 2
		}
		root = 1 / max(x, 1e-3)
	}
	d.dropNext = t.Add(time.Duration(float64(d.c.Interval) / root))
}
