package gvisor

import (
	"container/heap"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"gvisor.dev/gvisor/pkg/tcpip"
)

// virtualClock is a clock that a test turns: it goes on to the next timer once no
// goroutine has anything left to do. What hosts and links on it achieve does not depend
// on how much time the machine has for them. Package testing/synctest cannot do this:
// netstack's goroutines park in a way that it does not know.
type virtualClock struct {
	mu     sync.Mutex
	now    tcpip.MonotonicTime
	number int
	timers timerHeap
}

// epoch is what Now tells at the instant 0.
var epoch = time.Unix(1_700_000_000, 0)

// Now implements tcpip.Clock.
func (c *virtualClock) Now() time.Time {
	return epoch.Add(c.elapsed())
}

// NowMonotonic implements tcpip.Clock.
func (c *virtualClock) NowMonotonic() tcpip.MonotonicTime {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *virtualClock) elapsed() time.Duration {
	return c.NowMonotonic().Sub(tcpip.MonotonicTime{})
}

// AfterFunc implements tcpip.Clock.
func (c *virtualClock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	t := &virtualTimer{clock: c, f: f, place: unset}
	t.Reset(d)
	return t
}

// run lets d pass.
func (c *virtualClock) run(d time.Duration) {
	end := c.NowMonotonic().Add(d)
	for {
		settle()
		f := c.next(end)
		if f == nil {
			return
		}
		go f()
	}
}

// runUntil lets time pass, a while at a time, until ok.
func (c *virtualClock) runUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := c.elapsed() + time.Minute; ; {
		settle()
		switch {
		case ok():
			return
		case c.elapsed() > end:
			t.Fatal(what)
		}
		c.run(time.Millisecond)
	}
}

// next goes to the first timer, and takes it, or to the end where that is before.
func (c *virtualClock) next(end tcpip.MonotonicTime) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 || c.timers[0].due.After(end) {
		c.now = end
		return nil
	}
	t := heap.Pop(&c.timers).(*virtualTimer)
	c.now = t.due
	return t.f
}

// settle returns once all other goroutines wait. The scheduler's counts are not taken at
// one instant, for which they have to agree a few times.
func settle() {
	counts := []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"}}
	for agreed := 0; agreed < 3; agreed++ {
		runtime.Gosched()
		metrics.Read(counts)
		if counts[0].Value.Uint64() > 1 || counts[1].Value.Uint64() > 0 { // 1 is this one
			agreed = -1
		}
	}
}

// virtualTimer is a timer of a virtualClock.
type virtualTimer struct {
	clock  *virtualClock
	f      func()
	due    tcpip.MonotonicTime
	number int // of those that are due at an instant the first set is first
	place  int // in the heap
}

const unset = -1

// Stop implements tcpip.Timer.
func (t *virtualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if t.place == unset {
		return false
	}
	heap.Remove(&t.clock.timers, t.place)
	return true
}

// Reset implements tcpip.Timer.
func (t *virtualTimer) Reset(d time.Duration) {
	t.Stop()
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.clock.number++
	t.due, t.number = t.clock.now.Add(max(d, 0)), t.clock.number
	heap.Push(&t.clock.timers, t)
}

// timerHeap implements heap.Interface.
type timerHeap []*virtualTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].due == h[j].due {
		return h[i].number < h[j].number
	}
	return h[i].due.Before(h[j].due)
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*virtualTimer)
	t.place = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	t.place = unset
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}

// TestVirtualClock fires timers at their instants, in their order, each after what the
// one before has set off.
func TestVirtualClock(t *testing.T) {
	c := &virtualClock{}
	var mu sync.Mutex
	var at []time.Duration
	busy := func() {
		done := make(chan struct{})
		go func() {
			for n := range 1_000_000 {
				if n%1000 == 0 {
					runtime.Gosched()
				}
			}
			mu.Lock()
			at = append(at, c.elapsed())
			mu.Unlock()
			close(done)
		}()
		<-done
	}
	c.AfterFunc(3*time.Second, busy)
	c.AfterFunc(time.Second, func() {
		busy()
		c.AfterFunc(time.Second, busy)
		c.AfterFunc(0, busy)
	})
	stopped := c.AfterFunc(time.Second, busy)
	assert.True(t, stopped.Stop())
	assert.False(t, stopped.Stop())
	moved := c.AfterFunc(time.Second, busy)
	moved.Reset(4 * time.Second)
	start := time.Now()
	c.run(10 * time.Second)
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []time.Duration{time.Second, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}, at)
	assert.Equal(t, 10*time.Second, c.elapsed())
	t.Logf("10 s took %v", time.Since(start))
}
