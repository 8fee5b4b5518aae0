package wireguard

import (
	"os"
	"sync"

	"golang.zx2c4.com/wireguard/tun"
)

// fakeTUN is a TUN device whose host sends what is put into out, in batches, and keeps
// what it is sent.
type fakeTUN struct {
	batch  int
	out    chan read
	events chan tun.Event
	closed chan struct{}

	mu       sync.Mutex
	received [][]byte
	offsets  []int
	closes   int
}

// read is what one Read of the device returns.
type read struct {
	packets [][]byte
	err     error
}

func newFakeTUN(batch int) *fakeTUN {
	return &fakeTUN{batch: batch, out: make(chan read), events: make(chan tun.Event, 4), closed: make(chan struct{})}
}

func (f *fakeTUN) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	select {
	case <-f.closed:
		return 0, os.ErrClosed
	case r := <-f.out:
		for i, p := range r.packets {
			sizes[i] = copy(bufs[i][offset:], p)
		}
		return len(r.packets), r.err
	}
}

// send is what the host does. It returns once the device has read everything.
func (f *fakeTUN) send(packets ...[]byte) {
	for len(packets) > 0 {
		n := min(f.batch, len(packets))
		select {
		case f.out <- read{packets: packets[:n]}:
		case <-f.closed:
			return
		}
		packets = packets[n:]
	}
}

func (f *fakeTUN) Write(bufs [][]byte, offset int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offsets = append(f.offsets, offset)
	for _, b := range bufs {
		f.received = append(f.received, append([]byte(nil), b[offset:]...))
	}
	return len(bufs), nil
}

// take returns what has come in since the last call.
func (f *fakeTUN) take() (got [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	got, f.received = f.received, nil
	return got
}

func (f *fakeTUN) File() *os.File           { return os.Stdin }
func (f *fakeTUN) MTU() (int, error)        { return 1420, nil }
func (f *fakeTUN) Name() (string, error)    { return "fake", nil }
func (f *fakeTUN) Events() <-chan tun.Event { return f.events }
func (f *fakeTUN) BatchSize() int           { return f.batch }

func (f *fakeTUN) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closes++
	close(f.closed)
	close(f.events)
	return nil
}
