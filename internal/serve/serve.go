// Package serve empties a queue at the rate of a link, on a virtual clock.
//
// A real link takes the next packet at the instant at which the one before has
// left. A goroutine that plays the link is never woken at that instant. So the
// instants are computed, and whoever comes by later catches up: every departure
// takes place at the instant at which it was due, however late it is carried out.
// What comes out depends on the arrivals, the rate, the limits and the algorithm
// alone, so that a run can be repeated from its arrivals.
package serve

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Sent receives each packet that the link has taken from the queue: the transmission
// begins at start, which is the now of its Dequeue, and the last bit has left at end.
// It must not call the Server.
type Sent[T any] func(item T, p aqm.Packet, start, end aqm.Time)

// Server is a FIFO under an AQM whose packets leave at a rate, for one goroutine at
// a time. The packet in transmission is no longer in the queue.
//
// Its clock is the largest now it has seen. Departures that are due at the instant of
// an arrival take place before it.
type Server[T any] struct {
	fifo *aqm.FIFO[T]
	sent Sent[T]
	rate uint64

	clock aqm.Time
	free  aqm.Time // the transmitter has sent all that it was given
	rest  uint64   // of a nanosecond, in 1/rate ns, that the transmissions so far fall short of free
}

var errRate = fmt.Errorf("serve: rate = 0 bit/s, must be > 0: %w", aqm.ErrConfig)

// New returns an empty queue in front of a link of rate bit/s, which is > 0.
func New[T any](c aqm.FIFOConfig[T], rate uint64, a aqm.AQM, sent Sent[T]) (*Server[T], error) {
	if rate == 0 {
		return nil, errRate
	}
	fifo, err := aqm.NewFIFO(c, a)
	if err != nil {
		return nil, err
	}
	return &Server[T]{fifo: fifo, sent: sent, rate: rate, clock: math.MinInt64, free: math.MinInt64}, nil
}

// Arrive offers a packet to the queue, after all departures that were due, and
// returns what became of it. After Drop the item is still the caller's.
func (s *Server[T]) Arrive(now aqm.Time, item T, p aqm.Packet) aqm.Verdict {
	s.Advance(now)
	if s.free < s.clock { // idle, hence empty
		s.free, s.rest = s.clock, 0
	}
	v := s.fifo.Enqueue(s.clock, item, p)
	if v.Action != aqm.Drop {
		s.Advance(s.clock)
	}
	return v
}

// Advance carries out all departures that are due by now.
func (s *Server[T]) Advance(now aqm.Time) {
	s.clock = max(s.clock, now)
	for s.fifo.Len() > 0 && s.free <= s.clock {
		start := s.free
		if item, p, ok := s.fifo.Dequeue(start); ok {
			s.free = start.Add(s.transmission(p.Size))
			s.sent(item, p, start, s.free)
		}
	}
}

// SetRate changes the rate to rate bit/s, which is > 0, after all departures that were
// due by now. The packet in transmission ends when it was to end.
func (s *Server[T]) SetRate(now aqm.Time, rate uint64) error {
	if rate == 0 {
		return errRate
	}
	s.Advance(now)
	s.rate, s.rest = rate, 0
	return nil
}

// transmission returns how long size bytes take. The fraction of a nanosecond that
// is cut off is carried to the next packet, so that a busy link keeps its rate.
func (s *Server[T]) transmission(size uint32) time.Duration {
	const bitNanoseconds = 8 * uint64(time.Second)
	hi, lo := bits.Mul64(uint64(size), bitNanoseconds)
	lo, carry := bits.Add64(lo, s.rest, 0)
	hi += carry
	if hi >= s.rate { // the quotient needs more than 64 bits
		return math.MaxInt64
	}
	d, rest := bits.Div64(hi, lo, s.rate)
	s.rest = rest
	return time.Duration(min(d, math.MaxInt64))
}

// Queue returns the queue, for its Stats, Len and Bytes.
func (s *Server[T]) Queue() *aqm.FIFO[T] { return s.fifo }
