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
	const many = 32 // signals, so that none in as many rounds is no chance
	if v := s.gap(); v != nil {
		return outcome{reason: "see " + boundedWork.Name, moot: true}
	}
	for _, st := range s.ordinaryStreams() {
		if signals(st.verdicts) < many {
			continue
		}
		histories := s.eras(st)
		for _, d := range disturbances {
			histories = append(histories, disturbed(st, d))
		}
		for _, history := range histories {
			if s.mute(st.src, history, st.calls) {
				return outcome{broken: s.muted(st, history)}
			}
		}
	}
	return outcome{}
}

// muted is the violation that an instance gives no signal after a history, with few
// calls before the silence and few after it.
func (s *session) muted(st *stream, history []Call) *Violation {
	const (
		enough = 4                 // signals of a fresh instance, and many in all rounds
		cost   = 4 * revivalRounds // a failure is worth a second or two
	)
	round := st.calls
	ends := func(calls []Call, ok bool) *breach {
		if !ok || len(calls) == 0 {
			return nil
		}
		return &breach{at: len(calls) - 1}
	}
	before := func(calls []Call) *breach { return ends(calls, s.mute(st.src, calls, round)) }
	if b := before(history); b != nil {
		history, _ = s.shrunk(history, b, cost, before)
	}
	after := func(calls []Call) *breach {
		fresh, _ := s.answers(st.src, calls)
		return ends(calls, signals(fresh) >= enough && s.mute(st.src, history, calls))
	}
	if b := after(round); b != nil {
		round, _ = s.shrunk(round, b, cost, after)
	}
	for _, atDequeue := range []bool{false, true} {
		if even := evenly(round, atDequeue); after(even) != nil {
			round = even
			break
		}
	}
	fresh, _ := s.answers(st.src, round)
	calls := s.resumed(history, round)
	return s.violation(revival, st.src, calls, &breach{at: len(calls) - 1, detail: fmt.Sprintf(
		"no signal in the %d calls that follow a silence of %v, nor where they are repeated %d times; an instance that has not seen the %d calls before it gives %d",
		len(round), max(hour, s.forgets), revivalRounds, len(history), signals(fresh))})
}

// evenly returns calls like the last one at that end, at even distances, which make a
// loop.
func evenly(calls []Call, atDequeue bool) []Call {
	const times = 4 // as many, since not each of them has to be as good
	var model Call
	for _, c := range calls {
		if c.AtDequeue == atDequeue {
			model = c
		}
	}
	step := calls[len(calls)-1].Now.Sub(calls[0].Now) / time.Duration(len(calls))
	even := slices.Repeat([]Call{model}, times*len(calls))
	for i := range even {
		even[i].Now = aqm.Time(i) * aqm.Time(step)
		even[i].Packet.EnqueuedAt = even[i].Now.Add(-model.Now.Sub(model.Packet.EnqueuedAt))
	}
	return even
}

// revivalRounds is how often the same traffic comes until it has to be signalled.
const revivalRounds = 32

// resumed returns the history and, after a silence, the round.
func (s *session) resumed(history, round []Call) []Call {
	return resume(slices.Clone(history), round, history[len(history)-1].Now.Add(max(hour, s.forgets)))
}

func resume(calls, round []Call, start aqm.Time) []Call {
	for _, c := range round {
		c.Now, c.Packet.EnqueuedAt = start.Add(time.Duration(c.Now)), start.Add(time.Duration(c.Packet.EnqueuedAt))
		calls = append(calls, c)
	}
	return calls
}

// mute reports whether no round is answered with a signal, of many after the history
// and a silence.
func (s *session) mute(src source, history, round []Call) bool {
	calls := s.resumed(history, round)
	for _, rounds := range []int{1, 4, revivalRounds} { // the first is mostly enough
		for len(calls) < len(history)+rounds*len(round) {
			calls = resume(calls, round, calls[len(calls)-1].Now)
		}
		signalled := false
		c := s.each(src, calls, func(i int, _ aqm.AQM, v aqm.Verdict) bool {
			signalled = i >= len(history) && signal(v)
			return !signalled
		})
		if c != nil || signalled {
			return false
		}
	}
	return true
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
