package aqmtest

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// realPause is what no-clock waits in real time.
const realPause = 250 * time.Millisecond

// fakePauses are the pauses in a bubble, where they take no time. They are odd, for
// clocks that are read modulo something.
var fakePauses = []time.Duration{
	1_234_567_891, 2_345_678_917, 61*time.Second + 13, 67*time.Minute + 17,
	1_234_567_891, 2_345_678_917, 61*time.Second + 13, 67*time.Minute + 17,
}

// bubble runs f where time passes only while everyone sleeps, and then at once.
type bubble func(f func())

func bubbleOf(t *testing.T) bubble {
	return func(f func()) { synctest.Test(t, func(*testing.T) { f() }) }
}

// noClock asks with pauses between some of the calls.
func (s *session) noClock() outcome {
	if s.single() {
		return outcome{reason: onlyOne, moot: true}
	}
	s.ordinaryStreams()
	if s.bubble == nil || s.leaks() {
		return s.waits()
	}
	o := outcome{reason: "the test did not end in its synctest bubble", moot: true}
	if c := catch(func() { s.inBubble(func() { o = s.pauses(fakePauses, true) }) }); c != nil {
		return outcome{reason: fmt.Sprintf("in a synctest bubble there is a %v", c), moot: true}
	}
	return o
}

// waits is no-clock in real time.
func (s *session) waits() outcome {
	if s.varies() {
		return outcome{reason: varying, moot: true}
	}
	return s.pauses([]time.Duration{s.pause}, false)
}

// leaks reports whether as many goroutines have come as instances were made: a bubble
// would wait for them to end.
func (s *session) leaks() bool {
	s.varies() // makes instances
	return runtime.NumGoroutine()-s.goroutines >= 2*len(s.ordinaryStreams())
}

// inBubble runs f in the session's bubble, in a goroutine that may end itself: the
// bubble's own may not.
func (s *session) inBubble(f func()) {
	s.bubble(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	})
}

// pauses compares runs with the pauses and without. In a bubble equal runs are equal
// even for an AQM that reads a clock, so that it is told from one that varies for
// another reason; and there it costs nothing to look for a short run.
func (s *session) pauses(pauses []time.Duration, inBubble bool) outcome {
	want := s.interleaved(pauses, func(time.Duration) {})
	if inBubble && !alike(want, s.interleaved(pauses, func(time.Duration) {})) {
		return outcome{reason: varying, moot: true}
	}
	got := s.interleaved(pauses, time.Sleep)
	for i, st := range s.ordinaryStreams() {
		b := differ(want[i].verdicts, got[i].verdicts, got[i].caught, "after a pause in which now stands still")
		if b == nil {
			continue
		}
		if inBubble && !alike(got, s.interleaved(pauses, time.Sleep)) {
			return outcome{reason: varying, moot: true}
		}
		calls := st.calls[:min(b.at+1, len(st.calls))]
		for _, pause := range pauses[:(len(pauses)+1)/2] { // the others are the same again
			test := func(calls []Call) *breach { return s.pausing(st.src, calls, pause) }
			switch short := test(calls); {
			case short == nil:
				continue
			case inBubble:
				return s.broken(noClock, st.src, calls, short, 2, test)
			default:
				const tries = 8 // each waits
				calls, short = shrink(calls, short, tries, test)
				return outcome{broken: s.violation(noClock, st.src, calls, short)}
			}
		}
		return outcome{broken: s.violation(noClock, st.src, calls, b)}
	}
	return outcome{}
}

// pausing is the breach that a pause before the last of calls changes its verdict.
func (s *session) pausing(src source, calls []Call, pause time.Duration) *breach {
	want, _ := s.answers(src, calls)
	got := make([]aqm.Verdict, 0, len(want))
	c := s.each(src, calls, func(i int, _ aqm.AQM, v aqm.Verdict) bool {
		if i == len(calls)-2 {
			time.Sleep(pause)
		}
		got = append(got, v)
		return true
	})
	return differ(want, got, c, fmt.Sprintf("where %v pass before this call, though not by its now", pause))
}

// run is what one instance answers, up to a panic.
type run struct {
	aqm      aqm.AQM
	verdicts []aqm.Verdict
	caught   *caught
}

func alike(a, b []run) bool {
	return slices.EqualFunc(a, b, func(a, b run) bool { return slices.Equal(a.verdicts, b.verdicts) })
}

// interleaved asks an instance for each ordinary stream. All of them have been asked
// what comes before a pause when it begins, so that one pause is for all.
func (s *session) interleaved(pauses []time.Duration, sleep func(time.Duration)) []run {
	streams := s.ordinaryStreams()
	runs := make([]run, len(streams))
	for phase := range len(pauses) + 1 {
		for i, st := range streams {
			r := &runs[i]
			if r.caught != nil {
				continue
			}
			end := len(st.calls)
			if phase < len(pauses) {
				end = cuts(st, len(pauses))[phase]
			}
			s.asking.Store(&st.asking)
			r.caught = catch(func() {
				if r.aqm == nil {
					r.aqm = s.make(st.src)
				}
				for k := len(r.verdicts); k < end; k++ {
					r.verdicts = append(r.verdicts, s.ask(r.aqm, k, st.calls[k]))
				}
			})
		}
		if phase < len(pauses) {
			sleep(pauses[phase])
		}
	}
	return runs
}

// cuts returns n calls to pause before, in their order. Half of them are signals that
// are not the first: what a pause may cut short follows a signal, as a time to wait
// does, and what it may bring about shows at one. The other half are spread over what
// follows the first signal, since an AQM that reads a clock may signal no more there.
func cuts(st *stream, n int) []int {
	var signals []int
	for i, v := range st.verdicts {
		if v.Action != aqm.Pass && v.Reason != aqm.Overflow {
			signals = append(signals, i)
		}
	}
	first := 0
	if len(signals) > 0 {
		first = signals[0]
	}
	at := make([]int, n)
	for k := range at {
		if k%2 == 0 && len(signals) > 1 {
			at[k] = signals[max(1, (k+1)*len(signals)/(n+1))]
		} else {
			at[k] = first + (k+1)*(len(st.calls)-first)/(n+1)
		}
	}
	slices.Sort(at)
	return at
}
