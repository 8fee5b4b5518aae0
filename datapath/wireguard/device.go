package wireguard

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.zx2c4.com/wireguard/tun"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/internal/egress"
	"github.com/aqmkit/aqmkit/datapath/internal/flow"
)

var _ tun.Device = (*Device)(nil)

// Device is a tun.Device whose Read goes through queues under one or more AQMs. Its
// methods may be called by several goroutines at once; use Wrap.
type Device struct {
	inner  tun.Device
	config Config
	start  time.Time
	flows  flow.Hasher

	wake     chan struct{} // look again
	closing  chan struct{}
	pumped   chan struct{} // the goroutine has returned
	closed   sync.Once
	closeErr error

	reading sync.Mutex // one Read at a time
	timer   *time.Timer

	mu     sync.Mutex
	queues *egress.Queues[*packet]
	pool   pool
	idle   bool  // Read waits for an arrival
	err    error // of the inner device, or os.ErrClosed
	stats  Stats // but for Queues
}

// Wrap returns a device around inner, and starts the goroutine that reads inner, which
// Close ends. The error lists all that is wrong with c and wraps aqm.ErrConfig; inner is
// then as it was.
func Wrap(inner tun.Device, c Config) (*Device, error) {
	d, err := wrap(inner, c)
	if err == nil {
		go d.pump()
	}
	return d, err
}

func wrap(inner tun.Device, c Config) (*Device, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if inner == nil {
		return nil, fmt.Errorf("wireguard: inner = nil, must be a TUN device: %w", aqm.ErrConfig)
	}
	d := &Device{
		inner:   inner,
		config:  c,
		start:   time.Now(),
		flows:   flow.New(),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		pumped:  make(chan struct{}),
		timer:   time.NewTimer(time.Hour),
	}
	d.timer.Stop()
	var err error
	if d.queues, err = egress.New(c.queues(), d.pool.put); err != nil {
		return nil, fmt.Errorf("wireguard: %w", err)
	}
	return d, nil
}

func (d *Device) now() aqm.Time { return aqm.Time(time.Since(d.start)) }

// Write passes packets from the peers to the inner device.
func (d *Device) Write(bufs [][]byte, offset int) (int, error) { return d.inner.Write(bufs, offset) }

// File returns the inner device's.
func (d *Device) File() *os.File { return d.inner.File() }

// MTU returns the inner device's.
func (d *Device) MTU() (int, error) { return d.inner.MTU() }

// Name returns the inner device's.
func (d *Device) Name() (string, error) { return d.inner.Name() }

// Events returns the inner device's, which is closed when that is.
func (d *Device) Events() <-chan tun.Event { return d.inner.Events() }

// BatchSize returns the inner device's.
func (d *Device) BatchSize() int { return d.inner.BatchSize() }

// Close drops what is queued, closes the inner device, and waits until that is no longer
// read. It ends a Read that waits. It may be called more than once.
func (d *Device) Close() error {
	d.closed.Do(func() {
		d.mu.Lock()
		if d.err == nil {
			d.err = os.ErrClosed
		}
		d.queues.Flush(d.pool.put)
		d.mu.Unlock()
		close(d.closing)
		d.closeErr = d.inner.Close()
	})
	<-d.pumped
	return d.closeErr
}

// SetRate changes Config.Rate.
func (d *Device) SetRate(rate uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues.SetRate(d.now(), rate)
	d.signal()
}

// Do calls f while no algorithm is being asked, to reconfigure one or to read its state.
// f must not call the Device.
func (d *Device) Do(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *Device) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}
