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
	1_234_567_891, 2_345_678_917, 98_765_432_123, 4_567_891_234_567,
	1_234_567_891, 2_345_678_917, 98_765_432_123, 4_567_891_234_567,
}

// bubble runs f where time starts at the same instant each time, and passes only
// while everyone sleeps, and then at once.
type bubble func(f func())

func bubbleOf(t *testing.T) bubble {
	return func(f func()) { synctest.Test(t, func(*testing.T) { f() }) }
}

// noClock asks with pauses between some of the calls.
func (s *session) noClock() outcome {
	switch {
	case s.single():
		return outcome{reason: onlyOne, moot: true}
	case s.bubble != nil && !s.lingers() && !s.leaks():
		var o outcome
		if c := catch(func() {
			if o = s.pauses(s.inBubble, fakePauses); o.broken == nil && !o.moot {
				o = s.manyPauses()
			}
		}); c != nil {
			return outcome{reason: fmt.Sprintf("in a synctest bubble there is a %v", c), moot: true}
		}
		return o
	case s.varies():
		return outcome{reason: varying, moot: true}
	}
	return s.pauses(nil, []time.Duration{s.pause})
}

// leaks reports whether as many goroutines have come as instances were made: a bubble
// would wait for them to end.
func (s *session) leaks() bool {
	s.varies() // makes instances
	return runtime.NumGoroutine()-s.goroutines >= 2*len(s.ordinaryStreams())
}

// inBubble runs f in a bubble, in a goroutine that may end itself: the bubble's own
// may not.
func (s *session) inBubble(f func()) {
	defer s.leaving.Store(false)
	s.bubble(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			outside := s.asksHere()
			defer s.asker.Store(outside)
			f()
		}()
		<-done
		s.leaving.Store(true)
	})
}

// pauses compares runs with pauses and without, each in a bubble of its own unless
// that is nil. In a bubble equal runs are equal even for an AQM that reads a clock, so
// that it is told from one that varies for another reason; and there it costs nothing
// to look for a short run.
func (s *session) pauses(in bubble, pauses []time.Duration) outcome {
	bubbled := in != nil
	if !bubbled {
		in = func(f func()) { f() }
	}
	run := func(sleep func(time.Duration)) (runs []run) {
		in(func() { runs = s.interleaved(pauses, sleep) })
		return runs
	}
	stay := func(time.Duration) {}
	want, got := run(stay), run(time.Sleep)
	if bubbled && !(alike(want, run(stay)) && alike(got, run(time.Sleep))) {
		return outcome{reason: varying, moot: true}
	}
	for i, st := range s.ordinaryStreams() {
		b := differ(want[i].verdicts, got[i].verdicts, got[i].caught, "after a pause in which now stands still")
		if b == nil {
			continue
		}
		calls := st.calls[:min(b.at+1, len(st.calls))]
		for _, pause := range pauses[:(len(pauses)+1)/2] { // the others are the same again
			test := func(calls []Call) (b *breach) {
				var want, got []aqm.Verdict
				var c *caught
				in(func() { want, _ = s.pausing(st.src, calls, 0) })
				in(func() { got, c = s.pausing(st.src, calls, pause) })
				as := fmt.Sprintf("where %v of wall-clock time pass before this call", pause)
				return differ(want, got, c, as).with(&twin{src: st.src, calls: calls, as: as, pause: pause})
			}
			switch short := test(calls); {
			case short == nil:
				continue
			case bubbled:
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

// manyPauses looks for a clock that is read once in thousands of calls: the long
// stream has a pause after every few hundred.
func (s *session) manyPauses() outcome {
	const every = 499
	pause := fakePauses[0]
	st := s.longStream()
	answers := func(calls []Call, pause time.Duration) (verdicts []aqm.Verdict, c *caught) {
		verdicts = make([]aqm.Verdict, 0, len(calls))
		s.inBubble(func() {
			c = s.each(st.src, calls, func(i int, _ aqm.AQM, v aqm.Verdict) bool {
				if verdicts = append(verdicts, v); i%every == every-1 {
					time.Sleep(pause)
				}
				return true
			})
		})
		return verdicts, c
	}
	test := func(calls []Call) *breach {
		want, _ := answers(calls, 0)
		got, c := answers(calls, pause)
		return differ(want, got, c, fmt.Sprintf("where %v of wall-clock time pass after every %d calls", pause, every))
	}
	b := test(st.calls)
	if b == nil {
		return outcome{}
	}
	const cost = 8
	return s.broken(noClock, st.src, st.calls, b, cost, test)
}

// pausing returns the answers to calls with a pause before the last.
func (s *session) pausing(src source, calls []Call, pause time.Duration) (verdicts []aqm.Verdict, c *caught) {
	if len(calls) < 2 {
		return nil, nil
	}
	c = s.each(src, calls, func(i int, _ aqm.AQM, v aqm.Verdict) bool {
		if i == len(calls)-2 {
			time.Sleep(pause)
		}
		verdicts = append(verdicts, v)
		return true
	})
	return verdicts, c
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
