package web

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/pi"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/rem"
	"github.com/aqmkit/aqmkit/threshold"
)

// Laws that are no algorithm.
const (
	uncongested = "uncongested" // a link of 1 Gb/s
	dropTail    = "droptail"
)

// The other laws.
const (
	lawPI        = "pi"
	lawREM       = "rem"
	lawARED      = "ared"  // packet mode
	lawAREDBytes = "aredb" // byte mode
	lawRED       = "red"
	lawREDBytes  = "redb"
	lawPIE       = "pie"
	lawCoDel     = "codel"
	lawThreshold = "threshold"
)

// paperLaws are the paper's AQM algorithms.
var paperLaws = []string{lawPI, lawREM, lawARED, lawAREDBytes}

// Scheme is a queue and what its signals do.
type Scheme struct {
	Law     string
	Setting int  // packets; 0 where there is one setting only
	ECN     bool // the hosts use it
	Reverse bool // mark where RFC 3168 section 7 has ECN-capable packets dropped
	Protect bool // no early drop of pure ACKs, SYNs and SYN-ACKs
	All     bool // nor of anything else that is not ECN-capable: ns-2's REM
	SYNACK  bool // the SYN-ACK is ECN-capable: RFC 5562
}

// String returns the scheme's name in tables and cells.
func (s Scheme) String() string {
	name := s.Law
	if s.Setting > 0 {
		name += fmt.Sprint(s.Setting)
	}
	for _, part := range []struct {
		on   bool
		name string
	}{{s.ECN, "+ecn"}, {s.SYNACK, "+synack"}, {s.Reverse, "+reverse"}, {s.Protect, "+protect"}, {s.All, "+all"}} {
		if part.on {
			name += part.name
		}
	}
	return name
}

// instance returns the AQM of a scheme at a point.
func (s Scheme) instance(p *point, seed uint64) (aqm.AQM, error) {
	a, err := s.law(p, rand.NewPCG(seed, 0xA0))
	if err != nil {
		return nil, fmt.Errorf("%v: %w", s, err)
	}
	policy := ecnpolicy.Config{MarkForced: s.Reverse}
	if s.Protect {
		policy.Protect = ecnpolicy.ACKSYN
	}
	if s.All {
		policy.Protect = ecnpolicy.All
	}
	if policy == (ecnpolicy.Config{}) {
		return a, nil
	}
	return ecnpolicy.New(a, policy)
}

func (s Scheme) law(p *point, src rand.Source) (aqm.AQM, error) {
	q := float64(s.Setting)
	switch s.Law {
	case uncongested, dropTail:
		return aqm.TailDrop{}, nil
	case lawPI:
		c := pi.Published()
		c.QRef, c.Rand = q, src
		return pi.New(c)
	case lawREM:
		c := rem.DefaultConfig()
		c.Target, c.Rate, c.MeanPacket, c.Rand = q, p.Rate, p.MeanPacket, src
		return rem.New(c)
	case lawARED, lawAREDBytes, lawRED, lawREDBytes:
		return red.New(s.red(p, src))
	case lawPIE:
		c := pie.DefaultConfig()
		c.Rand = src
		return pie.New(c)
	case lawCoDel:
		return codel.New(codel.DefaultConfig())
	case lawThreshold:
		return threshold.New(threshold.Config{Packets: s.Setting, DropNotECT: !s.Protect})
	}
	return nil, fmt.Errorf("unknown law %q", s.Law)
}

// red returns RED, adaptive or not, in packets or in bytes. Setting is what Adaptive
// RED holds the average at, half-way between the thresholds; without one the
// thresholds are ns-2's automatic ones, for 5 ms.
func (s Scheme) red(p *point, src rand.Source) red.Config {
	perSecond := float64(p.Rate) / 8 / float64(p.MeanPacket)
	c := red.Config{
		Unit: aqm.Packets, MinTh: float64(s.Setting) / 2, MaxTh: float64(s.Setting) * 3 / 2,
		MaxP: .1, Weight: -math.Expm1(-1 / perSecond), Gentle: true, Wait: true,
		MeanPacket: p.MeanPacket, Rate: p.Rate, MaxECN: p.MaxECN, Rand: src,
	}
	if s.Setting == 0 {
		c.MinTh = max(5, .005*perSecond/2)
		c.MaxTh = 3 * c.MinTh
	}
	if s.Law == lawARED || s.Law == lawAREDBytes {
		c.Adaptive, c.AdaptInterval, c.Bottom, c.Top = true, 500e6, .01, .5
	}
	if s.Law == lawAREDBytes || s.Law == lawREDBytes {
		c = c.InBytes()
		c.ScaleBySize = true
	}
	return c
}
