package tunlink

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/threshold"
)

func pointer[T any](x T) *T { return &x }

// change puts c in force at an instant.
func (p *pipe) change(at time.Duration, c Change) {
	p.update(func() aqm.Time { return aqm.Time(at) }, c)
}

// TestChangeRate lets the packet in transmission end as it began.
func TestChangeRate(t *testing.T) {
	p := makePipe(t, direction(aqm.TailDrop{}))
	for i := range uint16(3) {
		p.arriveAt(0, ipPacket(1500, aqm.ECT0, ack, i))
	}
	p.change(500*time.Microsecond, Change{Rate: pointer[uint64](6e6)})
	got, _ := p.deliverAt(time.Second)
	assert.Equal(t, []delivery{{0, 11 * ms}, {1, 13 * ms}, {2, 15 * ms}}, got)
	assert.Equal(t, uint64(6e6), p.snapshot(0).Rate)
}

// TestChangeDelay lets no packet overtake another.
func TestChangeDelay(t *testing.T) {
	p := makePipe(t, direction(aqm.TailDrop{}))
	p.arriveAt(0, ipPacket(1500, aqm.ECT0, ack, 0))
	p.arriveAt(0, ipPacket(1500, aqm.ECT0, ack, 1))
	p.change(1500*time.Microsecond, Change{Delay: pointer(time.Duration(0))})
	p.arriveAt(1500*time.Microsecond, ipPacket(1500, aqm.ECT0, ack, 2)) // sent by 3 ms
	p.arriveAt(20*ms, ipPacket(1500, aqm.ECT0, ack, 3))
	p.change(20*ms, Change{Delay: pointer(30 * ms)})
	p.arriveAt(20*ms, ipPacket(1500, aqm.ECT0, ack, 4))
	got, _ := p.deliverAt(time.Second)
	assert.Equal(t, []delivery{{0, 11 * ms}, {1, 12 * ms}, {2, 12 * ms}, {3, 21 * ms}, {4, 52 * ms}}, got)
}

// TestLoss loses the same packets for the same seed, of about the share that was asked
// for, and accounts for them by class.
func TestLoss(t *testing.T) {
	const n = 20_000
	run := func(loss float64, seed, stream uint64) (got []delivery, s DirectionStats) {
		d := direction(aqm.TailDrop{})
		d.Rate, d.Delay, d.Loss, d.Seed = 1e9, 0, loss, seed
		p, err := newPipe(d, DefaultMTU, stream)
		require.NoError(t, err)
		for i := range n {
			at := time.Duration(i) * ms
			p.arriveAt(at, ipPacket(100, aqm.ECT0, ack, uint16(i)))
			out, _ := p.deliverAt(at + ms/2)
			got = append(got, out...)
			if i%100 == 0 {
				balanced(t, p.snapshot(aqm.Time(at)))
			}
		}
		s = p.snapshot(aqm.Time(n * ms))
		balanced(t, s)
		assert.Equal(t, uint64(len(got)), s.Delivered)
		assert.Equal(t, uint64(n), s.Delivered+s.Lost[Data])
		return got, s
	}
	first, s := run(0.01, 7, 0)
	// The standard deviation of a binomial count is 14; five of them.
	assert.InDelta(t, n*0.01, float64(s.Lost[Data]), 5*math.Sqrt(n*0.01*0.99))
	again, _ := run(0.01, 7, 0)
	assert.Equal(t, first, again)
	other, _ := run(0.01, 8, 0)
	assert.NotEqual(t, first, other)
	other, _ = run(0.01, 7, 1)
	assert.NotEqual(t, first, other, "the directions lose different packets")
	none, _ := run(0, 7, 0)
	assert.Len(t, none, n)
	all, s := run(1, 7, 0)
	assert.Empty(t, all)
	assert.Equal(t, uint64(n), s.Lost[Data])
}

// TestLostMarks counts a mark whose packet is lost behind the queue.
func TestLostMarks(t *testing.T) {
	th, err := threshold.New(threshold.Config{Packets: 1})
	require.NoError(t, err)
	d := direction(th)
	d.Loss = 1
	p := makePipe(t, d)
	for i := range uint16(5) {
		p.arriveAt(0, ipPacket(1500, aqm.ECT0, ack, i))
	}
	due, next := p.deliverAt(time.Second)
	assert.Empty(t, due)
	assert.Equal(t, time.Duration(never), next)
	s := p.snapshot(aqm.Time(time.Second))
	assert.Equal(t, []uint64{2, 2, 2}, []uint64{s.Queue.Marked.Packets, s.MarkedSent, s.MarkedLost})
	assert.True(t, p.arriveAt(time.Second, ipPacket(1500, aqm.ECT0, ack, 9)), "an idle pipe is woken though the packet will be lost")
}

// TestUpdate replaces and reconfigures algorithms, and says all that is wrong.
func TestUpdate(t *testing.T) {
	th, err := threshold.New(threshold.DefaultConfig())
	require.NoError(t, err)
	r := startWith(t, config(th, aqm.TailDrop{}))
	co, err := codel.New(codel.DefaultConfig())
	require.NoError(t, err)
	require.NoError(t, r.Update(A, Change{AQM: co}))
	require.NoError(t, r.Update(B, Change{AQM: th, Rate: pointer[uint64](1e6), Delay: pointer(ms), Loss: pointer(0.5)}))
	s := r.Stats().B
	assert.Equal(t, []any{uint64(1e6), ms, 0.5}, []any{s.Rate, s.Delay, s.Loss})
	require.ErrorContains(t, r.Update(A, Change{AQM: th}), "the instance of the other direction")
	err = r.Update(A, Change{Rate: pointer[uint64](0), Delay: pointer(time.Minute), Loss: pointer(math.NaN()), AQM: (*codel.CoDel)(nil)})
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{"Rate = 0 bit/s", "Delay = 1m0s", "Loss = NaN", "AQM"} {
		assert.ErrorContains(t, err, part)
	}
	require.ErrorContains(t, r.Update(7, Change{}), "A or B")
	require.NoError(t, r.Inspect(A, func(_ aqm.Time, a aqm.AQM) {
		assert.Same(t, co, a)
		assert.NoError(t, a.(*codel.CoDel).Reconfigure(codel.DefaultConfig()))
	}))
	assert.Error(t, r.Inspect(7, nil))
	assert.Equal(t, "A B", A.String()+" "+B.String())
}

// TestAsymmetric carries each direction at its own rate and delay.
func TestAsymmetric(t *testing.T) {
	c := config(aqm.TailDrop{}, aqm.TailDrop{})
	c.B.Rate, c.B.Delay = 1.2e6, 3*ms
	r := startWith(t, c)
	r.a.in <- ipPacket(1500, aqm.ECT0, ack, 1)
	assert.Equal(t, aqm.Time(11*ms), r.clock.nextDue())
	r.clock.advance(aqm.Time(11 * ms))
	receive(t, r.b)
	r.b.in <- ipPacket(150, aqm.ECT0, ack, 2)
	assert.Equal(t, aqm.Time(15*ms), r.clock.nextDue(), "1 ms of transmission and 3 ms")
	r.clock.advance(aqm.Time(15 * ms))
	receive(t, r.a)
}

// TestDrain delivers what is in the link, takes nothing more, and closes it.
func TestDrain(t *testing.T) {
	r := start(t)
	for i := range uint16(3) {
		r.a.in <- ipPacket(1500, aqm.ECT0, ack, i)
	}
	r.arrived(t, 3)
	drained := make(chan error, 1)
	go func() { drained <- r.Drain(context.Background()) }()
	for i := range uint16(3) {
		r.clock.advance(r.clock.nextDue())
		assert.Equal(t, i, id(receive(t, r.b)))
	}
	require.NoError(t, within(t, drained))
	require.NoError(t, within(t, r.ran))
	s := r.Stats().A
	balanced(t, s)
	assert.Equal(t, uint64(3), s.Delivered)
	assert.Zero(t, s.Queue.Flushed.Packets+s.Abandoned)
	require.NoError(t, r.Drain(context.Background()), "a second time")
}

// TestDrainTooLong counts what did not make it in time.
func TestDrainTooLong(t *testing.T) {
	r := start(t)
	for i := range uint16(5) {
		r.a.in <- ipPacket(1500, aqm.ECT0, ack, i)
	}
	r.arrived(t, 5)
	r.clock.advance(r.clock.nextDue()) // one arrives, ten are due in one millisecond each
	receive(t, r.b)
	ctx, cancel := context.WithTimeout(context.Background(), 20*ms)
	defer cancel()
	err := r.Drain(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "with 4 packets")
	s := r.Stats().A
	balanced(t, s)
	assert.Equal(t, uint64(1), s.Delivered)
	assert.Equal(t, uint64(4), s.Queue.Flushed.Packets+s.Abandoned)
	assert.Zero(t, s.InFlight)

	l, err := newLink(config(aqm.TailDrop{}, aqm.TailDrop{}), newFakeClock(), newFakeDevice(), newFakeDevice())
	require.NoError(t, err)
	require.NoError(t, l.Drain(context.Background()), "without Run")
}

// TestClosedBalances accounts for what a link held when it was closed.
func TestClosedBalances(t *testing.T) {
	r := start(t)
	for i := range uint16(8) {
		r.a.in <- ipPacket(1500, aqm.ECT0, ack, i)
	}
	r.arrived(t, 8)
	r.cancel()
	require.NoError(t, within(t, r.ran))
	s := r.Stats().A
	balanced(t, s)
	assert.Equal(t, uint64(7), s.Queue.Flushed.Packets)
	assert.Equal(t, uint64(1), s.Abandoned)
	assert.Zero(t, s.Queued)
}

// TestChangesUnderLoad changes everything again and again while packets pass both ways
// in real time, and takes snapshots: in none is a packet missing, none is lost that the
// loss did not take, and those that come out are in order. The race detector watches.
func TestChangesUnderLoad(t *testing.T) {
	before := runtime.NumGoroutine()
	k := &realClock{start: time.Now()}
	a, b := newFakeDevice(), newFakeDevice()
	c := config(aqm.TailDrop{}, aqm.TailDrop{})
	c.A.LimitPackets, c.B.LimitPackets, c.A.Delay, c.B.Delay = 1000, 1000, ms, ms
	c.A.Rate, c.B.Rate = 1e9, 1e8
	c.A.Loss, c.B.Loss = 0.01, 0.01
	l, err := newLink(c, k, a, b)
	require.NoError(t, err)
	ran := make(chan error, 1)
	go func() { ran <- l.Run(context.Background()) }()

	var taking, working sync.WaitGroup
	out := [2]int{}
	for i, d := range []*fakeDevice{b, a} {
		taking.Go(func() {
			last := -1
			for p := range d.out {
				out[i]++
				if n := int(id(p)); n <= last {
					t.Errorf("packet %d came behind %d", n, last)
				} else {
					last = n
				}
			}
		})
	}
	const n = 3000
	for _, d := range []*fakeDevice{a, b} {
		working.Go(func() {
			for i := range uint16(n) {
				d.in <- ipPacket(200, aqm.ECT0, ack, i)
			}
		})
	}
	stop := make(chan struct{})
	working.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
			}
			w := Way(i & 1)
			th, err := threshold.New(threshold.Config{Packets: 10 + i%7})
			assert.NoError(t, err)
			assert.NoError(t, l.Update(w, Change{
				Rate: pointer(uint64(1+i%5) * 1e8), Delay: pointer(time.Duration(i%4) * ms), Loss: pointer(float64(1+i%3) / 100), AQM: th,
			}))
			assert.NoError(t, l.Inspect(w, func(_ aqm.Time, a aqm.AQM) { assert.Same(t, th, a) }))
		}
	})
	arrived := func() bool {
		s := l.Stats()
		balanced(t, s.A)
		balanced(t, s.B)
		return s.A.Arrived[Data] == n && s.B.Arrived[Data] == n
	}
	require.Eventually(t, arrived, enough, ms)
	close(stop)
	working.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	require.NoError(t, l.Drain(ctx))
	require.NoError(t, within(t, ran))
	close(a.out)
	close(b.out)
	taking.Wait()
	s := l.Stats()
	for i, d := range []DirectionStats{s.A, s.B} {
		balanced(t, d)
		assert.Equal(t, uint64(out[i]), d.Delivered)
		assert.Equal(t, uint64(n), d.Delivered+d.Lost[Data]+d.Queue.Refused.Packets, "all that was lost is loss or overflow")
		assert.NotZero(t, d.Lost[Data])
	}
	noLeak(t, before)
}

// realClock is the system's clock, with alarms that need no kernel.
type realClock struct{ start time.Time }

func (k *realClock) now() aqm.Time { return aqm.Time(time.Since(k.start)) }

func (k *realClock) newAlarm() (alarm, error) {
	return &channelAlarm{k: k, bell: make(chan struct{}, 1), end: make(chan struct{})}, nil
}

type channelAlarm struct {
	k    *realClock
	bell chan struct{}
	end  chan struct{}
	once sync.Once
}

func (a *channelAlarm) wait(until aqm.Time) {
	timer := time.NewTimer(min(until.Sub(a.k.now()), time.Minute))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.bell:
	case <-a.end:
	}
}

func (a *channelAlarm) ring() {
	select {
	case a.bell <- struct{}{}:
	default:
	}
}

func (a *channelAlarm) close() { a.once.Do(func() { close(a.end) }) }
