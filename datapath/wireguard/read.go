package wireguard

import (
	"errors"

	"golang.zx2c4.com/wireguard/tun"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/wire"
	"github.com/aqmkit/aqmkit/datapath/internal/egress"
)

const (
	// readOffset leaves the inner device the room before a packet that some systems'
	// need for a header: as much as WireGuard leaves.
	readOffset = 16

	// readSize is what WireGuard reads at most.
	readSize = 1<<16 - 1
)

// pump reads the inner device until that fails or is closed.
func (d *Device) pump() {
	defer close(d.pumped)
	bufs, sizes := make([][]byte, max(1, d.inner.BatchSize())), make([]int, max(1, d.inner.BatchSize()))
	for i := range bufs {
		bufs[i] = make([]byte, readOffset+readSize)
	}
	for {
		n, err := d.inner.Read(bufs, sizes, readOffset)
		if d.arrive(bufs[:n], sizes, err) {
			return
		}
	}
}

// arrive takes what the inner device has read into the queues. The result is true if
// that was the last.
func (d *Device) arrive(bufs [][]byte, sizes []int, err error) (last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for i, b := range bufs {
		if sizes[i] > 0 && d.err == nil {
			d.enqueue(now, b[readOffset:readOffset+sizes[i]])
		}
	}
	switch {
	case errors.Is(err, tun.ErrTooManySegments): // which says that reading goes on
		d.stats.ReadErrors++
	case err != nil && d.err == nil:
		d.err = err
	}
	if d.idle && (d.queues.Len() > 0 || d.err != nil) {
		d.idle = false
		d.signal()
	}
	return d.err != nil
}

func (d *Device) enqueue(now aqm.Time, b []byte) {
	p, err := wire.ParseIP(b)
	if err != nil {
		p = aqm.Packet{Size: uint32(len(b)), Class: aqm.Other}
		d.stats.NotIP++
	}
	p.Size += uint32(d.config.Overhead)
	hash := uint32(0)
	if len(d.config.AQMs) > 1 {
		hash = d.flows.Of(b)
	}
	pk := d.pool.get()
	if v := d.queues.Enqueue(now, hash, pk, p); v.Action == aqm.Drop {
		d.pool.put(pk)
		return
	}
	pk.bytes = append(pk.bytes[:0], b...)
}

// Read waits until a packet may leave, and returns that and those that may leave with it.
// The error is that of the inner device, or os.ErrClosed after Close.
func (d *Device) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	d.reading.Lock()
	defer d.reading.Unlock()
	limit := min(len(bufs), len(sizes), d.config.Batch)
	for {
		n, wait, err := d.take(bufs[:limit], sizes, offset)
		if n > 0 || err != nil || limit == 0 {
			return n, err
		}
		d.sleep(wait)
	}
}

// take copies what may leave now to bufs. If that is nothing, wait is when to look again.
func (d *Device) take(bufs [][]byte, sizes []int, offset int) (n int, wait aqm.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return 0, 0, d.err
	}
	now := d.now()
	for n < len(bufs) {
		pk, p, next, ok := d.queues.Next(now)
		if !ok {
			wait = next
			break
		}
		if room := len(bufs[n]) - offset; offset < 0 || len(pk.bytes) > room {
			d.stats.TooLong++
		} else {
			b := bufs[n][offset : offset+len(pk.bytes)]
			copy(b, pk.bytes)
			if p.ECN == aqm.CE {
				wire.SetCE(b)
			}
			sizes[n] = len(b)
			n++
		}
		d.pool.put(pk)
	}
	d.stats.Read += uint64(n)
	d.idle = n == 0 && wait == egress.Never
	return n, wait, nil
}

// sleep returns at an instant, at a signal, or when the device is closed; sometimes for
// nothing.
func (d *Device) sleep(until aqm.Time) {
	if until != egress.Never {
		d.timer.Reset(until.Sub(d.now()))
		defer d.timer.Stop()
	}
	select {
	case <-d.wake:
	case <-d.timer.C:
	case <-d.closing:
	}
}
