package tcp

import (
	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
)

// onSACK puts a packet's SACK blocks on the scoreboard: RFC 6675 section 5, Update.
func (e *End) onSACK(p *netmodel.Packet) {
	for _, b := range p.SACK.Blocks[:min(p.SACK.N, netmodel.MaxSACK)] {
		if b.From < e.una || b.To > e.nxt {
			continue // old, or for what was never sent
		}
		_, below := e.board.add(b.From, b.To, e.highRtx)
		e.rtxOut -= below
	}
}

// forget takes what ack covers off the scoreboard.
func (e *End) forget(ack int64) {
	if e.highRtx > e.una {
		high := min(ack, e.highRtx)
		e.rtxOut -= high - e.una - e.board.count(e.una, high)
	}
	e.board.drop(ack)
	e.highRtx = max(e.highRtx, ack)
	if e.highRtx == ack {
		e.rtxOut = 0
	}
}

// edge returns below what all that is not SACKed counts as lost, and how much at or
// above it is SACKed.
func (e *End) edge() (edge, above int64) {
	edge, above = e.board.lost(e.p.mss)
	if e.phase == loss && e.lossEdge > edge {
		edge, above = e.lossEdge, e.board.above(e.lossEdge)
	}
	if edge < e.una {
		edge, above = e.una, e.board.total
	}
	return edge, above
}

// duplicate counts a duplicate ACK: RFC 5681 section 3.2, RFC 6675 section 5.
func (e *End) duplicate(now aqm.Time) {
	e.dupacks++
	switch e.phase {
	case open:
		lost := e.dupacks >= 3
		if !lost && e.p.SACK && !e.p.LikeNS2 {
			edge, _ := e.board.lost(e.p.mss)
			lost = edge > e.una
		}
		if lost && e.una >= e.recover { // RFC 6582 section 3.2 step 1: not for what a timeout sent again
			e.fastRetransmit(now)
		}
	case recovery:
		if !e.p.SACK {
			e.cwnd += e.p.fmss // RFC 5681 section 3.2 step 4
		}
	}
}

// flightHalf is RFC 5681 equation 4; ns-2 halves the window and rounds down.
func (e *End) flightHalf() float64 {
	if e.p.LikeNS2 {
		return max(float64(int64(e.cwnd/2/e.p.fmss))*e.p.fmss, 2*e.p.fmss)
	}
	return max(float64(e.nxt-e.una)/2, 2*e.p.fmss)
}

// fastRetransmit begins a fast recovery: RFC 6675 section 5 step 4; RFC 6582
// section 3.2 step 2 without SACK. If ECN has reduced the window for this window of
// data, loss does not do so again: RFC 3168 section 6.1.2.
func (e *End) fastRetransmit(now aqm.Time) {
	if e.una >= e.reduced {
		if e.p.Variant == CUBIC {
			e.ssthresh = max(e.cubic.reduce(e), 2*e.p.fmss)
		} else {
			e.ssthresh = e.flightHalf()
		}
		e.cwnd = e.ssthresh
		e.sendCWR = e.ecn
	}
	if !e.p.SACK {
		e.cwnd = e.ssthresh + 3*e.p.fmss
	}
	e.phase, e.recover, e.reduced, e.byECN = recovery, e.nxt, e.nxt, false
	e.highRtx, e.rtxOut = e.una, 0
	e.Stats.Recoveries++
	e.again(now, e.una)
	e.setRTO(now)
}

// again sends one segment at seq again, and reports whether there is one.
func (e *End) again(now aqm.Time, seq int64) bool {
	at, n := e.board.gap(seq, e.nxt)
	if n = min(n, e.p.mss); n <= 0 {
		return false
	}
	e.highRtx = max(e.highRtx, at+n)
	e.rtxOut += n
	e.transmit(now, at, n)
	return true
}

// partial takes an ACK of new data in fast recovery, which ends when all that was
// outstanding at its begin is acknowledged.
func (e *End) partial(now aqm.Time, acked int64) {
	if e.una >= e.recover {
		e.phase, e.dupacks = open, 0
		e.cwnd = e.ssthresh
		if !e.p.SACK { // RFC 6582 section 3.2 step 3
			e.cwnd = min(e.ssthresh, max(float64(e.nxt-e.una), e.p.fmss)+e.p.fmss)
		}
		return
	}
	if e.p.SACK {
		return
	}
	// RFC 6582 section 3.2 step 3, a partial ACK.
	e.cwnd -= float64(acked)
	if acked >= e.p.mss {
		e.cwnd += e.p.fmss
	}
	e.cwnd = max(e.cwnd, e.p.fmss)
	e.highRtx = e.una
	e.rtxOut = 0
	e.again(now, e.una)
}

// outputInRecovery sends while the pipe has room: RFC 6675 sections 4, 5. After a
// timeout all that is not SACKed counts as lost, with or without SACK. In NewReno's
// recovery the window is inflated instead, and only new data is sent.
func (e *End) outputInRecovery(now aqm.Time) {
	if e.phase == recovery && !e.p.SACK {
		window := min(int64(e.cwnd), e.p.ReceiveWindow)
		for e.nxt < e.end {
			n := min(e.end-e.nxt, e.p.mss)
			if e.nxt-e.una+n > window || !e.room(now) {
				return
			}
			e.transmit(now, e.nxt, n)
		}
		return
	}
	edge, above := e.edge()
	for {
		pipe := e.nxt - edge - above + e.rtxOut // SetPipe
		if float64(pipe)+e.p.fmss > e.cwnd || !e.room(now) {
			return
		}
		at, n := e.board.gap(max(e.highRtx, e.una), edge)
		switch {
		case n > 0: // NextSeg rule 1: lost, and not sent again
			e.again(now, at)
		case e.nxt < e.end && e.nxt-e.una < e.p.ReceiveWindow: // rule 2: new data
			e.transmit(now, e.nxt, min(e.end-e.nxt, e.p.mss, e.p.ReceiveWindow-(e.nxt-e.una)))
		default: // rule 3: not SACKed, below something that is
			if at, n = e.board.gap(max(e.highRtx, e.una), e.board.top()); n <= 0 {
				return
			}
			e.again(now, at)
		}
	}
}

// timeout is the retransmission timer: RFC 6298 section 5, RFC 5681 section 3.1.
func (e *End) timeout(now aqm.Time) {
	if e.state == synSent || e.state == synReceived {
		e.synTimeout(now)
		return
	}
	if e.state != established || e.una == e.nxt && e.una == e.end {
		return
	}
	e.Stats.Timeouts++
	waiting := e.una == e.nxt // RFC 3168: a window below one segment, nothing is lost
	if !waiting {
		if e.phase != loss || e.una >= e.recover { // RFC 5681: not again for the same data
			switch {
			case e.p.LikeNS2 && e.byECN: // the threshold stays as ECN left it
			case e.p.Variant == CUBIC:
				e.ssthresh = max(e.cubic.reduce(e), 2*e.p.fmss)
			default:
				e.ssthresh = e.flightHalf()
			}
		}
		e.phase, e.recover, e.lossEdge = loss, e.nxt, e.nxt
		e.highRtx, e.rtxOut, e.dupacks = e.una, 0, 0
		e.timedSeq = 0
		e.reduced = e.nxt
		e.sendCWR = e.ecn
	}
	if e.rto<<e.backoff < e.p.maxRTO {
		e.backoff++
	}
	e.byECN = e.byECN && e.p.LikeNS2 // its reduction goes on being the last
	if e.p.LikeNS2 && !e.byECN {
		e.reduced = 0 // ECN reacts at once after a timeout
	}
	e.cwnd = e.p.fmss
	e.cubic.epoch = 0
	if e.una < e.nxt || e.nxt < e.end {
		e.setRTO(now)
	}
	e.output(now)
}
