package aqm

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
)

// MaxLimitPackets is the largest FIFOConfig.LimitPackets.
const MaxLimitPackets = 1 << 24

// FIFOConfig is the configuration of a [FIFO].
type FIFOConfig[T any] struct {
	// LimitPackets is the most packets the queue holds; 1 to MaxLimitPackets.
	// NewFIFO allocates the memory for all of them.
	LimitPackets int

	// LimitBytes is the most bytes the queue holds, the packets' Sizes added up;
	// 0 means no limit in bytes.
	LimitBytes int64

	// OnDrop is called once for each packet that is dropped at Dequeue, to release
	// the item. It must not call the FIFO. It may be nil.
	OnDrop func(T, Packet, Verdict)
}

// FIFO is a first-in first-out queue under an AQM, for one goroutine at a time. Use
// NewFIFO; the zero FIFO has no memory.
//
// The item is the datapath's own packet. A pointer, or anything of that width,
// keeps the metadata in registers; a wider item is correct, and slower.
//
// Where now steps back, the FIFO goes on with the largest now it has seen, for the
// algorithm and for the packets' EnqueuedAt.
type FIFO[T any] struct {
	aqm   AQM
	slots []slot[T] // a ring with at least one free slot, so that an arrival is stored before it is judged
	clock Time

	// Positions in the ring, and all that ever went in and out: what Stats needs
	// without counting on the way. They wrap after 2^64 packets or bytes.
	tail, head           uint64
	tailBytes, headBytes uint64

	limitPackets uint64
	limitBytes   uint64
	onDrop       func(T, Packet, Verdict)

	refused, dropped, flushed, marked Count
	atEnqueue, atDequeue              [NumActions][NumReasons]uint64 // less Pass, which follows from the positions
}

// slot keeps an item with its metadata packed into two words.
type slot[T any] struct {
	item T
	at   Time
	meta uint64 // Size, ECN and Class; see pack
}

func pack(p Packet) uint64 { return uint64(p.Size) | uint64(p.ECN)<<32 | uint64(p.Class)<<40 }

func unpack(at Time, meta uint64) Packet {
	return Packet{EnqueuedAt: at, Size: uint32(meta), ECN: ECN(meta >> 32), Class: Class(meta >> 40)}
}

// NewFIFO returns an empty queue under a. The error lists all that is wrong with
// the configuration and wraps ErrConfig.
func NewFIFO[T any](c FIFOConfig[T], a AQM) (*FIFO[T], error) {
	var errs []error
	if v := reflect.ValueOf(a); a == nil || v.Kind() == reflect.Pointer && v.IsNil() { // also what a failed New returned
		errs = append(errs, fmt.Errorf("aqm: FIFO's AQM = nil, must be an algorithm; TailDrop{} is a queue without one: %w", ErrConfig))
	}
	if c.LimitPackets < 1 || c.LimitPackets > MaxLimitPackets {
		errs = append(errs, fmt.Errorf("aqm: LimitPackets = %d packets, must be in [1, %d]: %w", c.LimitPackets, MaxLimitPackets, ErrConfig))
	}
	if c.LimitBytes < 0 {
		errs = append(errs, fmt.Errorf("aqm: LimitBytes = %d bytes, must be >= 0, where 0 means no limit: %w", c.LimitBytes, ErrConfig))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	f := &FIFO[T]{
		aqm:          a,
		slots:        make([]slot[T], 1<<bits.Len(uint(c.LimitPackets))),
		clock:        math.MinInt64,
		limitPackets: uint64(c.LimitPackets),
		limitBytes:   uint64(c.LimitBytes),
		onDrop:       c.OnDrop,
	}
	if c.LimitBytes == 0 {
		f.limitBytes = math.MaxUint64
	}
	return f, nil
}

// Enqueue offers item to the queue and returns what became of it. After Drop the
// item is still the caller's: the queue holds no reference to it, and OnDrop is
// not called. After Mark the item is queued and its Packet says CE.
func (f *FIFO[T]) Enqueue(now Time, item T, p Packet) Verdict {
	if now <= f.clock {
		now = f.clock
	} else {
		f.clock = now
	}
	p.EnqueuedAt = now
	packets, bytes := f.tail-f.head, f.tailBytes-f.headBytes
	if packets >= f.limitPackets || bytes+uint64(p.Size) > f.limitBytes {
		return f.refuse(p)
	}
	s := &f.slots[f.tail&uint64(len(f.slots)-1)]
	s.item, s.at, s.meta = item, now, pack(p)

	v := f.aqm.Enqueue(now, p, Occupancy{Packets: int(packets), Bytes: int64(bytes)})
	if v.Action != Pass {
		if v = f.settleEnqueue(&f.slots[f.tail&uint64(len(f.slots)-1)], v); v.Action == Drop {
			return v
		}
	} else {
		v.Reason = None
	}
	f.tail++
	f.tailBytes += uint64(p.Size)
	return v
}

// refuse is Enqueue where there is no room. The algorithm sees the arrival too.
//
//go:noinline
func (f *FIFO[T]) refuse(p Packet) Verdict {
	f.aqm.Enqueue(p.EnqueuedAt, p, Occupancy{Packets: f.Len(), Bytes: f.Bytes(), Full: true})
	f.atEnqueue[Drop][Overflow]++ // whatever the algorithm says
	f.refused.add(p.Size)
	return Verdict{Drop, Overflow}
}

// settleEnqueue carries out a verdict other than Pass on the arrival in s.
//
//go:noinline
func (f *FIFO[T]) settleEnqueue(s *slot[T], v Verdict) Verdict {
	v = f.settle(s, v, &f.atEnqueue)
	if v.Action == Drop {
		f.refused.add(uint32(s.meta))
		*s = slot[T]{}
	}
	return v
}

// settle counts a verdict and marks the packet in s if that is what it says. A
// verdict that the contract does not know becomes a pass.
//
//go:noinline
func (f *FIFO[T]) settle(s *slot[T], v Verdict, at *[NumActions][NumReasons]uint64) Verdict {
	if v.Action == Pass || v.Action >= NumActions || v.Reason >= NumReasons {
		return Verdict{}
	}
	if v.Action == Mark {
		e := unpack(s.at, s.meta).ECN
		if !e.Capable() {
			return Verdict{}
		}
		if e != CE {
			f.marked.add(uint32(s.meta))
			s.meta |= uint64(CE) << 32
		}
	}
	at[v.Action][v.Reason]++
	return v
}

// Dequeue takes the packet at the head, passing over those that the algorithm
// drops. ok is false if there is none. p.ECN is CE if the packet was marked at
// either end.
func (f *FIFO[T]) Dequeue(now Time) (item T, p Packet, ok bool) {
	if now <= f.clock {
		now = f.clock
	} else {
		f.clock = now
	}
	for f.head != f.tail {
		s := &f.slots[f.head&uint64(len(f.slots)-1)]
		p = unpack(s.at, s.meta)
		f.head++
		f.headBytes += uint64(p.Size)
		v := f.aqm.Dequeue(now, p, Occupancy{Packets: int(f.tail - f.head), Bytes: int64(f.tailBytes - f.headBytes)})
		// The slot and now again: what lives across the call would be stored and loaded as well.
		s = &f.slots[(f.head-1)&uint64(len(f.slots)-1)]
		if v.Action != Pass && f.settleDequeue(s, v) {
			now = f.clock
			continue
		}
		item, p = s.item, unpack(s.at, s.meta)
		var none T
		s.item = none // no reference stays behind
		return item, p, true
	}
	var none T
	return none, Packet{}, false
}

// settleDequeue carries out a verdict other than Pass on the departure in s, and
// reports whether the packet was dropped.
//
//go:noinline
func (f *FIFO[T]) settleDequeue(s *slot[T], v Verdict) bool {
	v = f.settle(s, v, &f.atDequeue)
	if v.Action != Drop {
		return false
	}
	item, p := s.item, unpack(s.at, s.meta)
	var none T
	s.item = none
	f.release(item, p, v)
	return true
}

// release counts a packet that was dropped at Dequeue, and gives it back.
//
//go:noinline
func (f *FIFO[T]) release(item T, p Packet, v Verdict) {
	f.dropped.add(p.Size)
	if f.onDrop != nil {
		f.onDrop(item, p, v)
	}
}

// Flush empties the queue and hands each packet, oldest first, to release, which
// must not call the FIFO and may be nil. The algorithm sees the empty queue at its
// next event.
func (f *FIFO[T]) Flush(release func(T, Packet)) {
	for f.head != f.tail {
		s := &f.slots[f.head&uint64(len(f.slots)-1)]
		item, p := s.item, unpack(s.at, s.meta)
		*s = slot[T]{}
		f.head++
		f.headBytes += uint64(p.Size)
		f.flushed.add(p.Size)
		if release != nil {
			release(item, p)
		}
	}
}

// Len returns the number of queued packets.
func (f *FIFO[T]) Len() int { return int(f.tail - f.head) }

// Bytes returns the sizes of the queued packets added up.
func (f *FIFO[T]) Bytes() int64 { return int64(f.tailBytes - f.headBytes) }

// Stats returns the counters as they are now. It may be called wherever the
// other methods may, by one goroutine at a time.
func (f *FIFO[T]) Stats() Stats {
	in, out := Count{f.tail, f.tailBytes}, Count{f.head, f.headBytes}
	s := Stats{
		Arrived:   Count{in.Packets + f.refused.Packets, in.Bytes + f.refused.Bytes},
		Refused:   f.refused,
		Delivered: out.minus(f.dropped).minus(f.flushed),
		Dropped:   f.dropped,
		Flushed:   f.flushed,
		Marked:    f.marked,
		AtEnqueue: f.atEnqueue,
		AtDequeue: f.atDequeue,
	}
	s.AtEnqueue[Pass][None] = in.Packets - sum(s.AtEnqueue[Mark])
	s.AtDequeue[Pass][None] = s.Delivered.Packets - sum(s.AtDequeue[Mark])
	return s
}

func sum(counts [NumReasons]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}
