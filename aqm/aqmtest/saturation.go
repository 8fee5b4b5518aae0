package aqmtest

import (
	"math"

	"github.com/aqmkit/aqmkit/aqm"
)

// saturation has packets that were queued for the longest Duration, and for longer,
// which a difference that saturates does not tell apart. Time starts at 0 in the
// streams, so that both are instants.
func (s *session) saturation() outcome {
	if reason := s.incomparable(); reason != "" {
		return outcome{reason: reason, moot: true}
	}
	var streams []*stream
	for _, st := range s.ordinaryStreams() {
		old := &stream{asking: asking{src: st.src, calls: make([]Call, len(st.calls))}}
		for i, c := range st.calls {
			if c.AtDequeue && c.Now%4 == 0 { // the others keep it in its regimes
				c.Packet.EnqueuedAt = c.Now.Add(-math.MaxInt64)
			}
			old.calls[i] = c
		}
		streams = append(streams, old)
	}
	return s.same(saturation, streams, always("where the packets that were queued for MaxInt64 ns came at MinInt64, which is longer ago"), func(calls []Call) {
		for i := range calls {
			if c := &calls[i]; c.AtDequeue && c.Now >= 0 && c.Now.Sub(c.Packet.EnqueuedAt) == math.MaxInt64 {
				c.Packet.EnqueuedAt = aqm.Time(math.MinInt64)
			}
		}
	})
}
