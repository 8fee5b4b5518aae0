package tcp

import (
	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// onACK takes the acknowledgement that a packet carries.
func (e *End) onACK(now aqm.Time, p *netmodel.Packet) {
	if p.Ack > e.nxt {
		return // for what was never sent
	}
	ece := p.Flags&netmodel.ECE != 0 && e.ecn
	if p.SACK != nil && e.p.SACK {
		e.onSACK(p)
	}
	if p.Ack > e.una {
		e.newACK(now, p.Ack, ece)
		return
	}
	if e.p.Variant == DCTCP {
		e.dctcp.count(0, ece)
	}
	if p.Ack == e.una && p.Len == 0 && p.Flags&netmodel.FIN == 0 && e.nxt > e.una {
		e.duplicate(now)
	}
	if ece {
		e.onECE(now)
	}
}

func (e *End) newACK(now aqm.Time, ack int64, ece bool) {
	acked, flight := ack-e.una, e.nxt-e.una
	if e.timedSeq != 0 && ack >= e.timedSeq {
		e.sample(now - e.timedAt)
		e.timedSeq = 0
	}
	e.backoff = 0
	if e.highRtx > e.una || len(e.board.s) != 0 {
		e.forget(ack)
	}
	e.una = ack
	// RFC 6298 section 5.2, 5.3. In a recovery every partial ACK restarts the timer:
	// RFC 6582 section 4, Slow-but-Steady.
	if e.una == e.nxt {
		e.rtoAt = sim.Never
	} else {
		e.setRTO(now)
	}
	if e.p.Variant == DCTCP {
		e.dctcp.count(acked, ece)
		e.dctcp.window(e)
	}
	if ece {
		e.onECE(now)
	}
	switch e.phase {
	case open:
		e.dupacks = 0
		if !ece || e.p.Variant == DCTCP {
			e.grow(now, acked, flight)
		}
	case recovery:
		e.partial(now, acked)
	case loss:
		if e.una >= e.recover {
			e.phase, e.dupacks = open, 0
		}
		// The window was cut for the timeout, and CWR can only be said on new data, which
		// there is none of while all is sent again: an echo here is of a cut that was made.
		// To wait for its end would be to crawl at one segment a round trip.
		if !ece || !e.p.LikeNS2 {
			e.grow(now, acked, int64(e.cwnd))
		}
	}
	e.Stats.BytesAcked += uint64(acked)
	if e.finAsked && e.una == e.end {
		e.finAcked = true
		acked--
	}
	if acked > 0 {
		e.app.Acked(now, e, acked)
	}
}

// grow opens the window for an ACK of new data: RFC 5681 section 3.1, and RFC 3465
// with ByteCounting. flight is what was outstanding before it: a window that is not
// used does not grow.
func (e *End) grow(now aqm.Time, acked, flight int64) {
	if float64(flight)+e.p.fmss <= e.cwnd {
		return
	}
	if e.cwnd < e.ssthresh { // slow start
		if e.p.ByteCounting {
			e.cwnd += min(float64(acked), 2*e.p.fmss)
		} else {
			e.cwnd += e.p.fmss
		}
		return
	}
	if e.p.Variant == CUBIC {
		e.cubic.grow(e, now, acked)
		return
	}
	if e.p.ByteCounting {
		e.cwnd += float64(acked) * e.p.fmss / e.cwnd
	} else {
		e.cwnd += float64(e.p.fmss*e.p.fmss) / e.cwnd
	}
}

// onECE reacts to an ECN-Echo once for each window of data: RFC 3168 section 6.1.2.
func (e *End) onECE(now aqm.Time) {
	if e.una <= e.reduced {
		return
	}
	if e.p.Variant == DCTCP && e.dctcp.alpha == 0 {
		return
	}
	small := e.cwnd <= e.p.fmss
	switch e.p.Variant {
	case CUBIC:
		e.ssthresh = max(e.cubic.reduce(e), 2*e.p.fmss)
		e.cwnd = e.ssthresh
	case DCTCP: // RFC 8257 section 3.3, equation 9
		e.cwnd = max(e.cwnd*(1-e.dctcp.alpha/2), e.p.fmss)
		e.ssthresh = max(e.cwnd, 2*e.p.fmss)
	default:
		e.cwnd /= 2
		e.ssthresh = max(e.cwnd, 2*e.p.fmss)
		if e.p.LikeNS2 {
			e.ssthresh = max(float64(int64(e.cwnd/e.p.fmss))*e.p.fmss, 2*e.p.fmss)
		} else {
			e.cwnd = max(e.cwnd, e.p.fmss)
		}
	}
	e.reduced, e.byECN = e.nxt, true
	e.sendCWR = true
	e.Stats.ECNReductions++
	if small && !e.p.LikeNS2 && e.p.Variant != DCTCP || e.cwnd < e.p.fmss {
		// RFC 3168: a window of one segment cannot be halved; the next one is sent
		// when the timer expires.
		e.cwnd = min(e.cwnd, e.p.fmss-1)
		e.setRTO(now)
	}
}
