package pie

import (
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// resetAfter is how long all must be quiet to become inactive, BURST_RESET_TIMEOUT
// [RFC 8034 A.1].
const resetAfter = time.Second

// update runs the updates that fell due until now, with the backlog in bytes since
// the last event, and whether the queue has been empty since.
func (p *PIE) update(now aqm.Time, backlog int64, emptied bool) {
	at, period := p.timer.Next, p.timer.Period()
	n := p.timer.Ticks(now)
	if n == 0 { // at the first event, and at the last instant of time
		return
	}
	if emptied {
		p.enqueued = p.departed // whatever emptied the queue
	}
	if p.activity == inactive && !p.docsis { // RFC 8033 5.3: no updates
		return
	}
	// The first update sees the delay change, and the others do not, unless tokens
	// are still arriving.
	for changing := true; changing && n > 0; n-- {
		var delay float64
		switch p.estimator {
		case timestamps:
			delay, changing = seconds(p.sojourn()), false
		case byRate:
			delay, changing = p.rate.delay(backlog), false
		case tokenBucket:
			delay, changing = p.bucket.delay(at, backlog)
			at = at.Add(period)
		}
		p.step(delay)
	}
	p.repeat(n)
	if p.p == 0 {
		p.accumulated = 0 // RFC 8033 Appendix B; RFC 8034 A.3
	}
	p.arm()
}

// step runs one update.
func (p *PIE) step(delay float64) {
	low := delay < p.low && p.old < p.low
	if p.docsis && p.burst > 0 {
		p.p = 0 // RFC 8034 A.2
	} else {
		p.p = p.law.next(p.p, delay, p.old)
	}
	if p.p == 0 {
		p.accumulated = 0 // p may rise again before an arrival sees it
	}
	p.old = delay
	p.burst = max(0, p.burst-p.timer.Period())
	if p.docsis {
		p.observe(1, low && p.p == 0 && p.burst == 0)
	} else if low && p.p == 0 {
		p.rest()
	}
}

// repeat runs n more updates at the same delay.
func (p *PIE) repeat(n uint64) {
	low := p.old < p.low
	period := p.timer.Period()
	if p.docsis && p.burst > 0 {
		during := min(n, uint64((p.burst-1)/period)) // updates that leave some of it
		p.burst -= time.Duration(during) * period
		if n -= during; n > 0 {
			p.step(p.old)
			n--
		}
	}
	if n == 0 {
		return
	}
	before := p.p
	after, left := p.law.repeat(before, p.old, n)
	p.p = after
	if n > uint64(p.burst/period) {
		p.burst = 0
	} else {
		p.burst -= time.Duration(n) * period
	}
	switch {
	case p.docsis:
		quiet := uint64(0)
		if low && after == 0 {
			quiet = left
			if before != 0 {
				quiet++ // the update that brought it to 0
			}
		}
		p.observe(quiet, true)
	case low && after == 0:
		p.rest()
	}
}

// rest ends congestion: the burst allowance is restored [RFC 8033 4.4], and where
// the algorithm may be inactive, it is [5.3].
func (p *PIE) rest() {
	p.burst = p.config.MaxBurst
	if p.config.LimitBytes > 0 {
		p.activity = inactive
	}
}

// observe notes n updates that all found quiet, or all did not [RFC 8034 A.2].
func (p *PIE) observe(n uint64, quiet bool) {
	if n > 0 && quiet && p.activity == active {
		p.activity, p.quiet = quiescent, 0
		n--
	}
	if n == 0 || p.activity != quiescent {
		return
	}
	period := p.timer.Period()
	switch {
	case !quiet:
		p.quiet = 0
	case p.config.LimitBytes == 0: // without a limit it never is inactive
	case n <= uint64((resetAfter-p.quiet)/period):
		p.quiet += time.Duration(n) * period
	default:
		p.activity, p.quiet = inactive, 0
	}
}
