package tunlink

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/wire"
	"github.com/aqmkit/aqmkit/internal/serve"
)

// packet is a packet in its buffer. Packets are linked into lists, and used again.
type packet struct {
	bytes []byte  // of buf
	ecn   aqm.ECN // before it was marked
	group Group
	fate  fate
	due   aqm.Time // at the far end
	next  *packet
	buf   []byte
}

// fate is what becomes of a packet behind the queue.
type fate uint8

const (
	arrives fate = iota
	refused      // by the far device
	lost         // on the way
)

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
	mtu int

	mu       sync.Mutex
	governor governor
	link     *serve.Server[*packet]
	losses   *rand.Rand
	last     aqm.Time // when the last packet that was sent is due
	flight   list     // in the order in which they are due
	inFlight int      // those in flight, and those that deliver has handed out
	free     list
	idle     bool           // deliver waits for the next arrival
	closed   bool           // nobody delivers any more
	caughtUp *sync.Cond     // with mu; signalled when packets were delivered
	stats    DirectionStats // Rate, Delay and Loss are also what is in force
}

// governor is the algorithm that is in force. The queue knows no other.
type governor struct{ aqm.AQM }

const (
	// patience is how late the packet at the head of the flight may be before no more
	// are read. A goroutine that writes and gets no processor would otherwise fall behind
	// the one that reads without bound, and so would the memory. What is not read waits in
	// the device, which drops what it has no room for.
	patience = 100 * time.Millisecond

	// batch is the most packets that are written at once, so that the head of the flight
	// says how late they are.
	batch = 64
)

// never is an instant that does not come.
const never = aqm.Time(math.MaxInt64)

// newPipe returns the pipe whose losses are drawn from that stream.
func newPipe(d Direction, mtu int, stream uint64) (*pipe, error) {
	p := &pipe{
		mtu:      mtu,
		governor: governor{d.AQM},
		losses:   rand.New(rand.NewPCG(d.Seed, stream)),
		last:     math.MinInt64,
		stats:    DirectionStats{Rate: d.Rate, Delay: d.Delay, Loss: d.Loss, Sojourn: newHistogram(), Lateness: newHistogram()},
	}
	p.caughtUp = sync.NewCond(&p.mu)
	var err error
	p.link, err = serve.New(aqm.FIFOConfig[*packet]{
		LimitPackets: d.LimitPackets,
		LimitBytes:   d.LimitBytes,
		OnDrop:       p.dropped,
	}, d.Rate, &p.governor, p.sent)
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

// await waits until delivery is no more than patience late, or nobody delivers.
func (p *pipe) await(clock func() aqm.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && p.flight.first != nil && clock().Sub(p.flight.first.due) > patience {
		p.caughtUp.Wait()
	}
}

// arrive takes the packet of n bytes in pk's buffer into the link. wake says that
// deliver has to be called.
func (p *pipe) arrive(clock func() aqm.Time, pk *packet, n int) (wake bool) {
	pk.bytes = pk.buf[:n]
	q, err := wire.ParseIP(pk.bytes)
	if err != nil {
		q = aqm.Packet{Size: uint32(n), Class: aqm.Other}
	}
	pk.ecn, pk.group, pk.fate = q.ECN, GroupOf(q.Class), arrives

	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.stats.Malformed++
	}
	p.stats.Arrived[pk.group]++
	// The clock is read under the lock, so that no departure is carried out in
	// between that the arrival should have seen.
	if v := p.link.Arrive(clock(), pk, q); v.Action == aqm.Drop {
		p.discard(pk, v)
	}
	wake = p.idle && p.flight.first != nil
	if wake {
		p.idle = false
	}
	return wake
}

// sent is told by the link that a packet is in transmission until end.
func (p *pipe) sent(pk *packet, q aqm.Packet, start, end aqm.Time) {
	marked := q.ECN == aqm.CE && pk.ecn != aqm.CE && wire.SetCE(pk.bytes)
	if marked {
		p.stats.MarkedSent++
	}
	observe(p.stats.Sojourn, start.Sub(q.EnqueuedAt))
	// A lost packet takes its time on the link, and is in flight like the others: the
	// transmitter is busy with it.
	if p.stats.Loss > 0 && p.losses.Float64() < p.stats.Loss {
		pk.fate = lost
		if marked {
			p.stats.MarkedLost++
		}
	}
	// Where the delay became shorter a packet does not overtake those before it.
	pk.due = max(end.Add(p.stats.Delay), p.last)
	p.last = pk.due
	p.flight.push(pk)
	p.inFlight++
}

// dropped is told by the queue that a packet was dropped at its head.
func (p *pipe) dropped(pk *packet, q aqm.Packet, v aqm.Verdict) {
	if q.ECN == aqm.CE && pk.ecn != aqm.CE {
		p.stats.MarkedDropped++
	}
	p.discard(pk, v)
}

func (p *pipe) discard(pk *packet, v aqm.Verdict) {
	p.stats.Dropped[pk.group][v.Reason]++
	p.free.push(pk)
}

// deliver returns the packets that are due at the far end by now, or as many of them as
// are written at once, and when to call again. If that is never, the next arrival says
// when.
func (p *pipe) deliver(now aqm.Time) (due list, next aqm.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link.Advance(now)
	for n := 0; n < batch && p.flight.first != nil && p.flight.first.due <= now; n++ {
		pk := p.flight.pop()
		if pk.fate == lost {
			p.stats.Lost[pk.group]++
			p.inFlight--
			p.free.push(pk)
			continue
		}
		observe(p.stats.Lateness, now.Sub(pk.due))
		due.push(pk)
	}
	// While the transmitter is busy, its packet is in flight. So if none is, the
	// queue is empty too.
	if p.idle = p.flight.first == nil; p.idle {
		return due, never
	}
	return due, p.flight.first.due
}

// release takes back packets that deliver has handed out and that were written, or
// refused.
func (p *pipe) release(done list) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pk := done.pop(); pk != nil; pk = done.pop() {
		if pk.fate == refused {
			p.stats.WriteErrors++
		} else {
			p.stats.Delivered++
		}
		p.inFlight--
		p.free.push(pk)
	}
	p.caughtUp.Signal()
}

// close lets nobody wait for a delivery any more.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.caughtUp.Broadcast()
}

// empty reports whether there is no packet in the pipe at now.
func (p *pipe) empty(now aqm.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link.Advance(now)
	return p.link.Queue().Len() == 0 && p.inFlight == 0
}

// abandon drops all that is in the pipe, which nobody reads or writes any more.
func (p *pipe) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link.Queue().Flush(func(pk *packet, _ aqm.Packet) { p.free.push(pk) })
	for pk := p.flight.pop(); pk != nil; pk = p.flight.pop() {
		p.stats.Abandoned++
		p.inFlight--
	}
}

// inspect calls f with the algorithm in force at now.
func (p *pipe) inspect(now func() aqm.Time, f func(aqm.Time, aqm.AQM)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := now()
	p.link.Advance(t)
	f(t, p.governor.AQM)
}

// update puts a change in force that was found right.
func (p *pipe) update(now func() aqm.Time, c Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := now()
	p.link.Advance(t)
	if c.Rate != nil {
		_ = p.link.SetRate(t, *c.Rate) // which is not 0
		p.stats.Rate = *c.Rate
	}
	if c.Delay != nil {
		p.stats.Delay = *c.Delay
	}
	if c.Loss != nil {
		p.stats.Loss = *c.Loss
	}
	if c.AQM != nil {
		p.governor.AQM = c.AQM
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
