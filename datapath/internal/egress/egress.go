package egress

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// CatchUp is the most that a link woken late makes good.
const CatchUp = 10 * time.Millisecond

// Never is an instant that does not come.
const Never = aqm.Time(math.MaxInt64)

// Quantum is how many bytes a queue may send in its turn: a full Ethernet frame
// [RFC 8290 5.2].
const Quantum = 1514

const none = -1

// Queues are the queues of one link, for one goroutine at a time.
type Queues[T any] struct {
	rate  uint64   // bit/s; 0 = not paced
	clock aqm.Time // largest now
	free  aqm.Time // the link has sent all that it was given
	rest  uint64   // of a nanosecond, in 1/rate ns, that the transmissions so far fall short of free

	packets     int // in all queues
	first, last int // of those in turn
	queues      []queue[T]
}

// queue is one queue. Those that may hold packets are linked in the order of their
// turns.
type queue[T any] struct {
	fifo    *aqm.FIFO[T]
	deficit int64 // bytes
	next    int
	waiting bool // for its turn
}

// New returns the empty queues that a valid c describes. release is called, from
// Next, for each item that is dropped on its way out.
func New[T any](c Config, release func(T)) (*Queues[T], error) {
	s := &Queues[T]{rate: c.Rate, clock: math.MinInt64, free: math.MinInt64, first: none, last: none, queues: make([]queue[T], len(c.AQMs))}
	for i, a := range c.AQMs {
		f, err := aqm.NewFIFO(aqm.FIFOConfig[T]{
			LimitPackets: c.LimitPackets,
			LimitBytes:   c.LimitBytes,
			OnDrop: func(item T, _ aqm.Packet, _ aqm.Verdict) {
				s.packets--
				release(item)
			},
		}, a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field(i), err)
		}
		s.queues[i] = queue[T]{fifo: f, next: none}
	}
	return s, nil
}

func field(i int) string { return fmt.Sprintf("AQMs[%d]", i) }

// Enqueue offers a packet to the queue that its hash chooses. After Drop the item is
// still the caller's.
func (s *Queues[T]) Enqueue(now aqm.Time, hash uint32, item T, p aqm.Packet) aqm.Verdict {
	now = s.tick(now)
	i := 0
	if n := uint32(len(s.queues)); n > 1 {
		i = int(uint64(hash) * uint64(n) >> 32)
	}
	q := &s.queues[i]
	v := q.fifo.Enqueue(now, item, p)
	if v.Action == aqm.Drop {
		return v
	}
	if s.packets == 0 && s.free < now { // the link was idle
		s.free, s.rest = now, 0
	}
	s.packets++
	if !q.waiting {
		q.waiting, q.deficit = true, Quantum
		s.push(i)
	}
	return v
}

// Next returns the next packet to send at now. ok is false if there is none, or if
// the link is still busy with the one before; wait is then when to ask again, and
// Never if the next arrival says when.
func (s *Queues[T]) Next(now aqm.Time) (item T, p aqm.Packet, wait aqm.Time, ok bool) {
	now = s.tick(now)
	if s.packets == 0 {
		return item, p, Never, false
	}
	if s.rate > 0 && s.free > now {
		return item, p, s.free, false
	}
	for s.first != none {
		q := &s.queues[s.first]
		if q.deficit <= 0 {
			q.deficit += Quantum
			s.turn()
			continue
		}
		if item, p, ok = q.fifo.Dequeue(now); !ok {
			q.waiting = false
			s.pop()
			continue
		}
		s.packets--
		q.deficit -= int64(p.Size)
		if s.rate > 0 {
			s.free = max(s.free, now.Add(-CatchUp)).Add(s.transmission(p.Size))
		}
		return item, p, 0, true
	}
	return item, p, Never, false
}

func (s *Queues[T]) tick(now aqm.Time) aqm.Time {
	s.clock = max(s.clock, now)
	return s.clock
}

// turn moves the first queue to the end.
func (s *Queues[T]) turn() {
	if i := s.first; i != s.last {
		s.pop()
		s.push(i)
	}
}

func (s *Queues[T]) push(i int) {
	s.queues[i].next = none
	if s.first == none {
		s.first = i
	} else {
		s.queues[s.last].next = i
	}
	s.last = i
}

func (s *Queues[T]) pop() { s.first = s.queues[s.first].next }

// transmission returns how long size bytes take. The fraction of a nanosecond that
// is cut off is carried to the next packet, so that a busy link keeps its rate.
func (s *Queues[T]) transmission(size uint32) time.Duration {
	const bitNanoseconds = 8 * uint64(time.Second)
	hi, lo := bits.Mul64(uint64(size), bitNanoseconds)
	lo, carry := bits.Add64(lo, s.rest, 0)
	d, rest := divide(hi+carry, lo, s.rate)
	s.rest = rest
	return d
}

// divide returns the quotient, as far as a Duration holds it, and the remainder.
func divide(hi, lo, by uint64) (time.Duration, uint64) {
	if hi >= by { // the quotient needs more than 64 bits
		return math.MaxInt64, 0
	}
	d, rest := bits.Div64(hi, lo, by)
	return time.Duration(min(d, math.MaxInt64)), rest
}

// SetRate changes the rate as of now; 0 means whenever the link asks. What is left of
// the packet in transmission leaves at the new rate.
func (s *Queues[T]) SetRate(now aqm.Time, rate uint64) {
	now = s.tick(now)
	if left := s.free.Sub(now); left > 0 {
		s.free = now
		if rate > 0 {
			hi, lo := bits.Mul64(uint64(left), s.rate)
			d, _ := divide(hi, lo, rate)
			s.free = now.Add(d)
		}
	} else if s.rate == 0 {
		s.free = now
	}
	s.rate, s.rest = rate, 0
}

// Flush empties the queues and hands each item to release.
func (s *Queues[T]) Flush(release func(T)) {
	for i := range s.queues {
		s.queues[i].fifo.Flush(func(item T, _ aqm.Packet) { release(item) })
	}
	s.packets = 0
}

// Len returns how many packets are queued.
func (s *Queues[T]) Len() int { return s.packets }

// Queued returns what queue i holds.
func (s *Queues[T]) Queued(i int) aqm.Count {
	f := s.queues[i].fifo
	return aqm.Count{Packets: uint64(f.Len()), Bytes: uint64(f.Bytes())}
}

// Stats returns the counters of queue i.
func (s *Queues[T]) Stats(i int) aqm.Stats { return s.queues[i].fifo.Stats() }

// NumQueues returns how many queues there are.
func (s *Queues[T]) NumQueues() int { return len(s.queues) }
