package trace

import (
	"fmt"
	"sync/atomic"

	"github.com/aqmkit/aqmkit/aqm"
)

// maxSlots is the most that a ring holds.
const maxSlots = 1 << 20

// ring passes values from the queue's owner to a goroutine that writes them. The zero
// ring has no goroutine: what is put into it is written at once.
type ring[T any] struct {
	write func(*T) error
	flush func() error
	slots []T
	err   error // the writing goroutine's until done is closed, and then the owner's

	tail     atomic.Uint64 // owner
	head     atomic.Uint64 // writer
	lost     atomic.Uint64
	sleeping atomic.Bool
	wake     chan struct{}
	closing  atomic.Bool
	done     chan struct{}
	closed   bool
}

// open makes a ring of slots, a power of two or 0, each made by fill.
func (r *ring[T]) open(slots int, fill func() T, write func(*T) error, flush func() error) error {
	if slots < 0 || slots > maxSlots || slots&(slots-1) != 0 {
		return fmt.Errorf("trace: slots = %d, must be a power of two up to %d, or 0: %w", slots, maxSlots, aqm.ErrConfig)
	}
	r.write, r.flush = write, flush
	r.slots = make([]T, max(slots, 1))
	for i := range r.slots {
		r.slots[i] = fill()
	}
	if slots > 0 {
		r.wake, r.done = make(chan struct{}, 1), make(chan struct{})
		go r.run()
	}
	return nil
}

// slot returns where the owner may put a value that put will send off, or nil if there
// is no room.
func (r *ring[T]) slot() *T {
	if r.closed {
		r.lost.Add(1)
		return nil
	}
	if r.wake == nil {
		return &r.slots[0]
	}
	tail := r.tail.Load()
	if tail-r.head.Load() == uint64(len(r.slots)) {
		r.lost.Add(1)
		return nil
	}
	return &r.slots[tail&uint64(len(r.slots)-1)]
}

// put sends off what the owner has put into the slot.
func (r *ring[T]) put() {
	if r.wake == nil {
		r.one(&r.slots[0])
		return
	}
	r.tail.Store(r.tail.Load() + 1)
	if r.sleeping.Load() && r.sleeping.CompareAndSwap(true, false) {
		r.wake <- struct{}{} // has room: only who wakes it sends
	}
}

// one writes a value. After an error the rest is lost.
func (r *ring[T]) one(x *T) {
	if r.err == nil {
		r.err = r.write(x)
	}
	if r.err != nil {
		r.lost.Add(1)
	}
}

func (r *ring[T]) run() {
	defer close(r.done)
	for {
		for head := r.head.Load(); head != r.tail.Load(); head++ {
			r.one(&r.slots[head&uint64(len(r.slots)-1)])
			r.head.Store(head + 1)
		}
		if r.err == nil {
			r.err = r.flush() // what a queue did before it fell silent is in the file
		}
		r.sleeping.Store(true)
		if r.head.Load() != r.tail.Load() || r.closing.Load() {
			// Whoever sets sleeping back to false owns the wake-up.
			if !r.sleeping.CompareAndSwap(true, false) {
				<-r.wake
			}
			if r.head.Load() == r.tail.Load() {
				return // closing, and nothing comes after that
			}
			continue
		}
		<-r.wake
	}
}

// Lost returns how many events were not written, for want of a slot or after an error.
// Any goroutine may ask.
func (r *ring[T]) Lost() uint64 { return r.lost.Load() }

// Close writes what is left, and returns the first error there was. It belongs to the
// owner. It does not close the writer below.
func (r *ring[T]) Close() error {
	if r.closed {
		return r.err
	}
	r.closed = true
	if r.wake == nil {
		if r.err == nil {
			r.err = r.flush()
		}
		return r.err
	}
	r.closing.Store(true)
	if r.sleeping.CompareAndSwap(true, false) {
		r.wake <- struct{}{}
	}
	<-r.done
	return r.err
}
