package gvisor

import (
	"fmt"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/internal/egress"
	"github.com/aqmkit/aqmkit/datapath/internal/flow"
)

var _ stack.QueueingDiscipline = (*Discipline)(nil)

// Discipline is a queueing discipline under one or more AQMs. Its methods may be called
// by several goroutines at once; use New.
type Discipline struct {
	lower  stack.LinkWriter
	clock  tcpip.Clock
	start  tcpip.MonotonicTime
	config Config
	flows  flow.Hasher

	wake    chan struct{} // look again
	closing chan struct{}
	done    chan struct{} // the goroutine has returned

	mu     sync.Mutex
	queues *egress.Queues[*stack.PacketBuffer]
	idle   bool // the goroutine waits for an arrival
	closed bool
	stats  Stats // but for Queues
}

// New returns a discipline that writes to lower, and starts its goroutine, which Close
// ends. The error lists all that is wrong with c and wraps aqm.ErrConfig.
func New(lower stack.LinkWriter, c Config) (*Discipline, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if lower == nil {
		return nil, fmt.Errorf("gvisor: lower = nil, must be a link to write to: %w", aqm.ErrConfig)
	}
	d := &Discipline{
		lower:   lower,
		clock:   c.Clock,
		start:   c.Clock.NowMonotonic(),
		config:  c,
		flows:   flow.New(),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	var err error
	if d.queues, err = egress.New(c.queues(), (*stack.PacketBuffer).DecRef); err != nil {
		return nil, fmt.Errorf("gvisor: %w", err)
	}
	go d.run()
	return d, nil
}

func (d *Discipline) now() aqm.Time { return aqm.Time(d.clock.NowMonotonic().Sub(d.start)) }

// WritePacket implements stack.QueueingDiscipline. The error is ErrNoBufferSpace if the
// packet is dropped, by the algorithm or for want of space, and ErrClosedForSend after
// Close.
func (d *Discipline) WritePacket(pkt *stack.PacketBuffer) tcpip.Error {
	p, hash, isIP := d.look(pkt)

	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return &tcpip.ErrClosedForSend{}
	}
	if !isIP {
		d.stats.NotIP++
	}
	held := hold(pkt)
	// The clock is read under the lock, so that no departure lies between the arrival
	// and its now.
	if v := d.queues.Enqueue(d.now(), hash, held, p); v.Action == aqm.Drop {
		held.DecRef()
		return &tcpip.ErrNoBufferSpace{}
	}
	if d.idle {
		d.idle = false
		d.signal()
	}
	return nil
}

// hold returns a packet of the discipline's own: pkt with one more reference, or a
// clone if others than the caller have references to pkt. Once WritePacket has returned,
// the caller only gives its reference up.
func hold(pkt *stack.PacketBuffer) *stack.PacketBuffer {
	if pkt.ReadRefs() > 1 {
		return pkt.Clone()
	}
	return pkt.IncRef()
}

func (d *Discipline) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Ready tells the discipline that the link has room again for what it refused. Between
// refusals it does nothing. It may be called from anywhere, also while the link is in
// WritePackets.
func (d *Discipline) Ready() { d.signal() }

// SetRate changes Config.Rate.
func (d *Discipline) SetRate(rate uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues.SetRate(d.now(), rate)
	d.signal()
}

// Do calls f while no algorithm is being asked, to reconfigure one or to read its state.
// f must not call the Discipline.
func (d *Discipline) Do(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// Close drops what is queued and ends the goroutine. When it returns, the link is no
// longer written to; it waits for a write that is under way, and so must not be called
// from within WritePackets. It may be called more than once.
func (d *Discipline) Close() {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		d.queues.Flush((*stack.PacketBuffer).DecRef)
		close(d.closing)
	}
	d.mu.Unlock()
	<-d.done
}
