package aqmtest

import (
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// noProbability is why laws on the probability do not apply.
const noProbability = "there is no Probability method"

// hasProbability reports whether an instance, or what it is wrapped around, has a
// probability.
func (s *session) hasProbability() (has bool) {
	catch(func() { has = len(probers(s.make(seeded(s.seed, 0)))) > 0 })
	return has
}

// observer asks for the probability after every call: it is the same at once again, the
// verdicts are those of an instance that is not asked, and nothing is allocated. In a
// bubble time passes between the two now and then.
func (s *session) observer() outcome {
	switch {
	case !s.hasProbability():
		return outcome{reason: noProbability}
	case s.incomparable() != "":
		return outcome{reason: s.incomparable(), moot: true}
	}
	streams := append(s.ordinaryStreams(), s.sourceStreams()...)
	if o := s.over(observer, streams, func(st *stream, calls []Call) *breach { return s.observed(st.src, calls, 0) }); o.broken != nil {
		return o
	}
	if s.bubble != nil && !s.lingers() && !s.leaks() {
		var o outcome
		c := catch(func() {
			s.inBubble(func() {
				o = s.over(observer, streams[:1], func(st *stream, calls []Call) *breach { return s.observed(st.src, calls, time.Hour) })
			})
		})
		if c == nil && o.broken != nil {
			return o
		}
	}
	if s.reported[noAllocation] {
		return outcome{}
	}
	return s.observerAllocates(streams)
}

// observed compares the answers of an instance whose probability is asked for after
// each call with those of one that is left alone. pause is between the two questions,
// now and then.
func (s *session) observed(src source, calls []Call, pause time.Duration) (b *breach) {
	const seldom = 256 // calls, from one pause to the next
	want, _ := s.answers(src, calls)
	var all []prober
	i := 0
	as := "where Probability() is asked for after every call"
	c := s.each(src, calls[:len(want)], func(k int, a aqm.AQM, v aqm.Verdict) bool {
		if i = k; k == 0 {
			all = probers(a)
		}
		if v != want[k] {
			b = (&breach{at: k, detail: fmt.Sprintf("%v, but %v %s", want[k], v, as)}).with(&twin{src: src, calls: calls, as: as, observed: true})
			return false
		}
		for _, p := range all {
			x := s.probe(p)
			if pause > 0 && k%seldom == seldom-1 {
				time.Sleep(pause)
			}
			if y := s.probe(p); x != y && (x == x || y == y) { // NaN is for another law
				b = &breach{at: k, detail: fmt.Sprintf("Probability() = %v after this call, and %v when asked again", x, y)}
				if pause > 0 {
					b.detail += fmt.Sprintf(", %v of wall-clock time later", pause)
				}
				return false
			}
		}
		return true
	})
	if c != nil && b == nil {
		b = (&breach{at: i, detail: fmt.Sprintf("%v, but a %v %s", want[i], c, as), stack: c.stack}).with(&twin{src: src, calls: calls, as: as, observed: true})
	}
	return b
}

// observerAllocates counts what is allocated by asking for the probability, at first in
// whole streams, with the calls, which were seen to allocate nothing.
func (s *session) observerAllocates(streams []*stream) outcome {
	s.quiet()
	defer s.loud()
	for _, st := range streams {
		least := uint64(1)
		for try := 0; try < sure && least > 0; try++ { // others may allocate as well
			least = s.observerMallocs(st)
		}
		if least == 0 {
			continue
		}
		if b := s.observerAllocator(st); b != nil {
			return outcome{broken: s.violation(observer, st.src, st.calls[:b.at+1], b)}
		}
	}
	return outcome{}
}

// observerMallocs returns how many objects are allocated in a stream where the
// probability is asked for after every call.
func (s *session) observerMallocs(st *stream) (n uint64) {
	s.asking.Store(&st.asking)
	catch(func() {
		a := s.make(st.src)
		all := probers(a)
		n = mallocs(func() {
			for i, c := range st.calls {
				s.ask(a, i, c)
				for _, p := range all {
					s.probe(p)
				}
			}
		})
	})
	return n
}

// observerAllocator finds a call after which the question allocates.
func (s *session) observerAllocator(st *stream) (b *breach) {
	const (
		states = 64
		asked  = 16
		tries  = 5
	)
	every := max(1, len(st.calls)/states)
	var all []prober
	s.each(st.src, st.calls, func(i int, a aqm.AQM, _ aqm.Verdict) bool {
		if i == 0 {
			all = probers(a)
		}
		if i%every != 0 {
			return true
		}
		least := uint64(asked)
		for try := 0; try < tries && least >= asked; try++ {
			least = min(least, mallocs(func() {
				for range asked {
					for _, p := range all {
						s.probe(p)
					}
				}
			}))
		}
		if least >= asked {
			b = &breach{at: i, detail: "Probability() allocates after this call"}
		}
		return b == nil
	})
	return b
}

// zero holds the algorithm to its probability: none, no signal. It goes by what the
// AQM itself says, since a decorator may pass a signal on that is due to an earlier
// packet.
func (s *session) zero() outcome {
	has := false
	catch(func() { _, has = s.make(seeded(s.seed, 0)).(prober) })
	if !has {
		return outcome{reason: "there is no Probability method of its own"}
	}
	atDequeue := s.signalsAtDequeueOnly()
	return s.over(zero, append(s.ordinaryStreams(), s.sourceStreams()...), func(st *stream, calls []Call) (b *breach) {
		before := 1.0 // of the first call it is not known
		s.each(st.src, calls, func(i int, a aqm.AQM, v aqm.Verdict) bool {
			after := s.probe(a.(prober))
			if v.Reason == aqm.Early && calls[i].AtDequeue == atDequeue && before == 0 && after == 0 {
				b = &breach{at: i, detail: fmt.Sprintf("%v, with Probability() = 0 before and after", v)}
			}
			before = after
			return b == nil
		})
		return b
	})
}

// signalsAtDequeueOnly reports whether the control law decides at Dequeue. One that
// signals at both ends has its probability for arrivals, as far as the kit can know.
func (s *session) signalsAtDequeueOnly() bool {
	enqueue, dequeue := false, false
	for _, st := range s.ordinaryStreams() {
		for i, v := range st.verdicts {
			if v.Reason == aqm.Early {
				enqueue = enqueue || !st.calls[i].AtDequeue
				dequeue = dequeue || st.calls[i].AtDequeue
			}
		}
	}
	return dequeue && !enqueue
}

// earlyMarks holds an algorithm that marks to its own answer. One that never marks for
// reason Early does without ECN, and may.
func (s *session) earlyMarks() outcome {
	marks := false
	for _, st := range s.allStreams() {
		for _, v := range st.verdicts {
			marks = marks || v == aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
		}
	}
	if !marks {
		return outcome{reason: "it never marks for reason Early"}
	}
	return s.every(earlyMarks, func(c Call, _ aqm.AQM, v aqm.Verdict) string {
		if c.Packet.ECN.Capable() && v == (aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}) {
			return fmt.Sprintf("%v for a packet that is %v, though others are marked for reason Early", v, c.Packet.ECN)
		}
		return ""
	})
}

// forced holds an algorithm to drops for reason Forced. What a policy makes of them is
// the policy's choice, and a policy is an AQM that wraps another.
func (s *session) forced() outcome {
	wraps := false
	catch(func() { wraps = unwrap(s.make(seeded(s.seed, 0))) != nil })
	if wraps {
		return outcome{reason: "it has an Unwrap method: a policy may mark for reason Forced"}
	}
	return s.every(forced, func(_ Call, _ aqm.AQM, v aqm.Verdict) string {
		if v == (aqm.Verdict{Action: aqm.Mark, Reason: aqm.Forced}) {
			return fmt.Sprintf("%v, by an AQM that wraps no other", v)
		}
		return ""
	})
}
