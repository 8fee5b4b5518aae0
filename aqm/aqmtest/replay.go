package aqmtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// varying is why laws about two runs cannot be judged.
const varying = "two equal runs differ, so that no others can be compared; see determinism"

// varies reports whether two equal runs differ.
func (s *session) varies() bool {
	if !s.memo.compared {
		s.memo.compared = true
		for _, st := range s.ordinaryStreams() {
			got, c := s.answers(st.src, st.calls)
			s.memo.varies = s.memo.varies || differ(st.verdicts, got, c, "") != nil
		}
	}
	return s.memo.varies
}

// same is the law that a turn of the calls changes no verdict.
func (s *session) same(law Law, streams []*stream, as string, turn func([]Call)) outcome {
	if law != determinism && s.varies() {
		return outcome{reason: varying}
	}
	return s.over(law, streams, func(st *stream, calls []Call) *breach {
		want, _ := s.answers(st.src, calls)
		turned := slices.Clone(calls[:len(want)])
		turn(turned)
		got, c := s.answers(st.src, turned)
		return differ(want, got, c, as)
	})
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

func (s *session) determinism() outcome {
	streams := slices.Concat(s.ordinaryStreams(), s.sourceStreams(), s.hostileStreams())
	return s.same(determinism, streams, "from another instance with an equal source", func([]Call) {})
}

func (s *session) ectAlike() outcome {
	for _, e := range []aqm.ECN{aqm.ECT0, aqm.ECT1} {
		o := s.same(ectAlike, s.ordinaryStreams(), fmt.Sprintf("where every ECT packet is %v", e), func(calls []Call) {
			for i := range calls {
				if p := &calls[i].Packet; p.ECN == aqm.ECT0 || p.ECN == aqm.ECT1 {
					p.ECN = e
				}
			}
		})
		if o.broken != nil {
			return o
		}
	}
	return outcome{}
}

func (s *session) zeroClass() outcome {
	return s.same(zeroClass, s.ordinaryStreams(), "where the class Other is not set", func(calls []Call) {
		for i := range calls {
			calls[i].Packet.Class &^= aqm.Other
		}
	})
}

func (s *session) unsetFields() outcome {
	o := s.same(unsetFields, s.ordinaryStreams(), "where EnqueuedAt is something else in Enqueue", func(calls []Call) {
		for i := range calls {
			if c := &calls[i]; !c.AtDequeue {
				c.Packet.EnqueuedAt = [...]aqm.Time{math.MinInt64, -1, 0, c.Now.Add(-time.Hour), math.MaxInt64}[uint64(c.Now)%5]
			}
		}
	})
	if o.broken != nil {
		return o
	}
	return s.same(unsetFields, s.ordinaryStreams(), "where Full, which is for Enqueue only, is set in Dequeue", func(calls []Call) {
		for i := range calls {
			calls[i].Occupancy.Full = calls[i].Occupancy.Full || calls[i].AtDequeue
		}
	})
}

func (s *session) timeOrigin() outcome {
	const margin = aqm.Time(time.Hour) // at the ends, where differences saturate
	for _, origin := range []aqm.Time{-1, 1e18 + 7, -1e18 - 7, math.MinInt64 + margin, math.MaxInt64 - margin} {
		o := s.same(timeOrigin, s.ordinaryStreams(), fmt.Sprintf("where time is about %d", origin), func(calls []Call) {
			shift := time.Duration(origin)
			if len(calls) > 0 && origin > 0 {
				shift = origin.Sub(calls[len(calls)-1].Now) // it ends there
			}
			for i := range calls {
				c := &calls[i]
				c.Now = c.Now.Add(shift)
				c.Packet.EnqueuedAt = c.Packet.EnqueuedAt.Add(shift)
			}
		})
		if o.broken != nil {
			return o
		}
	}
	return outcome{}
}

func (s *session) timeBackwards() outcome {
	return s.same(timeBackwards, s.backwardStreams(), "where time stands still instead of stepping back", func(calls []Call) {
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
			return &breach{at: last, detail: fmt.Sprintf("%v as ECT(0), but %v as CE", ect, ce)}
		}
		return nil
	}
	if s.varies() {
		return outcome{reason: varying}
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
	streams := s.ordinaryStreams()
	foils := streams[len(streams)-1].calls
	return s.over(noSharedState, streams, func(st *stream, calls []Call) *breach {
		want, _ := s.answers(st.src, calls)
		got := make([]aqm.Verdict, 0, len(want))
		s.asking.Store(&asking{st.src, calls})
		c := catch(func() {
			a, foil := s.make(st.src), s.make(seeded(s.seed, 1<<32))
			for i := range want {
				if len(foils) > 0 {
					s.ask(foil, i, foils[(i+len(foils)/3)%len(foils)])
				}
				if i%64 == 0 {
					s.make(seeded(s.seed, 1<<33))
				}
				got = append(got, s.ask(a, i, calls[i]))
			}
		})
		return differ(want, got, c, "while another instance is in use")
	})
}

// noClock asks with pauses between some of the calls.
func (s *session) noClock() outcome {
	streams := s.ordinaryStreams()
	for i, st := range streams {
		if i%2 == 1 { // half of them are enough to wait for
			continue
		}
		pauses := []time.Duration{time.Millisecond, 2 * time.Millisecond}
		if i == len(streams)-1 {
			pauses = append(pauses, 4*time.Millisecond, 8*time.Millisecond)
		}
		got := make([]aqm.Verdict, 0, len(st.calls))
		c := s.each(st.src, st.calls, func(i int, _ aqm.AQM, v aqm.Verdict) bool {
			if every := len(st.calls)/len(pauses) + 1; i%every == every/2 {
				time.Sleep(pauses[i/every])
			}
			got = append(got, v)
			return true
		})
		if b := differ(st.verdicts, got, c, "after a pause in which only real time passed"); b != nil {
			return outcome{broken: s.violation(noClock, st.src, st.calls[:b.at+1], b)}
		}
	}
	return outcome{}
}
