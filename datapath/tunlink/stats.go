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

// DirectionStats is a snapshot of one direction. Every packet that arrived is in
// Queue's balance, and of those that Queue delivered, InFlight have not yet left the
// link.
type DirectionStats struct {
	Queue    aqm.Stats
	Queued   aqm.Count // in the queue now
	InFlight int       // packets that are in transmission or on their way

	Arrived [NumGroups]uint64
	Dropped [NumGroups][aqm.NumReasons]uint64 // at either end of the queue

	// Of Queue.Marked, packets that left the queue with CE set in their bytes, and
	// packets that were dropped after their mark. The rest is in the queue.
	MarkedSent, MarkedDropped uint64

	Malformed   uint64 // packets that are not IP, or damaged; they are passed on
	WriteErrors uint64 // packets that the device at the far end did not take

	Sojourn  *hdrhistogram.Histogram // of the packets that left the queue, ns
	Lateness *hdrhistogram.Histogram // by how much packets were written after they were due, ns
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
