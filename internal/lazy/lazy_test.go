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
