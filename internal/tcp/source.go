package tcp

import (
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/num"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// SourceConfig is a sender that nothing slows down: UDP, or what pretends to be
// something else.
type SourceConfig struct {
	Rate uint64 // bit/s; > 0; while it is on
	Size uint32 // bytes; > 0; of each packet on the wire

	ECN   aqm.ECN   // codepoint; ECT(0) makes an ECT flood
	Class aqm.Class // 0 is Other; SYN makes a SYN flood, PureACK forged ACKs
	Flags netmodel.Flags

	On, Off time.Duration // >= 0; how long it sends and pauses in turn; Off = 0: always on
	Start   aqm.Time      // of the first packet
	Stop    aqm.Time      // no packet at or after this; 0: never

	// Rand has the pauses and what lies between them drawn with On and Off as means
	// of an exponential distribution; nil: they are as long as On and Off say.
	Rand rand.Source
}

// Validate reports all that is wrong, or nil.
func (c SourceConfig) Validate() error {
	l := check.For("tcp")
	l.Require(c.Rate > 0, "Rate", c.Rate, "bit/s", "> 0")
	l.Require(c.Size > 0 && c.Size <= 1<<16, "Size", c.Size, "bytes", "in [1, 65536]")
	l.Require(c.ECN <= aqm.CE, "ECN", c.ECN, "", "a codepoint")
	l.Require(c.Off >= 0 && c.Off <= time.Hour, "Off", c.Off, "", "in [0, 1h]")
	l.Require(c.On >= 0 && c.On <= time.Hour && (c.On > 0 || c.Off == 0), "On", c.On, "", "in [0, 1h], and > 0 with Off")
	l.Require(c.Start >= 0, "Start", c.Start, "ns", ">= 0")
	return l.Err()
}

// Source is a sender at a constant rate, without pauses or with them.
type Source struct {
	c       SourceConfig
	net     *netmodel.Net
	out     netmodel.Flow
	next    float64 // ns; when the next packet is due, kept with its fraction
	gap     float64 // ns
	pauseAt float64 // ns; when the next pause begins
	seq     int64

	Sent uint64  // packets
	Sink Counter // at the end of the path
}

// Counter counts what reaches it.
type Counter struct {
	Packets, Bytes, Marked uint64 // Marked are those with CE

	net *netmodel.Net
}

// Receive implements netmodel.Receiver.
func (c *Counter) Receive(_ aqm.Time, p *netmodel.Packet) {
	c.Packets++
	c.Bytes += uint64(p.Size)
	if p.ECN == aqm.CE {
		c.Marked++
	}
	c.net.Free(p)
}

// NewSource adds a source at the start of a path, and a counter at its end. flow is
// the index of the links' counters.
func NewSource(net *netmodel.Net, path *netmodel.Path, flow int, c SourceConfig) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &Source{c: c, net: net, gap: float64(c.Size) * 8e9 / float64(c.Rate), next: float64(c.Start)}
	s.Sink.net = net
	s.out = path.Flow(&s.Sink, flow)
	s.pauseAt = s.next + s.draw(c.On)
	net.Sim().Set(net.Sim().Add(s), c.Start)
	return s, nil
}

// draw returns how long a phase lasts, in ns.
func (s *Source) draw(mean time.Duration) float64 {
	if s.c.Rand == nil {
		return float64(mean)
	}
	return -float64(mean) * num.Log(num.Uniform(s.c.Rand.Uint64()))
}

// Fire implements sim.Source: a packet is due.
func (s *Source) Fire(now aqm.Time) aqm.Time {
	if s.c.Stop != 0 && now >= s.c.Stop {
		return sim.Never
	}
	p := s.net.Packet()
	p.Seq, p.Ack, p.Len, p.Size, p.Gen = s.seq, 0, s.c.Size, s.c.Size, 0
	p.ECN, p.Class, p.Flags = s.c.ECN, s.c.Class, s.c.Flags
	s.seq += int64(s.c.Size)
	s.Sent++
	s.out.Send(now, p)
	s.next += s.gap
	if s.c.Off > 0 && s.next >= s.pauseAt {
		s.next = max(s.next, s.pauseAt+s.draw(s.c.Off))
		s.pauseAt = s.next + s.draw(s.c.On)
	}
	return max(aqm.Time(s.next), now)
}
