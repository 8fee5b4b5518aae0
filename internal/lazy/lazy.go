// Package lazy samples a periodic timer at the events that an algorithm sees, such
// that the ticks agree with those of a real timer.
package lazy

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Timer is a periodic timer that starts at the first event: the first tick is one
// period after it, and a tick that falls on the instant of an event is due at that
// event. The algorithm's path for an event without a tick is one comparison,
//
//	if now >= t.Next { n := t.Ticks(now); ... }
//
// which also holds its own where time steps back: Next is beyond every now that
// Ticks has seen.
type Timer struct {
	Next   aqm.Time // instant of the next tick; the smallest Time before the first event
	period time.Duration
	state  state
}

type state uint8

const (
	waiting state = iota // for the first event
	running
	ended // the next tick is beyond the last instant of aqm.Time
)

// NewTimer returns a timer that no event has started. period is > 0.
func NewTimer(period time.Duration) Timer { return Timer{Next: math.MinInt64, period: period} }

// Ticks returns how many ticks fell due until now, that instant included, and
// moves Next beyond it.
func (t *Timer) Ticks(now aqm.Time) uint64 {
	switch {
	case t.state == waiting:
		t.state = running
		t.advance(now, 1)
		return 0
	case t.state == ended || now < t.Next:
		return 0
	}
	n := (uint64(now)-uint64(t.Next))/uint64(t.period) + 1
	t.advance(t.Next, n)
	return n
}

// advance sets Next to n periods after from, where n periods are more than the
// time from there to now by at most one.
func (t *Timer) advance(from aqm.Time, n uint64) {
	left := uint64(math.MaxInt64) - uint64(from)
	if n > left/uint64(t.period) {
		t.Next, t.state = math.MaxInt64, ended
		return
	}
	t.Next = aqm.Time(uint64(from) + n*uint64(t.period))
}

// SetPeriod changes the period. The next tick is one new period after the last
// tick, or after the first event where there was none. If the period became shorter,
// that may be in the past, and the tick is due at the next event: where time may step
// back, compare Next with the largest now.
func (t *Timer) SetPeriod(period time.Duration) {
	if t.state == running {
		last := aqm.Time(uint64(t.Next) - uint64(t.period))
		t.period = period
		t.advance(last, 1)
		return
	}
	t.period = period
}

// Period returns the period.
func (t *Timer) Period() time.Duration { return t.period }
