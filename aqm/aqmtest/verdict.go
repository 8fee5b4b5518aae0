package aqmtest

import (
	"fmt"

	"github.com/aqmkit/aqmkit/aqm"
)

// over runs test over the calls of each stream until one fails.
func (s *session) over(law Law, streams []*stream, test func(*stream, []Call) *breach) outcome {
	for _, st := range streams {
		if b := test(st, st.calls); b != nil {
			return s.broken(law, st.src, st.calls, b, 1, func(calls []Call) *breach { return test(st, calls) })
		}
	}
	return outcome{}
}

// every holds each answer in every stream to wrong, which says what is wrong with
// it, or nothing.
func (s *session) every(law Law, wrong func(Call, aqm.AQM, aqm.Verdict) string) outcome {
	return s.over(law, s.allStreams(), func(st *stream, calls []Call) (b *breach) {
		s.each(st.src, calls, func(i int, a aqm.AQM, v aqm.Verdict) bool {
			if detail := wrong(calls[i], a, v); detail != "" {
				b = &breach{at: i, detail: detail}
			}
			return b == nil
		})
		return b
	})
}

func (s *session) overflow() outcome {
	full := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	return s.every(overflow, func(c Call, _ aqm.AQM, v aqm.Verdict) string {
		switch {
		case !c.AtDequeue && c.Occupancy.Full && v != full:
			return fmt.Sprintf("%v for a packet that the queue cannot store", v)
		case c.AtDequeue && v.Reason == aqm.Overflow:
			return fmt.Sprintf("%v at Dequeue", v)
		case !c.AtDequeue && !c.Occupancy.Full && v.Reason == aqm.Overflow:
			return fmt.Sprintf("%v though the queue can store the packet", v)
		}
		return ""
	})
}

func (s *session) notECT() outcome {
	return s.every(notECT, func(c Call, _ aqm.AQM, v aqm.Verdict) string {
		if v.Action == aqm.Mark && c.Packet.ECN == aqm.NotECT {
			return fmt.Sprintf("%v for a packet that is NotECT", v)
		}
		return ""
	})
}

func (s *session) consistent() outcome {
	return s.every(consistent, func(_ Call, _ aqm.AQM, v aqm.Verdict) string {
		switch {
		case v.Action >= aqm.NumActions || v.Reason >= aqm.NumReasons:
			return fmt.Sprintf("%v/%v, which there is not", v.Action, v.Reason)
		case v.Action == aqm.Pass && v.Reason != aqm.None:
			return fmt.Sprintf("Pass with reason %v", v.Reason)
		case v.Action != aqm.Pass && v.Reason == aqm.None:
			return fmt.Sprintf("%v without a reason", v.Action)
		}
		return ""
	})
}

// prober is what an algorithm with a probability has.
type prober interface{ Probability() float64 }

// probers returns a and what it is wrapped around, as far as they have a
// probability.
func probers(a aqm.AQM) (all []prober) {
	for n := 0; a != nil && n < maxWrapped; n++ {
		if p, ok := a.(prober); ok {
			all = append(all, p)
		}
		a = unwrap(a)
	}
	return all
}

// maxWrapped bounds how many decorators are looked into.
const maxWrapped = 16

// unwrap returns what a is wrapped around, or nil.
func unwrap(a aqm.AQM) aqm.AQM {
	if w, ok := a.(interface{ Unwrap() aqm.AQM }); ok {
		return w.Unwrap()
	}
	return nil
}

func (s *session) probability() outcome {
	if !s.hasProbability() {
		return outcome{reason: noProbability}
	}
	return s.every(probability, func(_ Call, a aqm.AQM, _ aqm.Verdict) string {
		for _, p := range probers(a) {
			if x := s.probe(p); !(x >= 0 && x <= 1) { // NaN is not
				return fmt.Sprintf("Probability() = %v", x)
			}
		}
		return ""
	})
}

// survival lets every stream run; a panic has been remembered.
func (s *session) survival() outcome {
	s.allStreams()
	if !s.reported[boundedWork] {
		s.soakStream()
	}
	return s.suspected(survival)
}
