package red

import (
	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/num"
)

// elapse lets the ticks until now happen. now is an event before which the queue
// has been empty, or has not, since the event before it.
//
//go:noinline
func (r *RED) elapse(now aqm.Time, empty bool) {
	if !r.started {
		r.started = true
		r.clock = now
	}
	if r.config.Adaptive {
		now = max(now, r.clock)
		first := r.timer.Next
		if n := r.timer.Ticks(now); n > 0 {
			r.adapt(first, n, empty)
		}
	}
	r.setWake()
}

// adapt carries out n ticks, the first of them at first. Each sees the average as
// it is at its instant. Over an idle time the average only falls, so that ticks
// above the band, in it, and below it follow each other in this order, and a search
// finds where one ends and the next starts. Above and below, max_p is at the end of
// its range after a bounded number of ticks.
func (r *RED) adapt(first aqm.Time, n uint64, empty bool) {
	above, notBelow := n, n // ticks that see more than bandHigh, and no less than bandLow
	switch {
	case empty:
		above = r.search(first, n, func(avg float64) bool { return avg <= r.bandHigh })
		notBelow = r.search(first, n, func(avg float64) bool { return avg < r.bandLow })
	case r.avg < r.bandLow:
		above, notBelow = 0, 0
	case r.avg <= r.bandHigh:
		above = 0
	}
	p := r.maxP
	bottom, top := r.config.bounds()
	for ; above > 0 && p < top; above-- {
		p = min(top, p+min(0.01, p/4)) // ARED 4
	}
	for below := n - notBelow; below > 0 && p > bottom; below-- {
		p = max(bottom, float64(p*0.9)) // ARED 4
	}
	r.setMaxP(p)
}

// search returns the first of n ticks of an idle time at which the average is as
// wanted, or n. Once it is, it stays so.
func (r *RED) search(first aqm.Time, n uint64, wanted func(avg float64) bool) uint64 {
	low, high := uint64(0), n
	for low < high {
		mid := low + (high-low)/2
		at := uint64(first) + mid*uint64(r.timer.Period())
		idle := uint64(0)
		if int64(at) > int64(r.clock) {
			idle = at - uint64(r.clock)
		}
		m, _ := r.idle.packets(idle)
		if wanted(r.avg * num.Power(r.keep, m)) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}
