package tcp

import (
	"errors"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// ErrTimeout is what Closed gets when a handshake was given up.
var ErrTimeout = errors.New("tcp: no answer to the SYN")

func (e *End) open(now aqm.Time) {
	e.state = synSent
	e.Stats.Opened = now
	e.nxt = 1
	e.sendSYN(now)
}

// sendSYN sends a SYN or, after one was received, the SYN-ACK: RFC 3168 section
// 6.1.1 with the flags, RFC 5562 with the codepoint.
func (e *End) sendSYN(now aqm.Time) {
	p := e.net.Packet()
	p.Seq, p.Ack, p.Len = 0, e.rcvNxt, 0
	p.Size = uint32(e.p.Header)
	p.ECN = aqm.NotECT
	if e.state == synSent {
		p.Flags, p.Class = netmodel.SYN, aqm.SYN
		if e.p.ECN {
			p.Flags |= netmodel.ECE | netmodel.CWR
			p.Class |= aqm.ECE
		}
	} else {
		p.Flags, p.Class = netmodel.SYN|netmodel.ACK, aqm.SYNACK
		if e.ecn {
			p.Flags |= netmodel.ECE
			p.Class |= aqm.ECE
		}
		e.ackSent = e.rcvNxt
	}
	if e.p.ECTAll || e.synACKECT {
		p.ECN = aqm.ECT0
	}
	if e.synTries == 0 {
		e.timedSeq, e.timedAt = 1, now
	} else {
		e.timedSeq = 0 // Karn
	}
	e.synTries++
	e.Stats.SYNs++
	e.setRTO(now)
	e.send(now, p)
}

func (e *End) send(now aqm.Time, p *netmodel.Packet) {
	p.Gen = e.peer.gen
	e.out.Send(now, p)
}

// synTimeout sends the SYN or SYN-ACK again, with twice the timeout.
func (e *End) synTimeout(now aqm.Time) {
	e.Stats.Timeouts++
	if int(e.synTries) >= e.p.MaxSYN {
		e.fail(now)
		return
	}
	if e.rto<<e.backoff < e.p.maxRTO {
		e.backoff++
	}
	e.synACKECT = false // RFC 5562 section 3.2: a dropped one is sent again as NotECT
	e.sendSYN(now)
}

// fail ends a connection that was not established.
func (e *End) fail(now aqm.Time) {
	c := e.conn
	c.pool.Failed++
	for _, x := range [2]*End{&c.Client, &c.Server} {
		x.state = closed
		x.rtoAt, x.delackAt = sim.Never, sim.Never
		x.app.Closed(now, x, ErrTimeout)
	}
	c.over()
}

// handshake takes a packet of an end that is not established, and reports whether
// it is now and the packet has more to say.
func (e *End) handshake(now aqm.Time, p *netmodel.Packet) bool {
	const flags = netmodel.SYN | netmodel.ACK
	switch e.state {
	case listen:
		if p.Flags&flags != netmodel.SYN {
			return false
		}
		e.state, e.rcvNxt, e.nxt = synReceived, 1, 1
		e.Stats.Opened = now
		e.ecn = e.p.ECN && p.Flags&netmodel.ECE != 0 && p.Flags&netmodel.CWR != 0
		e.synACKECT = e.ecn && e.p.ECNSYNACK
		e.sendSYN(now)
	case synSent:
		if p.Flags&flags != flags || p.Ack != 1 {
			return false
		}
		e.rcvNxt = 1
		e.ecn = e.p.ECN && p.Flags&netmodel.ECE != 0
		if p.ECN == aqm.CE && e.ecn && e.p.ECNSYNACK {
			// RFC 5562 section 3.1: say so, and wait for a SYN-ACK without ECT.
			e.setRTO(now)
			e.pureACK(now, true)
			return false
		}
		e.connected(now)
		e.pureACK(now, false)
		e.app.Connected(now, e)
		e.output(now)
	case synReceived:
		if p.Flags&flags == netmodel.SYN { // the SYN again: the SYN-ACK was lost, or late
			return false
		}
		if p.Flags&netmodel.ACK == 0 || p.Ack < 1 || p.Flags&netmodel.SYN != 0 {
			return false
		}
		if p.Flags&netmodel.ECE != 0 && p.Len == 0 && e.synACKECT {
			e.synACKECT, e.oneIW = false, true
			e.sendSYN(now)
			return false
		}
		e.connected(now)
		e.app.Connected(now, e)
		return e.state == established
	}
	return false
}

// connected settles what the SYN's acknowledgement says.
func (e *End) connected(now aqm.Time) {
	e.state = established
	e.Stats.Established = now
	e.una = 1
	e.rtoAt = sim.Never
	e.backoff = 0
	if e.timedSeq != 0 {
		e.sample(now - e.timedAt)
		e.timedSeq = 0
	} else {
		e.rto = max(e.rto, aqm.Time(3*time.Second)) // RFC 6298 section 5.7: the SYN's timer had expired
	}
	e.cwnd = e.initialWindow()
	if e.synTries > 1 && !e.p.LikeNS2 {
		e.cwnd = e.p.fmss // RFC 5681 section 3.1: 1 segment after a lost SYN
	}
	e.lastSend = now
}
