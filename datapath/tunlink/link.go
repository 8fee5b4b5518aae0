package tunlink

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aqmkit/aqmkit/aqm"
)

// device is one end: a Read returns a packet, and a Write takes one. Close ends a
// Read that waits.
type device interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
	Close() error
}

// clock is what a link knows of time.
type clock interface {
	now() aqm.Time
	newAlarm() (alarm, error)
}

// alarm wakes one goroutine.
type alarm interface {
	wait(until aqm.Time) // returns at until, or at once if ring was called since the last return
	ring()
	close() // after which wait returns at once
}

// Link is a link between two devices. Its methods may be called by several
// goroutines at once.
type Link struct {
	clock clock
	pipes [2]*pipe  // A and B
	ends  [2]device // EndA and EndB
	names [2]string
	alarm [2]alarm // each pipe's, for its far end

	mu      sync.Mutex
	closed  bool
	started bool
	done    chan struct{} // closed when Run has returned
}

// newLink joins two devices, which it closes if there is an error.
func newLink(c Config, k clock, a, b device) (*Link, error) {
	l := &Link{clock: k, ends: [2]device{a, b}, done: make(chan struct{})}
	for i, d := range []Direction{c.A, c.B} {
		var err error
		if l.pipes[i], err = newPipe(d, c.MTU); err == nil {
			l.alarm[i], err = k.newAlarm()
		}
		if err != nil {
			_ = l.shut()
			return nil, fmt.Errorf("tunlink: %w", err)
		}
	}
	return l, nil
}

// Devices returns the names of the devices at the ends A and B.
func (l *Link) Devices() (a, b string) { return l.names[0], l.names[1] }

// Run carries packets until ctx is cancelled or Close is called, which is no error,
// or a device fails. Then the link is closed; what it still held is not delivered.
// Run may be called once.
func (l *Link) Run(ctx context.Context) error {
	l.mu.Lock()
	if l.started || l.closed {
		l.mu.Unlock()
		return errors.New("tunlink: Run was called before, or the link is closed")
	}
	l.started = true
	l.mu.Unlock()
	defer close(l.done)

	failed := make(chan error, 2)
	var running sync.WaitGroup
	for i := range l.pipes {
		running.Go(func() {
			failed <- l.read(i) // nil once the link is closed
		})
		running.Go(func() { l.write(i) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	_ = l.shut()
	running.Wait()
	return err
}

// Close ends Run, if that is running, and waits until it has returned. It removes the
// devices that Open made.
func (l *Link) Close() error {
	err := l.shut()
	l.mu.Lock()
	started := l.started
	l.mu.Unlock()
	if started {
		<-l.done
	}
	return err
}

// shut closes the devices and alarms, once.
func (l *Link) shut() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	for i := range l.ends {
		errs = append(errs, l.ends[i].Close())
		if l.alarm[i] != nil {
			l.alarm[i].close()
		}
	}
	return errors.Join(errs...)
}

func (l *Link) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Stats returns a snapshot, at any time.
func (l *Link) Stats() Stats {
	now := l.clock.now()
	return Stats{A: l.pipes[0].snapshot(now), B: l.pipes[1].snapshot(now)}
}

// read takes packets from the beginning of pipe i.
func (l *Link) read(i int) error {
	p, dev := l.pipes[i], l.ends[i]
	for {
		pk := p.take()
		n, err := dev.Read(pk.buf)
		if err != nil {
			if l.isClosed() {
				return nil
			}
			return fmt.Errorf("tunlink: device %s: %w", l.names[i], err)
		}
		if p.arrive(l.clock.now, pk, n) {
			l.alarm[i].ring()
		}
	}
}

// write gives packets to the device at the end of pipe i as they become due, all
// that are due at once.
func (l *Link) write(i int) {
	p, dev := l.pipes[i], l.ends[1-i]
	for !l.isClosed() {
		due, next := p.deliver(l.clock.now())
		failed := uint64(0)
		for pk := due.first; pk != nil; pk = pk.next {
			if _, err := dev.Write(pk.bytes); err != nil {
				failed++
			}
		}
		p.release(due, failed)
		l.alarm[i].wait(next)
	}
}
