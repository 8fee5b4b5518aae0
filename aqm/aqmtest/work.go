package aqmtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// The limits of bounded-work. They are wide, and every time is the best of several and
// no longer than the program's CPU time where that is known, so that a busy machine
// breaks none of them: what they are there to catch goes beyond any of them by orders
// of magnitude, with a gap of years or many packets.
const (
	longestCall = 10 * time.Millisecond  // after any gap
	longestMean = 100 * time.Microsecond // of calls in ordinary traffic

	longestWait = 500 * time.Microsecond // of a call that does not compute, in real time

	// After many packets the same traffic may take this much longer than at first.
	growthFactor = 16
	growthSlack  = 2 * time.Millisecond
)

const attempts = 5

func (s *session) boundedWork() outcome {
	if v := s.gap(); v != nil {
		return outcome{broken: v}
	}
	if v := s.growth(); v != nil {
		return outcome{broken: v}
	}
	s.sourceStreams()
	s.hostileStreams()
	return s.suspected(boundedWork) // a call that draws for ever
}

// pace returns a violation if ordinary calls take so long that the rest of the kit
// would take minutes. That of calls that wait is no-blocking's to find, where it can
// do so without waiting.
func (s *session) pace() *Violation {
	if s.memo.paced {
		return nil
	}
	s.memo.paced = true
	const calls = 64
	passed, computed := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for try := 0; try < 3 || try < 20 && passed > calls*longestMean && computed <= calls*longestMean; try++ {
		c := catch(func() {
			a := s.make(seeded(s.seed, 0))
			w := startWatch()
			for i := range calls {
				now := aqm.Time(i) * aqm.Time(s.periods[0])
				s.ask(a, i, Call{AtDequeue: i%2 == 1, Now: now, Packet: aqm.Packet{EnqueuedAt: now, Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}})
			}
			p, c := w.read()
			passed, computed = min(passed, p), min(computed, c)
		})
		if c != nil { // another law's business
			return nil
		}
		if chosen, _ := s.chosen(noBlocking.Name); chosen && s.bubble != nil {
			passed = computed
		}
	}
	switch {
	case computed > calls*longestMean:
		return &Violation{Law: boundedWork, Seed: s.seed, Detail: fmt.Sprintf("a call takes %v on average", computed/calls)}
	case passed > calls*longestMean:
		return &Violation{Law: noBlocking, Seed: s.seed, Detail: fmt.Sprintf("a call takes %v on average, and computes for %v of it: does it wait for something?", passed/calls, computed/calls)}
	}
	return nil
}

// took returns how long the last of calls computes in a fresh instance that was asked
// the others before.
func (s *session) took(src source, calls []Call) time.Duration {
	_, computed := s.measured(src, calls)
	return computed
}

// measured returns how long the last of calls takes a fresh instance that was asked
// the others before: how long it waits, and how long it computes. It is the least of
// several runs.
func (s *session) measured(src source, calls []Call) (waits, computes time.Duration) {
	last := len(calls) - 1
	waits, computes = math.MaxInt64, math.MaxInt64
	for range attempts {
		w := startWatch()
		c := s.each(src, calls, func(i int, _ aqm.AQM, _ aqm.Verdict) bool {
			switch i {
			case last - 1:
				w = startWatch()
			case last:
				passed, computed := w.read()
				waits, computes = min(waits, passed-computed), min(computes, computed)
			}
			return true
		})
		if c != nil {
			return 0, 0
		}
		if computes <= longestCall && waits <= longestWait {
			break
		}
	}
	return waits, computes
}

// gap returns a violation if a call after a gap takes too long. The gaps grow by
// steps, so that work in proportion to them is seen before it takes for ever.
func (s *session) gap() *Violation {
	if s.memo.gapDone {
		return s.memo.gap
	}
	s.memo.gapDone = true
	const before = 200 // calls, to have the instance in the midst of its work
	for log := 21; log <= 63; log += 2 {
		for _, st := range s.ordinaryStreams() {
			for _, cut := range []int{len(st.calls) / 2, len(st.calls)} {
				if cut == 0 {
					continue
				}
				history := st.calls[max(0, cut-before):cut]
				last := history[len(history)-1]
				after := Call{Now: math.MaxInt64, Packet: aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}}
				if log < 63 {
					after.Now = last.Now.Add(1 << log)
				}
				busy, leave := after, after
				busy.Occupancy = aqm.Occupancy{Packets: last.Occupancy.Packets + 1, Bytes: last.Occupancy.Bytes + 1500}
				leave.AtDequeue, leave.Packet.EnqueuedAt = true, last.Now
				calls := append(slices.Clone(history), Call{})
				for _, c := range []Call{after, busy, leave} {
					calls[len(calls)-1] = c
					if b := s.slow(st.src, calls); b != nil {
						const tries = 12 // each takes a while
						calls, b = shrink(calls, b, tries, func(calls []Call) *breach { return s.slow(st.src, calls) })
						s.memo.gap = s.violation(boundedWork, st.src, calls, b)
						return s.memo.gap
					}
				}
			}
		}
	}
	return nil
}

// slow is the breach that the last of calls takes too long.
func (s *session) slow(src source, calls []Call) *breach {
	took := s.took(src, calls)
	if took <= longestCall {
		return nil
	}
	gap := time.Duration(0)
	if n := len(calls); n > 1 {
		gap = calls[n-1].Now.Sub(calls[n-2].Now)
	}
	return &breach{
		at:     len(calls) - 1,
		detail: fmt.Sprintf("%v for one call, after a gap of %v; no call takes more than %v", took.Round(time.Millisecond), gap.Round(time.Millisecond), longestCall),
	}
}

// grows reports whether the last of the rounds are far longer than the first, and come
// from ever longer ones: a change of regime, as when an average has reached a
// threshold, makes them longer once.
func grows(took []time.Duration) bool {
	const (
		early  = 4   // rounds to compare the others with
		late   = 4   // rounds in succession that take too long
		faster = 1.5 // in each doubling of the number of rounds; 2 in the long run, where work is in proportion to it
	)
	n := len(took)
	if n < 16 || slices.Min(took[n-late:]) <= growthFactor*slices.Min(took[:early])+growthSlack {
		return false
	}
	for range 3 {
		// The least of two, which takes out what else the machine had to do.
		before, after := slices.Min(took[max(0, n/2-2):n/2]), slices.Min(took[n-2:n])
		if float64(after) < faster*float64(before) {
			return false
		}
		n /= 2
	}
	return true
}

// growth returns a violation if the same traffic, again and again, takes ever longer.
func (s *session) growth() *Violation {
	const (
		length = 2000
		total  = 64_000
	)
	streams := s.ordinaryStreams()
	st := streams[min(1, len(streams)-1)]
	calls := st.calls[:min(length, len(st.calls))]
	if len(calls) == 0 {
		return nil
	}
	rounds := total / len(calls)
	span := calls[len(calls)-1].Now.Sub(0)
	var first, last time.Duration
	var seen int
	for range attempts {
		took := make([]time.Duration, 0, rounds)
		grown := false
		c := catch(func() {
			a := s.make(st.src)
			for round := 0; round < rounds && !grown; round++ {
				shift := time.Duration(round) * span
				w := startWatch()
				for i, c := range calls {
					c.Now, c.Packet.EnqueuedAt = c.Now.Add(shift), c.Packet.EnqueuedAt.Add(shift)
					s.ask(a, i, c)
				}
				took = append(took, w.computed())
				if grown = grows(took); grown {
					first, last, seen = took[0], took[round], round*len(calls)
				}
			}
		})
		if c != nil || !grown { // a panic is another law's business
			return nil
		}
	}
	return &Violation{Law: boundedWork, Seed: s.seed, Detail: fmt.Sprintf(
		"the work grows with the number of packets: %d calls took %v at first, and %v after %d calls", len(calls), first, last, seen)}
}
