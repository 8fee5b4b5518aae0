package tcp

import (
	"slices"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// Receive implements netmodel.Receiver.
func (e *End) Receive(now aqm.Time, p *netmodel.Packet) {
	if p.Gen != e.gen || e.state == closed && p.Len == 0 && p.Flags&netmodel.FIN == 0 {
		e.net.Free(p)
		return
	}
	e.busy = true
	if e.state == established || e.state == closed || e.handshake(now, p) {
		e.segment(now, p)
	}
	e.busy = false
	e.net.Free(p)
	if e.state == closed {
		e.conn.over()
	}
}

// segment takes a packet of an established connection.
func (e *End) segment(now aqm.Time, p *netmodel.Packet) {
	if p.Flags&netmodel.SYN != 0 { // the SYN-ACK again: our ACK was lost
		e.sendACK(now)
		return
	}
	if p.Flags&netmodel.ACK != 0 && e.state == established {
		e.onACK(now, p)
	}
	if p.Len != 0 || p.Flags&netmodel.FIN != 0 {
		e.onData(now, p)
	}
	e.output(now)
	if e.finRead && e.finAcked && e.state == established {
		e.finish()
	}
}

// finish closes an end whose FIN is acknowledged and who has read the other's. It
// still answers what comes again because its ACK was lost.
func (e *End) finish() {
	e.state = closed
	e.rtoAt = sim.Never
	if e.peer.state == closed {
		e.conn.pool.Finished++
	}
}

// onData takes payload, or a FIN.
func (e *End) onData(now aqm.Time, p *netmodel.Packet) {
	if e.ecn {
		e.congestion(now, p)
	}
	from, to := p.Seq, p.Seq+int64(p.Len)
	if p.Flags&netmodel.FIN != 0 {
		e.peerFIN = to
		to++
	}
	switch {
	case from <= e.rcvNxt && to > e.rcvNxt:
		e.inOrder(now, to)
	case to <= e.rcvNxt:
		e.ackNow = true // RFC 9293 section 3.10.7.4: nothing new in it
		if e.state == closed {
			e.sendACK(now)
		}
	default:
		e.ooo.add(from, to, 0)
		e.remember(from)
		e.ackNow = true // RFC 5681 section 4.2: out of order
	}
}

// inOrder takes what continues the stream, up to to.
func (e *End) inOrder(now aqm.Time, to int64) {
	was := e.rcvNxt
	e.rcvNxt = to
	if len(e.ooo.s) != 0 {
		if at, _ := e.ooo.gap(to, forever); at > to {
			e.rcvNxt = at
		}
		e.ooo.drop(e.rcvNxt)
		e.ackNow = true // RFC 5681 section 4.2: it fills a gap
	}
	n := e.rcvNxt - was
	fin := e.peerFIN != 0 && e.rcvNxt > e.peerFIN
	if fin {
		n--
		e.ackNow = true
	}
	if e.rcvNxt-e.ackSent >= e.p.ackEvery {
		e.ackNow = true
	} else if e.delackAt == sim.Never {
		e.delackAt = now + e.p.delack
		if e.p.LikeNS2 { // one clock ticks for all
			e.delackAt = (now/e.p.delack + 1) * e.p.delack
		}
		e.arm(e.delackAt)
	}
	if n > 0 {
		e.app.Read(now, e, n)
	}
	if fin && !e.finRead {
		e.finRead = true
		e.app.Closed(now, e, nil)
	}
}

// congestion is the receiver's part of ECN.
func (e *End) congestion(now aqm.Time, p *netmodel.Packet) {
	if e.p.Variant == DCTCP {
		// RFC 8257 section 3.2: when CE changes, what came before is acknowledged
		// at once, as it was.
		if ce := p.ECN == aqm.CE; ce != e.ce && p.ECN != aqm.NotECT {
			if e.rcvNxt > e.ackSent {
				e.sendACK(now)
			}
			e.ce = ce
		}
		return
	}
	// RFC 3168 section 6.1.3: ECE in every ACK from a CE until a CWR.
	if p.Flags&netmodel.CWR != 0 {
		e.ce = false
	}
	if p.ECN == aqm.CE {
		e.ce = true
	}
}

// remember puts the block of seq in front of those that the next ACKs report: RFC
// 2018 section 4.
func (e *End) remember(seq int64) {
	if e.nRecent > 0 && e.sameBlock(e.recent[0], seq) {
		return
	}
	last := seq
	for i := range e.recent {
		if i >= int(e.nRecent) {
			e.recent[i] = last
			e.nRecent++
			return
		}
		e.recent[i], last = last, e.recent[i]
		if e.sameBlock(last, seq) {
			return
		}
	}
}

func (e *End) sameBlock(a, b int64) bool {
	i := e.ooo.search(a + 1)
	return i < len(e.ooo.s) && e.ooo.s[i].From <= min(a, b) && max(a, b) < e.ooo.s[i].To
}

// blocks adds the SACK option: the block of the latest arrival first.
func (e *End) blocks(p *netmodel.Packet) {
	o := e.net.SACK()
	kept := uint8(0)
	for _, seq := range e.recent[:e.nRecent] {
		i := e.ooo.search(seq + 1)
		if i >= len(e.ooo.s) || e.ooo.s[i].From > seq {
			continue // acknowledged by now
		}
		b := e.ooo.s[i]
		if known := o.Blocks[:o.N]; slices.Contains(known, b) {
			continue
		}
		e.recent[kept] = seq
		kept++
		o.Blocks[o.N] = b
		o.N++
	}
	e.nRecent = kept
	p.SACK = o
	p.Size += 4 + 8*uint32(o.N) // RFC 2018 section 3, padded to words
}
