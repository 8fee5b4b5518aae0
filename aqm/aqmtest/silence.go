package aqmtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// hour is a long silence, where nothing else is promised.
const hour = time.Hour

// eras returns histories that end in an empty queue, each a part of a stream that ends
// where the AQM had just signalled, or where the queue was longest: emptied behind the
// AQM's back, and by as many departures in one instant.
func (s *session) eras(st *stream) (all [][]Call) {
	half := len(st.calls) / 2
	lastSignal, longest := [2]int{}, 0
	for i, v := range st.verdicts {
		if signal(v) {
			lastSignal[min(1, i/max(1, half))] = i
		}
		if st.calls[i].Occupancy.Packets > st.calls[longest].Occupancy.Packets {
			longest = i
		}
	}
	ends := []int{lastSignal[0], lastSignal[1], longest}
	slices.Sort(ends)
	for _, end := range slices.Compact(ends) {
		if end < len(st.calls) {
			history := st.calls[:end+1]
			all = append(all, history, drained(history))
		}
	}
	return all
}

// drained adds the departures of what is queued after calls, all of them in one
// instant. They came at even distances, the last one now.
func drained(calls []Call) []Call {
	last := calls[len(calls)-1]
	oldest := last.Now
	for _, c := range slices.Backward(calls) {
		if c.AtDequeue {
			oldest = c.Packet.EnqueuedAt
			break
		}
	}
	n := max(0, last.Occupancy.Packets)
	drained := slices.Clone(calls)
	for i := range n {
		left := n - 1 - i
		came := oldest.Add(time.Duration(float64(i+1) / float64(n) * float64(last.Now.Sub(oldest))))
		drained = append(drained, Call{
			AtDequeue: true,
			Now:       last.Now,
			Packet:    aqm.Packet{EnqueuedAt: came, Size: 1500, ECN: aqm.ECT0, Class: aqm.Data},
			Occupancy: aqm.Occupancy{Packets: left, Bytes: int64(left) * 1500},
		})
	}
	return drained
}

// trickle returns n packets from now on, each of which finds the queue empty and
// leaves it at once.
func trickle(now aqm.Time, n int, period time.Duration) (calls []Call) {
	for i := range n {
		p := aqm.Packet{EnqueuedAt: now, Size: 1500, ECN: aqm.ECN(i % 4), Class: aqm.Data}
		calls = append(calls, Call{Now: now, Packet: p}, Call{AtDequeue: true, Now: now, Packet: p})
		now = now.Add(period)
	}
	return calls
}

// silences returns how long it is to be silent: as long as is promised to be enough,
// and longer, among them gaps that are 0 in 32 bits of some unit.
func silences(enough time.Duration) []time.Duration {
	all := []time.Duration{enough, math.MaxInt64 / 4}
	for _, unit := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond} {
		wraps := unit << 32
		all = append(all, (enough+wraps-1)/wraps*wraps)
	}
	return all
}

// silence asks after a silence of what finds the queue empty, in the states that are
// likeliest to signal: with a source that draws the smallest number, or the largest.
func (s *session) silence() outcome {
	if s.forgets == 0 {
		return outcome{reason: "not promised with Forgets"}
	}
	if v := s.gap(); v != nil {
		return outcome{reason: "see " + boundedWork.Name, moot: true}
	}
	period := s.periods[len(s.periods)/2]
	sources := hostileSources()[:2]
	for i, st := range s.ordinaryStreams() {
		for j, history := range s.eras(st) {
			for k, gap := range silences(s.forgets) {
				src := sources[(i+j+k)%len(sources)]
				now := history[len(history)-1].Now.Add(gap)
				calls := slices.Concat(history, trickle(now, 16, period))
				test := func(calls []Call) *breach { return s.remembers(src, calls) }
				if b := test(calls); b != nil {
					return s.broken(forgetting, src, calls, b, 1, test)
				}
			}
		}
	}
	return outcome{}
}

// remembers is the breach that an instance signals what finds the queue empty, after a
// silence, where another that has seen nothing else signals nothing.
func (s *session) remembers(src source, calls []Call) (b *breach) {
	start := -1 // of what follows the last silence
	for i := 1; i < len(calls); i++ {
		if calls[i].Now.Sub(calls[i-1].Now) >= s.forgets {
			start = i
		}
	}
	if start < 0 {
		return nil
	}
	for _, c := range calls[start:] {
		if c.Occupancy != (aqm.Occupancy{}) || c.AtDequeue && c.Packet.EnqueuedAt != c.Now {
			return nil
		}
	}
	s.each(src, calls, func(i int, _ aqm.AQM, v aqm.Verdict) bool {
		if i >= start && signal(v) {
			b = &breach{at: i, detail: fmt.Sprintf("%v for a packet that finds the queue empty, after a silence of %v", v, calls[start].Now.Sub(calls[start-1].Now))}
		}
		return b == nil
	})
	if b == nil {
		return nil
	}
	const enough = 1000 // packets, so that an AQM that signals an empty queue is likely to be seen to
	fresh := append(slices.Clone(calls[start:]), trickle(calls[len(calls)-1].Now, enough, s.periods[len(s.periods)/2])...)
	s.each(src, fresh, func(_ int, _ aqm.AQM, v aqm.Verdict) bool {
		if signal(v) {
			b = nil
		}
		return b != nil
	})
	return b
}

// revival asks the same traffic after a silence as before it, again and again until
// there is a signal: one that adapts may begin with fewer than a fresh one.
func (s *session) revival() outcome {
	const (
		many   = 64 // signals, so that none is no chance
		rounds = 32
	)
	if v := s.gap(); v != nil {
		return outcome{reason: "see " + boundedWork.Name, moot: true}
	}
	for _, st := range s.ordinaryStreams() {
		want := signals(st.verdicts)
		if want < many {
			continue
		}
		for _, history := range s.eras(st) {
			calls := s.mute(st, history, 1)
			if calls != nil {
				calls = s.mute(st, history, rounds)
			}
			if calls != nil {
				return outcome{broken: s.violation(revival, st.src, calls, &breach{at: len(calls) - 1, detail: fmt.Sprintf(
					"no signal in %d rounds of the same %d calls, after a silence of %v that followed %d others; a fresh instance gives %d in the first round",
					rounds, len(st.calls), max(hour, s.forgets), len(history), want)})}
			}
		}
	}
	return outcome{}
}

// mute returns the history, and rounds of the stream after a silence, if none of the
// rounds is answered with a signal.
func (s *session) mute(st *stream, history []Call, rounds int) []Call {
	calls := slices.Grow(slices.Clone(history), rounds*len(st.calls))
	now := history[len(history)-1].Now.Add(max(hour, s.forgets))
	for range rounds {
		for _, c := range st.calls {
			c.Now, c.Packet.EnqueuedAt = now.Add(time.Duration(c.Now)), now.Add(time.Duration(c.Packet.EnqueuedAt))
			calls = append(calls, c)
		}
		now = calls[len(calls)-1].Now
	}
	asked := 0
	c := s.each(st.src, calls, func(i int, _ aqm.AQM, v aqm.Verdict) bool {
		asked = i + 1
		return i < len(history) || !signal(v)
	})
	if c != nil || asked < len(calls) {
		return nil
	}
	return calls
}

func signal(v aqm.Verdict) bool { return v.Action != aqm.Pass && v.Reason != aqm.Overflow }

// signals counts the signals that are not for want of room.
func signals(verdicts []aqm.Verdict) (n int) {
	for _, v := range verdicts {
		if signal(v) {
			n++
		}
	}
	return n
}
