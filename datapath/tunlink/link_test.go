package tunlink

import (
	"context"
	"errors"
	"io"
	"math"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/threshold"
)

// fakeClock stands still until it is told to go on.
type fakeClock struct {
	mu     sync.Mutex
	moved  *sync.Cond
	time   aqm.Time
	asleep map[*fakeAlarm]aqm.Time
	broken error // of newAlarm
}

func newFakeClock() *fakeClock {
	k := &fakeClock{asleep: map[*fakeAlarm]aqm.Time{}}
	k.moved = sync.NewCond(&k.mu)
	return k
}

func (k *fakeClock) now() aqm.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.time
}

// advance goes on to an instant.
func (k *fakeClock) advance(at aqm.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.time = at
	k.moved.Broadcast()
}

func (k *fakeClock) newAlarm() (alarm, error) {
	if k.broken != nil {
		return nil, k.broken
	}
	return &fakeAlarm{k: k}, nil
}

type fakeAlarm struct {
	k            *fakeClock
	rung, closed bool
}

func (a *fakeAlarm) wait(until aqm.Time) {
	a.k.mu.Lock()
	defer a.k.mu.Unlock()
	a.k.asleep[a] = until
	a.k.moved.Broadcast()
	for !a.rung && !a.closed && a.k.time < until {
		a.k.moved.Wait()
	}
	delete(a.k.asleep, a)
	a.rung = false
}

func (a *fakeAlarm) ring() {
	a.k.mu.Lock()
	defer a.k.mu.Unlock()
	a.rung = true
	a.k.moved.Broadcast()
}

func (a *fakeAlarm) close() {
	a.k.mu.Lock()
	defer a.k.mu.Unlock()
	a.closed = true
	a.k.moved.Broadcast()
}

// fakeDevice hands out what the test puts in, and keeps what the link writes.
type fakeDevice struct {
	in, out chan []byte
	fail    chan error
	closed  chan struct{}
	past    chan struct{} // the deadline of Read
	once    sync.Once
	late    sync.Once
	refuse  bool // every Write
	writes  atomic.Int64
}

func newFakeDevice() *fakeDevice {
	return &fakeDevice{in: make(chan []byte), out: make(chan []byte, 100), fail: make(chan error), closed: make(chan struct{}), past: make(chan struct{})}
}

func (d *fakeDevice) Read(b []byte) (int, error) {
	select {
	case p := <-d.in:
		return copy(b, p), nil
	case err := <-d.fail:
		return 0, err
	case <-d.past:
		return 0, os.ErrDeadlineExceeded
	case <-d.closed:
		return 0, os.ErrClosed
	}
}

func (d *fakeDevice) SetReadDeadline(time.Time) error {
	d.late.Do(func() { close(d.past) })
	return nil
}

func (d *fakeDevice) Write(b []byte) (int, error) {
	if d.refuse {
		return 0, io.ErrShortWrite
	}
	d.writes.Add(1)
	b = append([]byte(nil), b...)
	select {
	case d.out <- b: // where there is room, closed or not
		return len(b), nil
	default:
	}
	select {
	case d.out <- b:
		return len(b), nil
	case <-d.closed:
		return 0, os.ErrClosed
	}
}

func (d *fakeDevice) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func config(a, b aqm.AQM) Config { return Config{A: direction(a), B: direction(b), MTU: DefaultMTU} }

// rig is a link between fake devices, which runs.
type rig struct {
	*Link
	clock  *fakeClock
	a, b   *fakeDevice
	cancel context.CancelFunc
	ran    chan error
}

func start(t *testing.T) *rig { return startWith(t, config(aqm.TailDrop{}, aqm.TailDrop{})) }

func startWith(t *testing.T, c Config) *rig {
	t.Helper()
	before := runtime.NumGoroutine()
	r := &rig{clock: newFakeClock(), a: newFakeDevice(), b: newFakeDevice(), ran: make(chan error, 1)}
	var err error
	r.Link, err = newLink(c, r.clock, r.a, r.b)
	require.NoError(t, err)
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	go func() { r.ran <- r.Run(ctx) }()
	t.Cleanup(func() {
		r.cancel()
		r.Close()
		noLeak(t, before)
	})
	return r
}

// enough is how long a test waits for what must come. It is no measure of anything: a
// machine may give the process no time for seconds, and only what never comes takes it.
const enough = time.Minute

// noLeak waits until there are no more goroutines than before.
func noLeak(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(enough); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
}

func within(t *testing.T, c <-chan error) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(enough):
		t.Fatal("Run did not return")
		return nil
	}
}

func receive(t *testing.T, d *fakeDevice) []byte {
	t.Helper()
	select {
	case b := <-d.out:
		return b
	case <-time.After(enough):
		t.Fatal("no packet came")
		return nil
	}
}

// nextDue waits until an alarm sleeps for an instant that is neither past nor never.
func (k *fakeClock) nextDue() aqm.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		for _, until := range k.asleep {
			if until != never && until > k.time {
				return until
			}
		}
		k.moved.Wait()
	}
}

// arrived waits until n packets of data have entered at end A.
func (r *rig) arrived(t *testing.T, n uint64) {
	t.Helper()
	require.Eventually(t, func() bool { return r.Stats().A.Arrived[Data] == n }, enough, time.Millisecond)
}

// TestLink carries packets both ways, each at its instant.
func TestLink(t *testing.T) {
	r := start(t)
	for i := range uint16(3) {
		r.a.in <- ipPacket(1500, aqm.ECT0, ack, i)
	}
	r.arrived(t, 3)
	for i := range uint16(3) {
		due := r.clock.nextDue()
		assert.Equal(t, aqm.Time(11*ms+time.Duration(i)*ms), due)
		assert.Empty(t, r.b.out, "nothing comes before it is due")
		r.clock.advance(due)
		assert.Equal(t, ipPacket(1500, aqm.ECT0, ack, i), receive(t, r.b))
	}
	r.b.in <- ipPacket(40, aqm.NotECT, ack, 7)
	r.clock.advance(r.clock.nextDue())
	assert.Equal(t, ipPacket(40, aqm.NotECT, ack, 7), receive(t, r.a))
	s := r.Stats()
	assert.Equal(t, aqm.Count{Packets: 3, Bytes: 4500}, s.A.Queue.Delivered)
	assert.Equal(t, aqm.Count{Packets: 1, Bytes: 40}, s.B.Queue.Delivered)
	assert.Equal(t, uint64(1), s.B.Arrived[ACK])
}

func TestCancel(t *testing.T) {
	r := start(t)
	r.a.in <- ipPacket(1500, aqm.ECT0, ack, 0) // is never delivered
	r.arrived(t, 1)
	r.cancel()
	require.NoError(t, within(t, r.ran))
	require.NoError(t, r.Close())
	assert.Equal(t, uint64(1), r.Stats().A.Arrived[Data])
	assert.Error(t, r.Run(context.Background()), "a second time")
}

func TestClose(t *testing.T) {
	r := start(t)
	r.b.in <- ipPacket(1500, aqm.ECT0, ack, 0)
	require.NoError(t, r.Close())
	select {
	case <-r.done:
	default:
		t.Error("Close does not wait for Run")
	}
	require.NoError(t, within(t, r.ran))
	require.NoError(t, r.Close())

	l, err := newLink(config(aqm.TailDrop{}, aqm.TailDrop{}), newFakeClock(), newFakeDevice(), newFakeDevice())
	require.NoError(t, err)
	require.NoError(t, l.Close(), "without Run")
	assert.Error(t, l.Run(context.Background()))
}

// TestDeviceFails ends Run with the device's error.
func TestDeviceFails(t *testing.T) {
	r := start(t)
	broken := errors.New("unplugged")
	r.b.fail <- broken
	require.ErrorIs(t, within(t, r.ran), broken)
}

// TestWriteErrors counts what the far device does not take, and goes on.
func TestWriteErrors(t *testing.T) {
	r := start(t)
	r.b.refuse = true
	r.a.in <- ipPacket(1500, aqm.ECT0, ack, 0)
	r.clock.advance(r.clock.nextDue())
	r.a.in <- ipPacket(1500, aqm.ECT0, ack, 1)
	r.clock.advance(r.clock.nextDue())
	assert.Eventually(t, func() bool { return r.Stats().A.WriteErrors == 2 }, enough, time.Millisecond)
}

// TestNewLink closes the devices where it fails.
func TestNewLink(t *testing.T) {
	k, a, b := newFakeClock(), newFakeDevice(), newFakeDevice()
	k.broken = errors.New("no timers left")
	_, err := newLink(config(aqm.TailDrop{}, aqm.TailDrop{}), k, a, b)
	require.ErrorIs(t, err, k.broken)
	<-a.closed
	<-b.closed
}

// TestStatsConcurrently takes snapshots while packets pass; for the race detector.
func TestStatsConcurrently(t *testing.T) {
	r := start(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range uint16(200) {
			r.a.in <- ipPacket(100, aqm.ECT0, ack, i)
			r.clock.advance(aqm.Time(i) * aqm.Time(ms))
		}
	}()
	go func() {
		for range r.b.out { // so that the link is never held up
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		s := r.Stats().A
		balanced(t, s)
	}
	r.Close()
	close(r.b.out)
}

// TestNotInTime stops reading where the far device takes nothing for longer than the
// link has patience, so that what is inside is bounded, and goes on when it does again.
func TestNotInTime(t *testing.T) {
	r := start(t)
	r.b.out = make(chan []byte) // takes nothing until it is read
	n := 0
	// offer reports whether the link reads a packet. Where it does not, there must be the
	// reason for it: how long it takes to read says nothing.
	offer := func() bool {
		for end := time.Now().Add(enough); time.Now().Before(end); {
			select {
			case r.a.in <- ipPacket(1500, aqm.ECT0, ack, uint16(n)):
				n++
				r.clock.advance(r.clock.now().Add(ms))
				return true
			case <-time.After(ms):
				if r.pipes[0].late(r.clock.now()) {
					return false
				}
			}
		}
		t.Fatal("the link neither reads nor waits for the far device")
		return false
	}
	for n < 1000 && offer() {
		if n == 12 { // the first is due: from here on the far device holds up delivery
			require.Eventually(t, func() bool { return r.b.writes.Load() > 0 }, enough, ms)
		}
	}
	// One in each millisecond, of which each is 11 ms on its way, and those that are being
	// written.
	assert.GreaterOrEqual(t, n, 110, "packets that were read")
	assert.LessOrEqual(t, n, 113+batch)
	done := make(chan int)
	go func() {
		got := 0
		for range r.b.out {
			got++
		}
		done <- got
	}()
	// Until the far device has taken what is late it still reads nothing.
	for end, limit := n+200, time.Now().Add(enough); n < end; {
		offer()
		require.True(t, time.Now().Before(limit), "the link reads again")
	}
	drained := make(chan error, 1)
	go func() { drained <- r.Drain(t.Context()) }()
	// The last packet may arrive after the clock was moved for it.
	require.Eventually(t, func() bool {
		r.clock.advance(r.clock.now().Add(time.Second))
		return len(drained) == 1
	}, enough, ms)
	require.NoError(t, <-drained)
	close(r.b.out)
	assert.Equal(t, n, <-done)
	balanced(t, r.Stats().A)
}

// late reports whether await waits.
func (p *pipe) late(now aqm.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flight.first != nil && now.Sub(p.flight.first.due) > patience
}

// balanced holds a snapshot to what Balance promises, and the queue's to its own.
func balanced(t testing.TB, s DirectionStats) {
	t.Helper()
	in, out := s.Balance()
	require.Equal(t, in, out, "in = out + dropped + lost + queued + in flight: %+v", s)
	q := s.Queue
	require.Equal(t, q.Arrived.Packets, q.Refused.Packets+q.Delivered.Packets+q.Dropped.Packets+q.Flushed.Packets+s.Queued.Packets)
	require.Equal(t, in, q.Arrived.Packets)
}

// TestValidate sees every mistake listed at once, with field, value, bound and unit.
func TestValidate(t *testing.T) {
	require.NoError(t, config(aqm.TailDrop{}, aqm.TailDrop{}).Validate())
	th, err := threshold.New(threshold.DefaultConfig())
	require.NoError(t, err)
	err = Config{
		A:    Direction{Delay: -1, LimitBytes: -1, Loss: 1.5, AQM: th},
		B:    Direction{Rate: 1, Loss: math.NaN(), Delay: time.Minute, LimitPackets: 1 << 30, AQM: th},
		EndA: End{Device: "a-name-that-is-too-long"},
		EndB: End{Address: netip.PrefixFrom(netip.MustParseAddr("10.0.0.1"), 33), Also: []netip.Prefix{{}}},
		MTU:  67,
	}.Validate()
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{
		"A.Rate = 0 bit/s, must be > 0",
		"A.Delay = -1ns, must be in [0s, 10s]",
		"A.LimitPackets = 0 packets, must be in [1, 16777216]",
		"A.LimitBytes = -1 bytes, must be >= 0",
		"B.Delay = 1m0s",
		"B.LimitPackets = 1073741824 packets",
		"B.AQM = A.AQM, must be another instance",
		"EndA.Device = a-name-that-is-too-long, must be at most 15 octets long",
		"EndB.Address",
		"EndB.Also[0]",
		"A.Loss = 1.5, must be in [0, 1]",
		"B.Loss = NaN",
		"MTU = 67 bytes, must be in [68, 65535]",
	} {
		assert.ErrorContains(t, err, part)
	}
	assert.ErrorContains(t, config((*threshold.Threshold)(nil), aqm.TailDrop{}).Validate(), "A.AQM")
	assert.ErrorContains(t, Config{}.Validate(), "B.AQM = <nil>, must be an algorithm")
	_, err = Open(Config{})
	assert.Error(t, err)
}
