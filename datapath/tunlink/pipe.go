package tunlink

import (
	"math"
	"sync"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/wire"
	"github.com/aqmkit/aqmkit/internal/serve"
)

// packet is a packet in its buffer. Packets are linked into lists, and used again.
type packet struct {
	bytes []byte   // of buf
	ecn   aqm.ECN  // before it was marked
	due   aqm.Time // at the far end
	next  *packet
	buf   []byte
}

// list is a first-in first-out list of packets.
type list struct{ first, last *packet }

func (l *list) push(p *packet) {
	p.next = nil
	if l.first == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
}

func (l *list) pop() *packet {
	p := l.first
	if p != nil {
		l.first = p.next
		p.next = nil
	}
	return p
}

// pipe is one direction of a link. The goroutine that reads the device at its
// beginning calls arrive, the one that writes the device at its end calls deliver,
// and both carry out the departures that have become due: that they are late does
// not show, as long as a packet is ready by the time it is due at the far end.
type pipe struct {
	delay time.Duration
	mtu   int

	mu       sync.Mutex
	link     *serve.Server[*packet]
	flight   list // in the order in which they are due
	inFlight int
	free     list
	idle     bool // deliver waits for the next arrival
	stats    DirectionStats
}

// never is an instant that does not come.
const never = aqm.Time(math.MaxInt64)

func newPipe(d Direction, mtu int) (*pipe, error) {
	p := &pipe{delay: d.Delay, mtu: mtu, stats: DirectionStats{Sojourn: newHistogram(), Lateness: newHistogram()}}
	var err error
	p.link, err = serve.New(aqm.FIFOConfig[*packet]{
		LimitPackets: d.LimitPackets,
		LimitBytes:   d.LimitBytes,
		OnDrop:       p.dropped,
	}, d.Rate, d.AQM, p.sent)
	return p, err
}

// take returns a packet with an empty buffer.
func (p *pipe) take() *packet {
	p.mu.Lock()
	pk := p.free.pop()
	p.mu.Unlock()
	if pk == nil {
		pk = &packet{buf: make([]byte, p.mtu)}
	}
	return pk
}

// arrive takes the packet of n bytes in pk's buffer into the link. wake says that
// deliver has to be called.
func (p *pipe) arrive(clock func() aqm.Time, pk *packet, n int) (wake bool) {
	pk.bytes = pk.buf[:n]
	q, err := wire.ParseIP(pk.bytes)
	if err != nil {
		q = aqm.Packet{Size: uint32(n), Class: aqm.Other}
	}
	pk.ecn = q.ECN

	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.stats.Malformed++
	}
	p.stats.Arrived[GroupOf(q.Class)]++
	// The clock is read under the lock, so that no departure is carried out in
	// between that the arrival should have seen.
	if v := p.link.Arrive(clock(), pk, q); v.Action == aqm.Drop {
		p.discard(pk, q, v)
	}
	wake = p.idle && p.flight.first != nil
	if wake {
		p.idle = false
	}
	return wake
}

// sent is told by the link that a packet is in transmission until end.
func (p *pipe) sent(pk *packet, q aqm.Packet, start, end aqm.Time) {
	if q.ECN == aqm.CE && pk.ecn != aqm.CE && wire.SetCE(pk.bytes) {
		p.stats.MarkedSent++
	}
	observe(p.stats.Sojourn, start.Sub(q.EnqueuedAt))
	pk.due = end.Add(p.delay)
	p.flight.push(pk)
	p.inFlight++
}

// dropped is told by the queue that a packet was dropped at its head.
func (p *pipe) dropped(pk *packet, q aqm.Packet, v aqm.Verdict) {
	if q.ECN == aqm.CE && pk.ecn != aqm.CE {
		p.stats.MarkedDropped++
	}
	p.discard(pk, q, v)
}

func (p *pipe) discard(pk *packet, q aqm.Packet, v aqm.Verdict) {
	p.stats.Dropped[GroupOf(q.Class)][v.Reason]++
	p.free.push(pk)
}

// deliver returns the packets that are due at the far end by now, and when to call
// again. If that is never, the next arrival says when.
func (p *pipe) deliver(now aqm.Time) (due list, next aqm.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link.Advance(now)
	for p.flight.first != nil && p.flight.first.due <= now {
		observe(p.stats.Lateness, now.Sub(p.flight.first.due))
		due.push(p.flight.pop())
		p.inFlight--
	}
	// While the transmitter is busy, its packet is in flight. So if none is, the
	// queue is empty too.
	if p.idle = p.flight.first == nil; p.idle {
		return due, never
	}
	return due, p.flight.first.due
}

// release takes back packets that were delivered, of which failed were not taken.
func (p *pipe) release(done list, failed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.WriteErrors += failed
	for pk := done.pop(); pk != nil; pk = done.pop() {
		p.free.push(pk)
	}
}

// snapshot returns the statistics as of now.
func (p *pipe) snapshot(now aqm.Time) DirectionStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link.Advance(now)
	s := p.stats
	queue := p.link.Queue()
	s.Queue = queue.Stats()
	s.Queued = aqm.Count{Packets: uint64(queue.Len()), Bytes: uint64(queue.Bytes())}
	s.InFlight = p.inFlight
	s.Sojourn, s.Lateness = s.Sojourn.Clone(), s.Lateness.Clone()
	return s
}
