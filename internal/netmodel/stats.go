package netmodel

import (
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Counters are packets at a link.
type Counters struct {
	Arrived  uint64
	Marked   uint64 // turned to CE here
	Early    uint64 // dropped because the control law asked for a signal
	Forced   uint64 // dropped because the algorithm was past a hard limit
	Overflow uint64 // dropped because the buffer was full
}

// Dropped returns the packets dropped for whatever reason.
func (c Counters) Dropped() uint64 { return c.Early + c.Forced + c.Overflow }

func (c *Counters) drop(r aqm.Reason) {
	switch r {
	case aqm.Overflow:
		c.Overflow++
	case aqm.Forced:
		c.Forced++
	default:
		c.Early++
	}
}

// Stats are a link's counters since the start, or since [Link.Measure]. A wire
// counts only what it sent.
type Stats struct {
	Kinds       [NumKinds]Counters
	SentPackets uint64 // transmissions begun
	SentBytes   uint64
	PacketTime  float64 // packets x ns; the integral of the queue's length
	ByteTime    float64 // bytes x ns
	From, To    aqm.Time
	Rate        uint64 // bit/s
}

// Total returns the counters of all kinds added up.
func (s *Stats) Total() (t Counters) {
	for _, c := range s.Kinds {
		t.Arrived += c.Arrived
		t.Marked += c.Marked
		t.Early += c.Early
		t.Forced += c.Forced
		t.Overflow += c.Overflow
	}
	return t
}

// Duration returns the time that the counters cover.
func (s *Stats) Duration() time.Duration { return s.To.Sub(s.From) }

// Utilisation returns the share of the capacity that was used; 1 is all of it. It
// is that of the present rate, whatever it was before.
func (s *Stats) Utilisation() float64 {
	if s.To <= s.From {
		return 0
	}
	return float64(s.SentBytes) * 8 / (float64(s.Rate) * s.Duration().Seconds())
}

// MeanPackets returns the time average of the queue's length in packets.
func (s *Stats) MeanPackets() float64 {
	if s.To <= s.From {
		return 0
	}
	return s.PacketTime / float64(s.To-s.From)
}

// MeanBytes returns the time average of the queue's length in bytes.
func (s *Stats) MeanBytes() float64 {
	if s.To <= s.From {
		return 0
	}
	return s.ByteTime / float64(s.To-s.From)
}

// Stats returns the counters as they are now.
func (l *Link) Stats() Stats {
	l.Sync()
	s := l.stats
	s.SentPackets, s.SentBytes = l.sentPackets, l.sentBytes
	s.To, s.Rate = l.net.sim.Now(), l.rate
	return s
}

// Measure starts all counters anew, such as after a warm-up.
func (l *Link) Measure() {
	l.Sync()
	l.stats = Stats{From: l.net.sim.Now()}
	l.sentPackets, l.sentBytes = 0, 0
	clear(l.flows)
	if l.sojourns != nil {
		*l.sojourns = Histogram{}
	}
}

// Sojourns returns the times that delivered packets spent in the queue; nil for a
// wire. It goes on being filled.
func (l *Link) Sojourns() *Histogram { l.Sync(); return l.sojourns }

// CountFlows has the link count by flow, for those numbered in [0, n).
func (l *Link) CountFlows(n int) { l.flows = make([]Counters, max(n, 0)) }

// Flow returns the counters of flow i, or zeros if it is not counted.
func (l *Link) Flow(i int) Counters {
	l.Sync()
	if i < 0 || i >= len(l.flows) {
		return Counters{}
	}
	return l.flows[i]
}
