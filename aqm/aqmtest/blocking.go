package aqmtest

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// noBlocking asks in a bubble, where time passes only while everyone waits, so that
// any wait shows, however short or rare, and takes no time. It records the ordinary
// streams there, to spare those who come after it an AQM that waits at each signal.
func (s *session) noBlocking() outcome {
	if s.bubble == nil || s.lingers() {
		return s.realWaits()
	}
	var o outcome
	c := catch(func() { o = s.bubbledWaits() })
	switch {
	case c == nil:
		return o
	case s.asked.Load()%2 == 1 && strings.Contains(fmt.Sprint(c.value), "deadlock"):
		v := s.hung(noBlocking, "waits for ever", nil)
		return outcome{broken: v, reason: "a call waits"}
	}
	return s.realWaits() // what is wrong in the bubble is no call's fault
}

// bubbledWaits looks for a call during which the bubble's time advances.
func (s *session) bubbledWaits() outcome {
	var passed time.Duration
	s.inBubble(func() {
		start := time.Now()
		s.ordinaryStreams()
		s.longStream()
		s.sourceStreams()
		passed = time.Since(start)
	})
	if passed == 0 {
		return outcome{}
	}
	for _, st := range append(append(s.ordinaryStreams(), s.sourceStreams()...), s.longStream()) {
		test := func(calls []Call) (b *breach) {
			s.inBubble(func() {
				start := time.Now()
				s.each(st.src, calls, func(i int, _ aqm.AQM, _ aqm.Verdict) bool {
					if d := time.Since(start); d > 0 {
						b = waiting(i, d)
					}
					return b == nil
				})
			})
			return b
		}
		if b := test(st.calls); b != nil {
			const cost = 4
			return s.broken(noBlocking, st.src, st.calls, b, cost, test)
		}
	}
	return outcome{broken: &Violation{Law: noBlocking, Seed: s.seed, Detail: fmt.Sprintf("its instances waited for %v in a bubble of testing/synctest, though no longer in each run", passed)}}
}

func waiting(i int, d time.Duration) *breach {
	return &breach{at: i, detail: fmt.Sprintf("this call waits for %v", d.Round(time.Microsecond))}
}

// realWaits looks for a call that takes long, each time anew, and does not compute for
// as long.
func (s *session) realWaits() outcome {
	const doubts = 20 // calls of a stream that are looked at: on a busy machine any call may take long
	for _, st := range append(s.ordinaryStreams(), s.longStream()) {
		var long []int
		last := time.Now()
		s.each(st.src, st.calls, func(i int, _ aqm.AQM, _ aqm.Verdict) bool {
			now := time.Now()
			if now.Sub(last) > longestWait {
				long = append(long, i)
			}
			last = now
			return len(long) < doubts
		})
		for _, i := range long {
			test := func(calls []Call) *breach {
				if waits, _ := s.measured(st.src, calls); waits > longestWait {
					return waiting(len(calls)-1, waits)
				}
				return nil
			}
			calls := st.calls[:i+1]
			b := test(calls)
			if b == nil {
				continue
			}
			const tries = 12 // each waits
			calls, b = shrink(calls, b, tries, test)
			return outcome{broken: s.violation(noBlocking, st.src, calls, b)}
		}
	}
	return outcome{}
}

// goroutinesStay is how many instances have to leave as many goroutines for it to be
// no accident.
const goroutinesStay = 8

// lingers reports whether instances leave goroutines, which a bubble would wait for.
func (s *session) lingers() bool {
	if s.memo.watched {
		return s.memo.lingers
	}
	s.memo.watched = true
	const asked = 32
	var calls []Call
	for i := range asked {
		now := aqm.Time(i) * aqm.Time(s.periods[0])
		calls = append(calls, Call{
			AtDequeue: i%2 == 1, Now: now,
			Packet:    aqm.Packet{EnqueuedAt: now, Size: 1500, ECN: aqm.ECN(i / 2 % 4), Class: aqm.Data},
			Occupancy: aqm.Occupancy{Packets: i * i, Bytes: int64(i*i) * 1500, Full: i == asked-2},
		})
	}
	kept := make([]aqm.AQM, 0, goroutinesStay)
	before := runtime.NumGoroutine()
	for range goroutinesStay {
		s.each(seeded(s.seed, 0), calls, func(i int, a aqm.AQM, _ aqm.Verdict) bool {
			if i == 0 {
				kept = append(kept, a)
			}
			return true
		})
	}
	s.memo.lingers = runtime.NumGoroutine()-before >= goroutinesStay
	runtime.KeepAlive(kept)
	return s.memo.lingers
}
