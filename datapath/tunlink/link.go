package tunlink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// device is one end: a Read returns a packet, and a Write takes one. Close ends a
// Read that waits, and so does a deadline that has passed.
type device interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
	SetReadDeadline(time.Time) error
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

	changing sync.Mutex // held by Update, and before a pipe's

	mu       sync.Mutex
	closed   bool
	started  bool
	draining bool
	stop     chan struct{} // closed with the devices
	done     chan struct{} // closed when Run has returned
	readers  sync.WaitGroup
}

// newLink joins two devices, which it closes if there is an error.
func newLink(c Config, k clock, a, b device) (*Link, error) {
	l := &Link{clock: k, ends: [2]device{a, b}, stop: make(chan struct{}), done: make(chan struct{})}
	for i, d := range []Direction{c.A, c.B} {
		var err error
		if l.pipes[i], err = newPipe(d, c.MTU, uint64(i)); err == nil {
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

// Run carries packets until ctx is cancelled or Close or Drain is called, which is no
// error, or a device fails. Then the link is closed; what it still held is counted as
// flushed or abandoned. Run may be called once.
func (l *Link) Run(ctx context.Context) error {
	l.mu.Lock()
	if l.started || l.closed {
		l.mu.Unlock()
		return errors.New("tunlink: Run was called before, or the link is closed")
	}
	l.started = true
	l.readers.Add(2)
	l.mu.Unlock()
	defer close(l.done)

	failed := make(chan error, 2)
	var running sync.WaitGroup
	for i := range l.pipes {
		running.Go(func() {
			defer l.readers.Done()
			if err := l.read(i); err != nil {
				failed <- err
			}
		})
		running.Go(func() { l.write(i) })
	}
	var err error
	select {
	case <-ctx.Done():
	case <-l.stop:
	case err = <-failed:
	}
	_ = l.shut()
	running.Wait()
	for _, p := range l.pipes {
		p.abandon()
	}
	return err
}

// Drain ends Run gracefully: no more packets are taken from the devices, those that
// were are delivered at their time, and then the link is closed. Where ctx ends before
// that, the link is closed at once, what is left is counted as flushed or abandoned,
// and the error says how much it is.
//
// What the kernel has queued in a device and the link has not yet read is lost with the
// device, as on a cable that is pulled out, and nobody counts it.
func (l *Link) Drain(ctx context.Context) error {
	l.mu.Lock()
	running := l.started && !l.closed
	l.draining = true
	l.mu.Unlock()
	if !running {
		return l.Close()
	}
	past := time.Unix(1, 0)
	errs := []error{l.ends[0].SetReadDeadline(past), l.ends[1].SetReadDeadline(past)}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, l.Close())
	}
	l.readers.Wait()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !l.isEmpty() {
		select {
		case <-tick.C:
		case <-l.stop:
			return l.Close()
		case <-ctx.Done():
			err := l.Close()
			s := l.Stats()
			left := s.A.Queue.Flushed.Packets + s.A.Abandoned + s.B.Queue.Flushed.Packets + s.B.Abandoned
			return errors.Join(fmt.Errorf("tunlink: closed before it was empty, with %d packets: %w", left, context.Cause(ctx)), err)
		}
	}
	return l.Close()
}

func (l *Link) isEmpty() bool {
	now := l.clock.now()
	return l.pipes[0].empty(now) && l.pipes[1].empty(now)
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
	close(l.stop)
	var errs []error
	for i := range l.ends {
		errs = append(errs, l.ends[i].Close())
		if l.alarm[i] != nil {
			l.alarm[i].close()
		}
		if l.pipes[i] != nil {
			l.pipes[i].close()
		}
	}
	return errors.Join(errs...)
}

func (l *Link) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// isEnding reports whether err is what a Read returns when the link is closed or
// drained.
func (l *Link) isEnding(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed || l.draining && errors.Is(err, os.ErrDeadlineExceeded)
}

// Stats returns a snapshot, at any time. After the link was closed it is the last.
func (l *Link) Stats() Stats {
	now := l.clock.now()
	return Stats{A: l.pipes[0].snapshot(now), B: l.pipes[1].snapshot(now)}
}

// read takes packets from the beginning of pipe i.
func (l *Link) read(i int) error {
	p, dev := l.pipes[i], l.ends[i]
	for {
		p.await(l.clock.now)
		pk := p.take()
		n, err := dev.Read(pk.buf)
		if err != nil {
			if l.isEnding(err) {
				return nil
			}
			return fmt.Errorf("tunlink: device %s: %w", l.names[i], err)
		}
		if p.arrive(l.clock.now, pk, n) {
			l.alarm[i].ring()
		}
	}
}

// write gives packets to the device at the end of pipe i as they become due.
func (l *Link) write(i int) {
	p, dev := l.pipes[i], l.ends[1-i]
	for !l.isClosed() {
		due, next := p.deliver(l.clock.now())
		for pk := due.first; pk != nil; pk = pk.next {
			if _, err := dev.Write(pk.bytes); err != nil {
				pk.fate = refused
			}
		}
		p.release(due)
		if next > l.clock.now() {
			l.alarm[i].wait(next)
		}
	}
}
