package netmodel

import (
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// Link carries packets one way, one after the other, at a rate and then over a
// delay. It is a queue under an AQM, or, without a limit, a wire: a lossless queue
// of any length, as in front of a host's own interface.
//
// What is computed is exact, and late: a link with a queue looks at it when a packet
// arrives, when one may leave, or when someone asks. Each packet's transmission
// begins when the one before has ended, with the AQM's Dequeue at that instant. A
// departure at the instant of an arrival comes first.
type Link struct {
	net    *Net
	fifo   *aqm.FIFO[*Packet] // nil: a wire
	fedBy  *Link              // the only link that feeds this wire; nil: any, at event time
	free   aqm.Time           // when the packet in transmission, or the last one, has left
	psByte uint64             // picoseconds to send a byte
	delay  aqm.Time
	id     sim.ID
	sink   uint8
	armed  aqm.Time // of the pending event, or sim.Never
	ring   ring

	sentPackets, sentBytes uint64

	stats    Stats
	areaAt   aqm.Time
	flows    []Counters
	sojourns *Histogram
	aqm      aqm.AQM
	rate     uint64
	name     string
}

func (l *Link) tx(size uint32) aqm.Time { return aqm.Time(uint64(size) * l.psByte / 1000) }

// send takes a packet at a time at or after the last one's. For a wire that is fed
// by one link the time may lie ahead of the clock.
func (l *Link) send(at aqm.Time, p *Packet) {
	if l.fifo == nil {
		l.free = max(l.free, at) + l.tx(p.Size)
		l.sentPackets++
		l.sentBytes += uint64(p.Size)
		l.forward(l.free+l.delay, p)
		return
	}
	if l.free <= at && l.fifo.Len() != 0 {
		l.serve(at)
	}
	l.account(at)
	kind := KindOf(p.Class)
	c := &l.stats.Kinds[kind]
	c.Arrived++
	v := l.fifo.Enqueue(at, p, aqm.Packet{Size: p.Size, ECN: p.ECN, Class: p.Class})
	if uint(p.flow.id) < uint(len(l.flows)) {
		l.flows[p.flow.id].Arrived++
	}
	if v.Action == aqm.Drop {
		l.dropped(p, v)
		return
	}
	if l.free <= at { // idle: straight to transmission
		l.free = at
		l.serve(at)
	} else if l.armed == sim.Never {
		l.arm(l.free + l.delay)
	}
}

// serve begins every transmission that begins by now.
func (l *Link) serve(now aqm.Time) {
	for l.free <= now && l.fifo.Len() != 0 {
		start := l.free
		l.account(start)
		p, meta, ok := l.fifo.Dequeue(start)
		if !ok {
			return
		}
		if meta.ECN != p.ECN {
			l.marked(p)
		}
		l.sojourns.Add(time.Duration(start - meta.EnqueuedAt))
		l.sentPackets++
		l.sentBytes += uint64(p.Size)
		l.free = start + l.tx(p.Size)
		l.forward(l.free+l.delay, p)
	}
}

// account adds the time since the last change of the queue to its integral.
func (l *Link) account(at aqm.Time) {
	dt := float64(at - l.areaAt)
	l.stats.PacketTime += float64(dt * float64(l.fifo.Len()))
	l.stats.ByteTime += float64(dt * float64(l.fifo.Bytes()))
	l.areaAt = at
}

//go:noinline
func (l *Link) marked(p *Packet) {
	p.ECN = aqm.CE
	l.stats.Kinds[KindOf(p.Class)].Marked++
	if uint(p.flow.id) < uint(len(l.flows)) {
		l.flows[p.flow.id].Marked++
	}
}

//go:noinline
func (l *Link) dropped(p *Packet, v aqm.Verdict) {
	l.stats.Kinds[KindOf(p.Class)].drop(v.Reason)
	if uint(p.flow.id) < uint(len(l.flows)) {
		l.flows[p.flow.id].drop(v.Reason)
	}
	l.net.Free(p)
}

// forward has p arrive at the end of the link.
func (l *Link) forward(at aqm.Time, p *Packet) {
	p.hop++
	if int(p.hop) < len(p.flow.links) {
		if next := p.flow.links[p.hop]; next.fedBy == l {
			next.send(at, p)
			return
		}
	}
	if l.ring.empty() {
		l.arm(at)
	}
	l.ring.push(at, p)
}

func (l *Link) arm(at aqm.Time) {
	if at < l.armed {
		l.armed = at
		l.net.sim.Set(l.id, at)
	}
}

// Fire implements sim.Source: a packet arrives at the end of the link, or the queue
// must be looked at before one could.
func (l *Link) Fire(now aqm.Time) aqm.Time {
	l.armed = -1 // no call of arm until this is settled
	if l.fifo != nil && l.free <= now && l.fifo.Len() != 0 {
		l.serve(now)
	}
	if !l.ring.empty() && l.ring.next() <= now {
		p := l.ring.pop()
		if !l.ring.empty() {
			l.sink += l.ring.first().hop // has the next one in the cache when it comes
		}
		if int(p.hop) < len(p.flow.links) {
			p.flow.links[p.hop].send(now, p)
		} else {
			if l.net.latency != nil {
				l.net.latency[KindOf(p.Class)].Add(time.Duration(now - p.sent))
			}
			p.flow.to.Receive(now, p)
		}
	}
	next := sim.Never
	if !l.ring.empty() {
		next = l.ring.next()
	} else if l.fifo != nil && l.fifo.Len() != 0 {
		next = l.free + l.delay
	}
	l.armed = next
	return next
}

// Sync begins every transmission that begins by now, so that what is read of the
// link is what it is now.
func (l *Link) Sync() {
	if l.fifo != nil {
		now := l.net.sim.Now()
		l.serve(now)
		l.account(now)
	}
}

// SetRate changes the capacity. The packet in transmission is finished at the old
// rate. A rate of 0 is ignored.
func (l *Link) SetRate(rate uint64) {
	if rate == 0 {
		return
	}
	l.Sync()
	l.rate = rate
	l.psByte = max(1, (8_000_000_000_000+rate/2)/rate)
}

// Rate returns the capacity in bit/s.
func (l *Link) Rate() uint64 { return l.rate }

// Name returns the name that the topology gave the link.
func (l *Link) Name() string { return l.name }

// Len returns the number of queued packets, the one in transmission not included.
func (l *Link) Len() int {
	l.Sync()
	if l.fifo == nil {
		return 0
	}
	return l.fifo.Len()
}

// Bytes returns the queued bytes, the packet in transmission not included.
func (l *Link) Bytes() int64 {
	l.Sync()
	if l.fifo == nil {
		return 0
	}
	return l.fifo.Bytes()
}
