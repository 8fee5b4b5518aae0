package lazy

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aqmkit/aqmkit/aqm"
)

func TestTicks(t *testing.T) {
	tm := NewTimer(10)
	assert.Zero(t, tm.Ticks(-5), "the first event starts the timer")
	assert.Equal(t, aqm.Time(5), tm.Next)
	assert.Zero(t, tm.Ticks(4))
	assert.Equal(t, uint64(1), tm.Ticks(5), "a tick at an event's instant is due")
	assert.Zero(t, tm.Ticks(-100), "a step back is no elapsed time")
	assert.Equal(t, uint64(3), tm.Ticks(44))
	assert.Equal(t, aqm.Time(45), tm.Next)
	tm.SetPeriod(3)
	assert.Equal(t, aqm.Time(38), tm.Next, "one new period after the last tick, at 35")
	assert.Equal(t, uint64(3), tm.Ticks(44))
}

// TestTicksAgreeWithALoop counts the ticks of random gaps one by one.
func TestTicksAgreeWithALoop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	tm := NewTimer(7)
	now, next := aqm.Time(100), aqm.Time(107)
	tm.Ticks(now)
	for range 10_000 {
		now += aqm.Time(r.IntN(40))
		want := uint64(0)
		for ; next <= now; next += 7 {
			want++
		}
		got := uint64(0)
		if now >= tm.Next {
			got = tm.Ticks(now)
		}
		assert.Equal(t, want, got)
	}
}

func TestEndsOfTime(t *testing.T) {
	tm := NewTimer(time.Second)
	assert.Zero(t, tm.Ticks(math.MinInt64))
	assert.Equal(t, uint64(math.MaxUint64)/1e9, tm.Ticks(math.MaxInt64), "one tick a second for 584 years")
	assert.Zero(t, tm.Ticks(math.MaxInt64), "no tick is due after the last instant")
	tm = NewTimer(math.MaxInt64)
	assert.Zero(t, tm.Ticks(1))
	assert.Zero(t, tm.Ticks(math.MaxInt64))
}

func TestSetPeriod(t *testing.T) {
	t.Run("before the first event", func(t *testing.T) {
		tm := NewTimer(10)
		tm.SetPeriod(3)
		assert.Equal(t, time.Duration(3), tm.Period())
		assert.Equal(t, aqm.Time(math.MinInt64), tm.Next, "any event is the first")
		assert.Zero(t, tm.Ticks(100))
		assert.Equal(t, aqm.Time(103), tm.Next)
	})
	t.Run("longer: one new period after the last tick", func(t *testing.T) {
		tm := NewTimer(10)
		assert.Zero(t, tm.Ticks(0))
		assert.Equal(t, uint64(2), tm.Ticks(25)) // at 10 and 20
		tm.SetPeriod(100)
		assert.Equal(t, time.Duration(100), tm.Period())
		assert.Equal(t, aqm.Time(120), tm.Next)
		assert.Zero(t, tm.Ticks(119))
		assert.Equal(t, uint64(1), tm.Ticks(120))
		assert.Equal(t, aqm.Time(220), tm.Next)
	})
	t.Run("to the end of time", func(t *testing.T) {
		tm := NewTimer(10)
		assert.Zero(t, tm.Ticks(1))
		tm.SetPeriod(math.MaxInt64)
		assert.Zero(t, tm.Ticks(math.MaxInt64), "the next tick is past the last instant")
		tm.SetPeriod(5)
		assert.Equal(t, time.Duration(5), tm.Period())
		assert.Zero(t, tm.Ticks(math.MaxInt64), "a timer that has ended stays so")
	})
}

// TestLastInstant has a tick fall on the last instant and one beyond it.
func TestLastInstant(t *testing.T) {
	tm := NewTimer(10)
	assert.Zero(t, tm.Ticks(math.MaxInt64-10))
	assert.Equal(t, aqm.Time(math.MaxInt64), tm.Next)
	assert.Zero(t, tm.Ticks(math.MaxInt64-1))
	assert.Equal(t, uint64(1), tm.Ticks(math.MaxInt64))
	assert.Zero(t, tm.Ticks(math.MaxInt64))

	tm = NewTimer(10)
	assert.Zero(t, tm.Ticks(math.MaxInt64-9))
	assert.Zero(t, tm.Ticks(math.MaxInt64), "the first tick would be one beyond")
}
