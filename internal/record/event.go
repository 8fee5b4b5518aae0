package record

import (
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Header says which queue it is that was recorded, and how to build it again.
type Header struct {
	Command string `json:"command"` // that made the recording
	Name    string `json:"name"`    // of the queue, for people

	Algorithm string `json:"algorithm"` // in the catalog; empty if it is not there
	Seed      uint64 `json:"seed"`      // of the algorithm's source; see Source
	Stream    uint64 `json:"stream"`

	Rate  uint64        `json:"rate_bps"` // bit/s, of the link and of the algorithm's design; 0 if the queue is not served at a rate
	RTT   time.Duration `json:"rtt_ns"`   // that the algorithm was designed for
	Flows int           `json:"flows"`    // likewise

	LimitPackets int   `json:"limit_packets"` // the queue's limits, as in aqm.FIFOConfig
	LimitBytes   int64 `json:"limit_bytes"`
}

// Source returns the source of random numbers that Seed and Stream stand for. Queues
// of one run that share a seed have streams of their own.
func (h Header) Source() rand.Source { return rand.NewPCG(h.Seed, h.Stream) }

// Kind is what an algorithm was asked.
type Kind uint8

// The kinds of event.
const (
	Arrival   Kind = iota // Enqueue
	Departure             // Dequeue

	numKinds = iota
)

// String returns the kind's name.
func (k Kind) String() string {
	if k == Arrival {
		return "arrival"
	}
	return "departure"
}

// Event is one judgement.
type Event struct {
	Kind    Kind
	At      aqm.Time
	Packet  aqm.Packet  // as the algorithm saw it; EnqueuedAt is 0 in an arrival
	Verdict aqm.Verdict // as the queue carried it out
}

// tap notes what an algorithm is asked and what it answers.
type tap struct {
	aqm aqm.AQM
	on  func(Event)
}

// Enqueue passes the question on, and the answer.
func (t tap) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	v := t.aqm.Enqueue(now, p, q)
	p.EnqueuedAt = 0
	t.on(Event{Arrival, now, p, carriedOut(v, p.ECN, q.Full)})
	return v
}

// Dequeue passes the question on, and the answer.
func (t tap) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	v := t.aqm.Dequeue(now, p, q)
	t.on(Event{Departure, now, p, carriedOut(v, p.ECN, false)})
	return v
}

// carriedOut returns what a queue makes of a verdict: an algorithm that breaks the
// contract does not make the recording disagree with the queue.
func carriedOut(v aqm.Verdict, e aqm.ECN, full bool) aqm.Verdict {
	switch {
	case full:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	case v.Action >= aqm.NumActions || v.Reason >= aqm.NumReasons,
		v.Action == aqm.Pass,
		v.Action == aqm.Mark && !e.Capable():
		return aqm.Verdict{}
	}
	return v
}
