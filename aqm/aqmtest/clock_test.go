package aqmtest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

const moody = "another mood in every other period"

// clocks are faults that take so much real time to show.
var clocks = []struct {
	name string
	mk   func(scale time.Duration) MakeAQM
}{
	{"a pause after a signal", func(scale time.Duration) MakeAQM {
		return func(src rand.Source) aqm.AQM {
			var last time.Time
			return planted{red: newRED(src), enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
				v := r.Enqueue(now, p, q)
				if v.Reason == aqm.Early {
					if time.Since(last) < scale {
						return aqm.Verdict{}
					}
					last = time.Now()
				}
				return v
			}}
		}
	}},
	{"an average that idle time resets", func(scale time.Duration) MakeAQM {
		return func(src rand.Source) aqm.AQM {
			last := time.Now()
			return planted{red: newRED(src), enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
				if time.Since(last) > scale {
					r.avg = 0
				}
				last = time.Now()
				return r.Enqueue(now, p, q)
			}}
		}
	}},
	{"no signal when young", func(scale time.Duration) MakeAQM {
		return func(src rand.Source) aqm.AQM {
			made := time.Now()
			return planted{red: newRED(src), enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
				if v := r.Enqueue(now, p, q); v.Reason == aqm.Overflow || time.Since(made) > scale {
					return v
				}
				return aqm.Verdict{}
			}}
		}
	}},
	{moody, func(scale time.Duration) MakeAQM {
		return func(src rand.Source) aqm.AQM {
			return planted{red: newRED(src), enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
				if time.Now().UnixNano()/int64(scale)%2 == 1 {
					r.avg = 0
				}
				return r.Enqueue(now, p, q)
			}}
		}
	}},
	{"a timer", func(scale time.Duration) MakeAQM {
		return func(src rand.Source) aqm.AQM {
			timer := time.NewTimer(scale)
			return planted{red: newRED(src), enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
				select {
				case <-timer.C:
					r.avg = 0
				default:
				}
				return r.Enqueue(now, p, q)
			}}
		}
	}},
}

// TestClocks finds clocks of all scales in a bubble.
func TestClocks(t *testing.T) {
	for _, c := range clocks {
		for _, scale := range []time.Duration{100 * time.Microsecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 30 * time.Second, time.Hour} {
			t.Run(fmt.Sprintf("%s/%v", c.name, scale), func(t *testing.T) {
				s, err := newSession(c.mk(scale), []Option{Packets(1000)})
				require.NoError(t, err)
				s.bubble = bubbleOf(t)
				o := s.check(entry{noClock, (*session).noClock})
				require.NotNil(t, o.broken, o.reason)
				assert.Equal(t, noClock, o.broken.Law)
				if c.name != moody { // else it may take several pauses
					assert.Contains(t, o.broken.Detail, "of wall-clock time pass before this call")
					assert.LessOrEqual(t, len(o.broken.parts()[0]), 100, "shrunk: %v", o.broken)
				}
			})
		}
	}
}

// TestRareClock finds a clock that is read once in 4096 calls.
func TestRareClock(t *testing.T) {
	s, err := newSession(func(src rand.Source) aqm.AQM {
		var last time.Time
		return planted{red: newRED(src), enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if r.n++; r.n%4096 == 0 {
				if !last.IsZero() && time.Since(last) > time.Second {
					r.avg = 0
				}
				last = time.Now()
			}
			return r.Enqueue(now, p, q)
		}}
	}, nil)
	require.NoError(t, err)
	s.bubble = bubbleOf(t)
	o := s.check(entry{noClock, (*session).noClock})
	require.NotNil(t, o.broken, o.reason)
	assert.Equal(t, noClock, o.broken.Law)
}

// TestClocksInRealTime finds clocks where Check knows of no bubble, and waits. The test
// has put it into one: else a machine that lets the program stand still for as long as
// the pause makes equal runs differ, or the run without it equal to the run with it.
func TestClocksInRealTime(t *testing.T) {
	for _, c := range clocks {
		for _, scale := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond} {
			if c.name == moody { // the pause may be an even number of them
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := Check(c.mk(scale), Packets(1000), Only("determinism", "no-clock"))
				assert.Equal(t, []string{"no-clock"}, broken(err), "%s/%v", c.name, scale)
				assert.GreaterOrEqual(t, time.Since(start), realPause)
			})
		}
	}
}

// TestBubble keeps out of the bubble what would not leave it, and does not blame a
// clock for what is random.
func TestBubble(t *testing.T) {
	reason := func(mk MakeAQM) string {
		s, err := newSession(mk, []Option{Packets(1000), brief})
		require.NoError(t, err)
		s.bubble = bubbleOf(t)
		o := s.check(entry{noClock, (*session).noClock})
		assert.Nil(t, o.broken)
		return o.reason
	}
	one := newRED(rand.NewPCG(1, 2))
	assert.Equal(t, onlyOne, reason(func(rand.Source) aqm.AQM { return one }))
	assert.Empty(t, reason(planter("has a goroutine")))
	assert.Equal(t, varying, reason(planter("draws from the global generator")))
	assert.Empty(t, reason(planter("shares its average")), "equal turns, equal answers")

	s, err := newSession(goodAQMs["red"], []Option{Packets(1000)})
	require.NoError(t, err)
	s.bubble = func(f func()) { f(); panic("deadlock") }
	assert.Contains(t, s.check(entry{noClock, (*session).noClock}).reason, "panic: deadlock")
}

// TestHangInBubble ends the check of an AQM that does not return after a pause.
func TestHangInBubble(t *testing.T) {
	var release atomic.Bool
	s, err := newSession(func(src rand.Source) aqm.AQM {
		made := time.Now()
		return planted{red: newRED(src), enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			for time.Since(made) > time.Second && !release.Load() {
				runtime.Gosched()
			}
			return r.Enqueue(now, p, q)
		}}
	}, []Option{Packets(1000), func(c *config) { c.patience = 300 * time.Millisecond }})
	require.NoError(t, err)
	ended := make(chan struct{})
	s.bubble = func(f func()) {
		defer func() {
			if release.Load() {
				close(ended)
			}
		}()
		bubbleOf(t)(f)
	}
	o := s.check(entry{noClock, (*session).noClock})
	release.Store(true)
	<-ended
	require.NotNil(t, o.broken)
	assert.Equal(t, boundedWork, o.broken.Law)
	assert.Contains(t, strings.Join(o.broken.Stack, "\n"), "clock_test.go:", "where")
}

// TestCuts pauses once after a signal in every stream that has some, and before one
// where it has two.
func TestCuts(t *testing.T) {
	signal := aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	st := func(n int, signals ...int) *stream {
		s := &stream{asking: asking{calls: make([]Call, n)}, verdicts: make([]aqm.Verdict, n)}
		for _, i := range signals {
			s.verdicts[i] = signal
		}
		return s
	}
	assert.Equal(t, []int{50}, cuts(st(100), 1))
	assert.Equal(t, []int{70}, cuts(st(100, 40), 1))
	assert.Equal(t, []int{60}, cuts(st(100, 40, 60), 1))
	assert.Equal(t, []int{60}, cuts(st(100, 40, 60, 80), 1))
	assert.Equal(t, []int{20, 30, 40, 50}, cuts(st(60, 10, 20, 30, 40, 50), 4))
	assert.Equal(t, []int{0, 0}, cuts(st(0), 2))
}
