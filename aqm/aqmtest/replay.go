package aqmtest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// varying is why laws about two runs cannot be judged.
const varying = "two equal runs differ; see determinism"

// again is how the second of two equal runs is told from the first.
const again = "from another instance with an equal source"

// varies reports whether two equal runs differ.
func (s *session) varies() bool {
	if !s.memo.compared {
		s.memo.compared = true
		for _, st := range s.ordinaryStreams() {
			got, c := s.answers(st.src, st.calls)
			if b := differ(st.verdicts, got, c, again); b != nil {
				s.memo.varies, s.memo.differing, s.memo.difference = true, st, b
				break
			}
		}
	}
	return s.memo.varies
}

// onlyOne is why laws about two instances cannot be judged.
const onlyOne = "MakeAQM returned the same pointer twice; see no-shared-state"

// single reports whether two instances are one.
func (s *session) single() bool {
	if !s.memo.paired {
		s.memo.paired = true
		catch(func() {
			a, b := s.make(seeded(s.seed, 0)), s.make(seeded(s.seed, 0))
			for range maxWrapped {
				s.memo.single = s.memo.single || samePointer(reflect.ValueOf(a), reflect.ValueOf(b))
				if a, b = unwrap(a), unwrap(b); a == nil || b == nil {
					break
				}
			}
		})
	}
	return s.memo.single
}

// samePointer reports whether a and b point to one variable. Pointers to variables
// without a size may be equal in any case.
func samePointer(a, b reflect.Value) bool {
	return a.Kind() == reflect.Pointer && a.Type() == b.Type() && a.Type().Elem().Size() > 0 && a.Pointer() == b.Pointer()
}

// incomparable returns why runs of two instances cannot be compared, or nothing.
func (s *session) incomparable() string {
	switch {
	case s.single():
		return onlyOne
	case s.varies():
		return varying
	}
	return ""
}

// same is the law that a turn of the calls changes no verdict.
func (s *session) same(law Law, streams []*stream, as func([]Call) string, turn func([]Call)) outcome {
	if reason := s.incomparable(); reason != "" && law != determinism {
		return outcome{reason: reason, moot: true}
	}
	return s.over(law, streams, func(st *stream, calls []Call) *breach { return s.turned(st.src, calls, as, turn) })
}

// turned returns the first difference that a turn of the calls makes.
func (s *session) turned(src source, calls []Call, as func([]Call) string, turn func([]Call)) *breach {
	want, _ := s.answers(src, calls)
	turned := slices.Clone(calls[:len(want)])
	turn(turned)
	got, c := s.answers(src, turned)
	return differ(want, got, c, as(turned)).with(&twin{src: src, calls: turned, as: as(turned)})
}

// differ returns the first difference between two runs, where the second may have
// ended in a panic.
func differ(want, got []aqm.Verdict, c *caught, as string) *breach {
	for i, v := range got {
		if i < len(want) && v != want[i] {
			return &breach{at: i, detail: fmt.Sprintf("%v, but %v %s", want[i], v, as)}
		}
	}
	if c != nil && len(got) < len(want) {
		return &breach{at: len(got), detail: fmt.Sprintf("%v, but a %v %s", want[len(got)], c, as), stack: c.stack}
	}
	return nil
}

// always is for the laws whose turn is the same for all calls.
func always(as string) func([]Call) string { return func([]Call) string { return as } }

func (s *session) determinism() outcome {
	if reported, _ := s.chosen(noSharedState.Name); reported && s.single() {
		return outcome{reason: onlyOne, moot: true}
	}
	unturned := func([]Call) {}
	if s.varies() { // perhaps not each time
		st := s.memo.differing
		return s.broken(determinism, st.src, st.calls, s.memo.difference, 1, func(calls []Call) *breach {
			return s.turned(st.src, calls, always(again), unturned)
		})
	}
	streams := slices.Concat(s.ordinaryStreams(), s.sourceStreams(), s.hostileStreams())
	o := s.same(determinism, streams, always(again), unturned)
	s.memo.varies = o.broken != nil
	return o
}

func (s *session) ectAlike() outcome {
	for _, e := range []aqm.ECN{aqm.ECT0, aqm.ECT1} {
		o := s.same(ectAlike, s.ordinaryStreams(), always(fmt.Sprintf("where every ECT packet is %v", e)), func(calls []Call) {
			for i := range calls {
				if p := &calls[i].Packet; p.ECN == aqm.ECT0 || p.ECN == aqm.ECT1 {
					p.ECN = e
				}
			}
		})
		if o.broken != nil || o.moot {
			return o
		}
	}
	return outcome{}
}

func (s *session) zeroClass() outcome {
	return s.same(zeroClass, s.ordinaryStreams(), always("where the class Other is not set"), func(calls []Call) {
		for i := range calls {
			calls[i].Packet.Class &^= aqm.Other
		}
	})
}

func (s *session) unsetFields() outcome {
	o := s.same(unsetFields, s.ordinaryStreams(), always("where EnqueuedAt is something else in Enqueue"), func(calls []Call) {
		for i := range calls {
			if c := &calls[i]; !c.AtDequeue {
				c.Packet.EnqueuedAt = [...]aqm.Time{math.MinInt64, -1, 0, c.Now.Add(-time.Hour), math.MaxInt64}[uint64(c.Now)%5]
			}
		}
	})
	if o.broken != nil || o.moot {
		return o
	}
	return s.same(unsetFields, s.ordinaryStreams(), always("where Full, which is for Enqueue only, is set in Dequeue"), func(calls []Call) {
		for i := range calls {
			calls[i].Occupancy.Full = calls[i].Occupancy.Full || calls[i].AtDequeue
		}
	})
}

func (s *session) timeOrigin() outcome {
	const margin = aqm.Time(time.Hour) // at the ends, where differences saturate
	for _, origin := range []aqm.Time{-1, 1e18 + 7, -1e18 - 7, math.MinInt64 + margin, math.MaxInt64 - margin} {
		o := s.shifted(s.ordinaryStreams(), func(calls []Call) time.Duration {
			if origin > 0 {
				return origin.Sub(calls[len(calls)-1].Now) // it ends there
			}
			return origin.Sub(calls[0].Now)
		})
		if o.broken != nil || o.moot {
			return o
		}
	}
	// Time 0 where an algorithm may have an instant of its own: a whole number of
	// periods after the first event, or a signal.
	for _, st := range s.gridStreams() {
		for _, zero := range zeros(st) {
			o := s.shifted([]*stream{st}, func([]Call) time.Duration { return aqm.Time(0).Sub(zero) })
			if o.broken != nil || o.moot {
				return o
			}
		}
	}
	return outcome{}
}

// shifted is the law where every instant is shifted by as much as shift says.
func (s *session) shifted(streams []*stream, shift func([]Call) time.Duration) outcome {
	begins := func(calls []Call) string {
		if len(calls) == 0 {
			return ""
		}
		return fmt.Sprintf("with every instant shifted so that the run begins at %d", calls[0].Now)
	}
	return s.same(timeOrigin, streams, begins, func(calls []Call) {
		if len(calls) == 0 {
			return
		}
		by := shift(calls)
		for i := range calls {
			c := &calls[i]
			c.Now = c.Now.Add(by)
			c.Packet.EnqueuedAt = c.Packet.EnqueuedAt.Add(by)
		}
	})
}

// zeros returns instants of a stream that are to be time 0: of signals, early ones and
// others, and at distances from the first event that are multiples of many periods.
func zeros(st *stream) (all []aqm.Time) {
	if len(st.calls) == 0 {
		return nil
	}
	for _, after := range []time.Duration{30, 60, 100, 200, 480, 500, 1000, 2000} {
		all = append(all, st.calls[0].Now.Add(after*time.Millisecond))
	}
	var signals []aqm.Time
	for i, v := range st.verdicts {
		at := st.calls[i].Now
		if v.Action != aqm.Pass && v.Reason != aqm.Overflow && (len(signals) == 0 || signals[len(signals)-1] != at) {
			signals = append(signals, at)
		}
	}
	const early, others = 6, 6
	all = append(all, signals[:min(early, len(signals))]...)
	for k := range others {
		if len(signals) > early {
			all = append(all, signals[early+k*(len(signals)-early)/others])
		}
	}
	return all
}

func (s *session) timeBackwards() outcome {
	return s.same(timeBackwards, s.backwardStreams(), always("where time stands still instead of stepping back"), func(calls []Call) {
		largest := aqm.Time(math.MinInt64)
		for i := range calls {
			largest = max(largest, calls[i].Now)
			calls[i].Now = largest
		}
	})
}

// ceStays asks about a packet as CE and as ECT(0) in the same state: the queue leaves
// a marked packet CE, so what is left to break is dropping CE where ECT is not.
func (s *session) ceStays() outcome {
	const signals, passes = 12, 4 // of each stream; each costs two runs up to there
	test := func(st *stream, calls []Call) *breach {
		last := len(calls) - 1
		answer := func(e aqm.ECN) (v aqm.Verdict) {
			a := s.make(st.src)
			for i, c := range calls[:last] {
				s.ask(a, i, c)
			}
			asked := calls[last]
			asked.Packet.ECN = e
			return s.ask(a, last, asked)
		}
		s.asking.Store(&asking{st.src, calls})
		var ect, ce aqm.Verdict
		c := catch(func() { ect, ce = answer(aqm.ECT0), answer(aqm.CE) })
		if c == nil && ce.Action == aqm.Drop && ect.Action != aqm.Drop {
			capable := slices.Clone(calls)
			capable[last].Packet.ECN = aqm.ECT0
			return (&breach{at: last, detail: fmt.Sprintf("%v as ECT(0), but %v as CE", ect, ce)}).
				with(&twin{src: st.src, calls: capable, as: "as ECT(0)"})
		}
		return nil
	}
	if reason := s.incomparable(); reason != "" {
		return outcome{reason: reason, moot: true}
	}
	for _, st := range s.ordinaryStreams() {
		left := map[bool]int{true: signals, false: passes}
		step := max(1, len(st.calls)/200)
		for i := len(st.calls) - 1; i >= 0; i-- {
			signal := st.verdicts[i] != aqm.Verdict{}
			if st.calls[i].Occupancy.Full || left[signal] == 0 || !signal && i%step != 0 {
				continue
			}
			left[signal]--
			calls := st.calls[:i+1]
			if b := test(st, calls); b != nil {
				return s.broken(ceStays, st.src, calls, b, 2, func(calls []Call) *breach { return test(st, calls) })
			}
		}
	}
	return outcome{}
}

// noSharedState asks an instance in alternation with another, while a third is made
// now and then, and compares with what it answers alone.
func (s *session) noSharedState() outcome {
	if s.single() {
		return outcome{broken: &Violation{Law: noSharedState, Seed: s.seed, Detail: "MakeAQM returned the same pointer twice; it is to return a fresh instance each time"}}
	}
	if s.varies() {
		return outcome{reason: varying, moot: true}
	}
	streams := s.ordinaryStreams()
	foils := streams[len(streams)-1].calls
	foilSource := seeded(s.seed, 1<<32)
	panicked := false
	o := s.over(noSharedState, streams, func(st *stream, calls []Call) *breach {
		want, _ := s.answers(st.src, calls)
		got := make([]aqm.Verdict, 0, len(want))
		asked := make([]Call, 0, len(want)) // of the foil
		s.asking.Store(&asking{st.src, calls})
		var c, other *caught // by the instance, and by the others
		var a, foil aqm.AQM
		other = catch(func() { a, foil = s.make(st.src), s.make(foilSource) })
		for i := 0; i < len(want) && c == nil && other == nil; i++ {
			other = catch(func() {
				if len(foils) > 0 {
					asked = append(asked, foils[(i+len(foils)/3)%len(foils)])
					s.ask(foil, i, asked[i])
				}
				if i%64 == 0 {
					s.make(seeded(s.seed, 1<<33))
				}
			})
			if other == nil {
				c = catch(func() { got = append(got, s.ask(a, i, calls[i])) })
			}
		}
		if other != nil { // survival's business: the foil is in a state that it may have come to alone
			panicked = true
			if other.at = max(0, len(asked)-1); len(asked) > 0 {
				s.suspect(foilSource, asked, other)
			}
		}
		const as = "while another instance is in use"
		return differ(want, got, c, as).with(&twin{src: st.src, calls: calls[:len(want)], as: as, foil: asked, foilSource: foilSource})
	})
	if panicked && o.broken == nil {
		return outcome{reason: "an instance panics; see " + survival.Name, moot: true}
	}
	if o.broken == nil {
		o.broken = s.together()
	}
	return o
}
