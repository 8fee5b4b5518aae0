package gvisor

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/internal/egress"
)

// run takes packets from the queues and gives them to the link, until Close.
func (d *Discipline) run() {
	defer close(d.done)
	alarm := d.clock.AfterFunc(maxRetryAfter, d.signal)
	defer alarm.Stop()
	alarm.Stop()

	// The list's memory is used again, and its references are given up with Reset after
	// WritePackets, as in gVisor's own disciplines: the link takes references or clones
	// of what it keeps.
	var batch stack.PacketBufferList
	defer func() { d.discard(&batch) }()
	for {
		wait := aqm.Time(0)
		if batch.Len() == 0 {
			wait = d.fill(&batch)
		}
		if batch.Len() > 0 { // new, or refused before
			wait = d.write(&batch)
		}
		if !d.sleep(alarm, wait) {
			return
		}
	}
}

// sleep returns at an instant, at once if that is over, or at a signal; sometimes for
// nothing. The result is false once the discipline is closed.
func (d *Discipline) sleep(alarm tcpip.Timer, until aqm.Time) bool {
	left := until.Sub(d.now())
	if left <= 0 {
		select {
		case <-d.closing:
			return false
		default:
			return true
		}
	}
	if until != egress.Never {
		alarm.Reset(left)
		defer alarm.Stop()
	}
	select {
	case <-d.closing:
		return false
	case <-d.wake:
		return true
	}
}

// fill takes a batch of what may leave now. If that is nothing, wait is when to look
// again.
func (d *Discipline) fill(batch *stack.PacketBufferList) (wait aqm.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return 0
	}
	now := d.now()
	for batch.Len() < d.config.Batch {
		pkt, p, next, ok := d.queues.Next(now)
		if !ok {
			wait = next
			break
		}
		if p.ECN == aqm.CE && !setCE(pkt) {
			d.stats.Unmarkable++
		}
		batch.PushBack(pkt)
	}
	d.idle = batch.Len() == 0 && wait == egress.Never
	d.stats.Held = batch.Len()
	return wait
}

// write gives the batch to the link, and keeps in it what was refused and is to be
// offered again after wait.
func (d *Discipline) write(batch *stack.PacketBufferList) (wait aqm.Time) {
	size := batch.Len()
	n, err := d.lower.WritePackets(*batch)
	n = min(max(n, 0), size)
	again := n < size && d.config.RetryAfter > 0 && hasNoRoom(err)
	if again {
		rest := append([]*stack.PacketBuffer(nil), batch.AsSlice()[n:]...)
		for _, pkt := range rest {
			pkt.IncRef()
		}
		batch.Reset()
		for _, pkt := range rest {
			batch.PushBack(pkt)
		}
		wait = d.now().Add(d.config.RetryAfter)
	} else {
		batch.Reset()
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Writes++
	d.stats.Sent += uint64(n)
	d.stats.Held = batch.Len()
	if again {
		d.stats.Retries++
	} else {
		d.stats.Lost += uint64(size - n)
	}
	return wait
}

// hasNoRoom reports whether err, where not all was taken, says that the link is full.
func hasNoRoom(err tcpip.Error) bool {
	switch err.(type) {
	case nil, *tcpip.ErrNoBufferSpace, *tcpip.ErrWouldBlock:
		return true
	}
	return false
}

// discard gives up what Close has found in the hands of the goroutine.
func (d *Discipline) discard(batch *stack.PacketBufferList) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Lost += uint64(batch.Len())
	d.stats.Held = 0
	batch.Reset()
}
