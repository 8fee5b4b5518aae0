package tunlink

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aqmkit/aqmkit/aqm"
)

// Group is what a packet is in the statistics.
type Group uint8

// The groups.
const (
	Data  Group = iota // TCP with payload
	ACK                // TCP with ACK, without payload
	SYN                // SYN and SYN-ACK
	Other              // the rest

	NumGroups = iota
)

// String returns the group's name.
func (g Group) String() string { return [...]string{"data", "ACK", "SYN", "other"}[min(g, Other)] }

// GroupOf returns the group of packets of class c.
func GroupOf(c aqm.Class) Group {
	switch {
	case c.Has(aqm.SYN | aqm.SYNACK):
		return SYN
	case c.Has(aqm.Data):
		return Data
	case c.Has(aqm.PureACK):
		return ACK
	}
	return Other
}

// Stats is a snapshot of what a Link has done.
type Stats struct {
	A, B DirectionStats // as in Config
}

// DirectionStats is a snapshot of one direction, in which no packet is missing; see
// Balance.
type DirectionStats struct {
	Rate  uint64 // as in Direction, now
	Delay time.Duration
	Loss  float64

	Queue    aqm.Stats
	Queued   aqm.Count // in the queue now
	InFlight int       // packets that are in transmission or on their way

	Arrived [NumGroups]uint64
	Dropped [NumGroups][aqm.NumReasons]uint64 // at either end of the queue
	Lost    [NumGroups]uint64                 // behind the queue, by Direction.Loss

	Delivered uint64 // packets that the device at the far end took
	Abandoned uint64 // packets that were in flight when the link was closed

	// Of Queue.Marked, packets that left the queue with CE set in their bytes, of which
	// MarkedLost were lost behind it, and packets that were dropped after their mark.
	// The rest is in the queue, or was when the link was closed.
	MarkedSent, MarkedLost, MarkedDropped uint64

	Malformed   uint64 // packets that are not IP, or damaged; they are passed on
	WriteErrors uint64 // packets that the device at the far end did not take

	Sojourn  *hdrhistogram.Histogram // of the packets that left the queue, ns
	Lateness *hdrhistogram.Histogram // by how much packets were written after they were due, ns
}

// Balance returns the packets that arrived, and what became of all that are known of:
// dropped at the queue, lost behind it, delivered, refused by the far device, queued,
// in flight, and, after the link was closed, what was in it then. The two are equal in
// every snapshot.
func (s DirectionStats) Balance() (arrived, accounted uint64) {
	q := s.Queue
	accounted = q.Refused.Packets + q.Dropped.Packets + q.Flushed.Packets +
		s.Delivered + s.WriteErrors + s.Abandoned + s.Queued.Packets + uint64(s.InFlight)
	for g := range s.Arrived {
		arrived += s.Arrived[g]
		accounted += s.Lost[g]
	}
	return arrived, accounted
}

// newHistogram returns a histogram of durations in nanoseconds, to three digits or a
// microsecond.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(100*time.Second), 3)
}

// observe adds d to h, which takes what is too long for it as the longest.
func observe(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(int64(d), 0), h.HighestTrackableValue()))
}
