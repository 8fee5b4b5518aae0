package aqmtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// trickling is how many packets of a light load are offered, so that none passes by
// chance only where nearly all are signalled for ever.
const trickling = 1000

// alive offers a trickle to an instance that has seen nothing, and after a silence to
// those that have seen traffic: some packet passes.
func (s *session) alive() outcome {
	if v := s.gap(); v != nil {
		return outcome{reason: "see " + boundedWork.Name, moot: true}
	}
	for i, st := range s.ordinaryStreams() {
		histories := append(s.eras(st), disturbed(st, burst), disturbed(st, sizeless))
		if i == 0 {
			histories = slices.Insert(histories, 0, nil)
		}
		for _, history := range histories {
			for _, far := range []bool{false, true} {
				test := func(history []Call) *breach {
					b, _ := s.stuck(st.src, history, far)
					return b
				}
				b := test(history)
				if b == nil {
					continue
				}
				if len(history) > 0 {
					history, b = s.shrunk(history, b, 4, test)
				}
				_, calls := s.stuck(st.src, history, far)
				if len(calls) == 0 { // not every time
					calls = history
				}
				return outcome{broken: s.violation(alive, st.src, calls, b)}
			}
		}
	}
	return outcome{}
}

// stuck is the breach that none of many packets passes that find the queue empty after
// a history and a silence, and the calls up to the first few of them. A silence that is
// far begins near the beginning of time, and is longer than the longest difference.
func (s *session) stuck(src source, history []Call, far bool) (b *breach, calls []Call) {
	const shown = 4 // packets
	silence, start := max(hour, s.forgets), aqm.Time(0)
	calls = slices.Grow(slices.Clone(history), 2*trickling)
	n := len(history)
	if n > 0 {
		start = history[n-1].Now.Add(silence)
	}
	if far {
		silence = math.MaxInt64
		for i := range calls {
			c := &calls[i]
			c.Now, c.Packet.EnqueuedAt = c.Now.Add(math.MinInt64), c.Packet.EnqueuedAt.Add(math.MinInt64)
		}
	}
	distance := max(time.Second, 100*slices.Max(s.periods))
	s.asking.Store(&asking{src, calls[:cap(calls)]})
	passed, end := false, 0
	c := catch(func() {
		a := s.make(src)
		for i, c := range calls {
			s.ask(a, i, c)
		}
		ask := func(c Call) aqm.Verdict {
			calls = append(calls, c)
			return s.ask(a, len(calls)-1, c)
		}
		for k := 0; k < trickling && !passed; k++ {
			c := Call{Now: start.Add(time.Duration(k) * distance), Packet: aqm.Packet{Size: 1500, ECN: aqm.ECN(k % 4), Class: aqm.Data}}
			v := ask(c)
			if v.Action != aqm.Drop {
				if v.Action == aqm.Mark {
					c.Packet.ECN = aqm.CE
				}
				c.AtDequeue, c.Packet.EnqueuedAt = true, c.Now
				out := ask(c)
				passed = v.Action == aqm.Pass && out.Action == aqm.Pass
			}
			if k < shown {
				end = len(calls)
			}
		}
	})
	if c != nil {
		c.at = max(0, len(calls)-1)
		s.suspect(src, calls, c)
	}
	if c != nil || passed {
		return nil, nil
	}
	after := "to an instance that has seen nothing"
	if n > 0 {
		after = fmt.Sprintf("after a silence of %v", silence)
		if far {
			after = "after a silence longer than the longest Duration"
		}
	}
	return &breach{at: max(0, n-1), detail: fmt.Sprintf(
		"%s come %d packets at a distance of %v, each to an empty queue, and none of them passes; the first %d are shown", after, trickling, distance, shown)}, calls[:end]
}

// A disturbance is a few calls in one instant, such as a queue sees but seldom, or
// never.
type disturbance func(i int, q aqm.Occupancy) []Call

var disturbances = []disturbance{burst, sizeless, largest, countless, negative, contradicting}

func pair(size uint32, in, out aqm.Occupancy) []Call {
	p := aqm.Packet{Size: size, ECN: aqm.ECT0, Class: aqm.Data}
	return []Call{{Packet: p, Occupancy: in}, {AtDequeue: true, Packet: p, Occupancy: out}}
}

// burst are arrivals and departures without any time between them.
func burst(i int, q aqm.Occupancy) []Call {
	q.Packets, q.Bytes = q.Packets+i, q.Bytes+int64(i)*1500
	return pair(1500, q, q)
}

func sizeless(_ int, q aqm.Occupancy) []Call { return pair(0, q, q) }

func largest(_ int, q aqm.Occupancy) []Call { return pair(math.MaxUint32, q, q) }

func countless(int, aqm.Occupancy) []Call {
	q := aqm.Occupancy{Packets: math.MaxInt, Bytes: math.MaxInt64}
	return pair(1500, q, q)
}

func negative(int, aqm.Occupancy) []Call {
	q := aqm.Occupancy{Packets: math.MinInt, Bytes: math.MinInt64}
	return pair(1500, q, q)
}

func contradicting(i int, _ aqm.Occupancy) []Call {
	some, none := aqm.Occupancy{Bytes: math.MaxInt64}, aqm.Occupancy{Packets: math.MaxInt, Bytes: -1}
	if i%2 == 0 {
		some, none = none, some
	}
	return pair(1500, some, none)
}

// disturbed returns what a stream has before its last signal, and a disturbance then.
func disturbed(st *stream, d disturbance) []Call {
	const (
		before = 512 // calls, to have the instance in the midst of its work
		rounds = 16
	)
	end := 0
	for i, v := range st.verdicts {
		if signal(v) {
			end = i + 1
		}
	}
	history := slices.Clone(st.calls[max(0, end-before):end])
	var last Call
	if end > 0 {
		last = history[len(history)-1]
	}
	for i := range rounds {
		for _, c := range d(i, aqm.Occupancy{Packets: last.Occupancy.Packets, Bytes: last.Occupancy.Bytes}) {
			c.Now = last.Now
			if c.AtDequeue {
				c.Packet.EnqueuedAt = last.Now.Add(-slightly)
			}
			history = append(history, c)
		}
	}
	return history
}

// slightly is how long a packet of a disturbance was queued.
const slightly = time.Millisecond
