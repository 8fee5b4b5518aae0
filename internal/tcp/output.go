package tcp

import (
	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// output sends what the windows allow, and then the acknowledgement that is owed.
func (e *End) output(now aqm.Time) {
	if e.state != established {
		return
	}
	if e.phase == open {
		if e.p.LikeNS2 && e.una == e.nxt && e.cwnd >= e.p.fmss && now-e.lastSend > e.srtt+4*e.rttvar {
			// Where nothing is outstanding and an RTO has passed, ns-2 takes a wait
			// for the timer as idleness, and begins with the initial window.
			e.cwnd = e.initialWindow()
			e.sendCWR = e.ecn
		}
		window := min(int64(e.cwnd)+e.p.limited*int64(min(e.dupacks, 2)), e.p.ReceiveWindow)
		for e.nxt < e.end {
			n := min(e.end-e.nxt, e.p.mss)
			if e.nxt-e.una+n > window && !(e.onlyFIN() && e.nxt-e.una <= window) {
				break
			}
			if !e.room(now) {
				break
			}
			e.transmit(now, e.nxt, n)
		}
	} else {
		e.outputInRecovery(now)
	}
	if e.ackNow {
		e.sendACK(now)
	}
}

// room reports whether the host's queue has room for a segment. If not, the timer is
// set for when it has.
func (e *End) room(now aqm.Time) bool {
	if !e.p.SmallQueues || e.departs[0] <= now {
		return true
	}
	e.sendAt = e.departs[0]
	e.arm(e.sendAt)
	return false
}

// onlyFIN reports whether nothing but the FIN is left to send.
func (e *End) onlyFIN() bool { return e.finAsked && e.nxt == e.end-1 }

// transmit sends n sequence numbers from seq, new ones or again. The last of all may
// be the FIN's.
func (e *End) transmit(now aqm.Time, seq, n int64) {
	p := e.net.Packet()
	p.Seq = seq
	p.Flags, p.Class, p.ECN = netmodel.ACK, aqm.Data, aqm.NotECT
	again := seq < e.nxt
	if e.finAsked && seq+n == e.end {
		p.Flags |= netmodel.FIN
		p.Class |= aqm.FIN
		p.Len = uint32(n - 1)
		if n == 1 {
			p.Class = aqm.FIN
		}
	} else {
		p.Len = uint32(n)
	}
	if again && e.ecn && e.p.LikeNS2 {
		p.ECN = aqm.ECT0
		if e.sendCWR {
			e.sendCWR = false
			p.Flags |= netmodel.CWR
		}
	}
	if again {
		e.Stats.Retransmits++
		if e.timedSeq > seq {
			e.timedSeq = 0 // Karn: an ACK may be for either
		}
	} else {
		e.nxt = seq + n
		if e.timedSeq == 0 {
			e.timedSeq, e.timedAt = e.nxt, now
		}
		if e.ecn && p.Len > 0 { // RFC 3168 sections 6.1.2, 6.1.5: new data alone
			p.ECN = aqm.ECT0
			if e.sendCWR {
				e.sendCWR = false
				p.Flags |= netmodel.CWR
			}
		}
	}
	e.Stats.Segments++
	e.Stats.Bytes += uint64(p.Len)
	e.lastSend = now
	if e.rtoAt == sim.Never {
		e.setRTO(now)
	}
	e.acknowledge(p, e.ce && e.ecn)
	e.send(now, p)
	if e.p.SmallQueues {
		e.departs[0], e.departs[1] = e.departs[1], e.out.Departure()
	}
}

// acknowledge adds what every packet says of the other direction.
func (e *End) acknowledge(p *netmodel.Packet, ece bool) {
	p.Ack = e.rcvNxt
	p.Size = uint32(e.p.Header) + p.Len
	if ece {
		p.Flags |= netmodel.ECE
		p.Class |= aqm.ECE
	}
	if e.ecn && e.p.ECTAll {
		p.ECN = aqm.ECT0
	}
	e.ackSent = e.rcvNxt
	e.ackNow = false
	e.delackAt = sim.Never
	if len(e.ooo.s) != 0 && e.p.SACK {
		e.blocks(p)
	}
}

// sendACK sends a pure ACK.
func (e *End) sendACK(now aqm.Time) { e.pureACK(now, e.ce && e.ecn) }

func (e *End) pureACK(now aqm.Time, ece bool) {
	p := e.net.Packet()
	p.Seq, p.Len = e.nxt, 0
	p.Flags, p.Class, p.ECN = netmodel.ACK, aqm.PureACK, aqm.NotECT
	e.Stats.ACKs++
	e.acknowledge(p, ece)
	e.send(now, p)
}
