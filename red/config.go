package red

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
	"github.com/aqmkit/aqmkit/internal/num"
)

// The ends of what Validate accepts. They keep out what is a mistake in the unit,
// and what would make 1 - Weight round to 1, a slope infinite or an adaptation
// endless.
const (
	minTh      = 1e-6
	maxPackets = aqm.MaxLimitPackets
	maxBytes   = 1 << 40
	minWeight  = 1e-12
	maxPacket  = 1 << 24 // bytes
	maxRate    = 1e15    // bit/s
	minBottom  = 1e-12
	maxPeriod  = time.Hour
)

// The range of max_p [ARED 4].
const (
	defaultBottom = 0.01
	defaultTop    = 0.5
)

// Config is the configuration of a RED.
type Config struct {
	Unit   aqm.Unit // Packets or Bytes; of the average and of the thresholds
	MinTh  float64  // in Unit; > 0; average below which nothing is signalled, min_th [RED Fig. 2]
	MaxTh  float64  // in Unit; > MinTh; average at which the probability is MaxP, max_th [RED Fig. 2]
	MaxP   float64  // (0, 1]; probability at MaxTh, or where Adaptive starts, max_p [RED Fig. 2]
	Weight float64  // (0, 1]; of one arrival in the average, w_q [RED Fig. 2]

	Gentle bool // from MaxTh to 2 MaxTh the probability rises from MaxP to 1, instead of being 1 [gentle]
	Wait   bool // signals are 1/p_b to 2/p_b packets apart, instead of 1 to 1/p_b [ns-2 wait_]

	MeanPacket  uint32  // bytes; > 0; a typical packet, for idle times and ScaleBySize, s [RED Fig. 2]
	ScaleBySize bool    // multiply p_b by Size/MeanPacket [RED Fig. 2, the option for bytes]
	Rate        uint64  // bit/s; > 0; of the link, for idle times
	MaxECN      float64 // [0, 1]; p_b from which a signal is Forced; 0 = from MaxTh on [RFC 3168 7; ns-2 mark_p_]

	Adaptive      bool          // move MaxP so that the average stays half-way between MinTh and MaxTh [ARED 4]
	AdaptInterval time.Duration // > 0 if Adaptive; time between two moves, interval [ARED 4]
	TargetDelay   time.Duration // >= 0; what Design took the thresholds from; the law reads the thresholds [ARED 4]
	Bottom, Top   float64       // 0 < Bottom <= MaxP <= Top <= 1; range of max_p if Adaptive; 0 = the paper's 0.01 and 0.5 [ARED 4]

	Rand rand.Source // of the spacing between signals; nil = seeded from the system; Reconfigure keeps the first one
}

// DefaultConfig returns the defaults of ns-3's RED, with the range of max_p of the
// Adaptive RED paper.
func DefaultConfig() Config {
	return Config{
		Unit:          aqm.Packets,
		MinTh:         5,
		MaxTh:         15,
		MaxP:          1.0 / 50,
		Weight:        0.002,
		Gentle:        true,
		Wait:          true,
		MeanPacket:    500,
		Rate:          1_500_000,
		AdaptInterval: 500 * time.Millisecond,
		TargetDelay:   5 * time.Millisecond,
		Bottom:        defaultBottom,
		Top:           defaultTop,
	}
}

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("red")
	limit := float64(maxPackets)
	if c.Unit == aqm.Bytes {
		limit = maxBytes
	}
	l.Require(c.Unit == aqm.Packets || c.Unit == aqm.Bytes, "Unit", c.Unit, "", "packets or bytes")
	l.Require(c.MinTh >= minTh && c.MinTh < limit, "MinTh", c.MinTh, c.Unit.String(), "in [%v, %v)", minTh, limit)
	l.Require(c.MaxTh > c.MinTh, "MaxTh", c.MaxTh, c.Unit.String(), "> MinTh = %v %v", c.MinTh, c.Unit)
	l.Require(c.MaxTh <= limit, "MaxTh", c.MaxTh, c.Unit.String(), "<= %v", limit)
	l.Require(c.MaxP > 0 && c.MaxP <= 1, "MaxP", c.MaxP, "", "in (0, 1]")
	l.Require(c.Weight >= minWeight && c.Weight <= 1, "Weight", c.Weight, "", "in [%v, 1]", minWeight)
	l.Require(c.MeanPacket > 0 && c.MeanPacket <= maxPacket, "MeanPacket", c.MeanPacket, "bytes", "in [1, %d]", maxPacket)
	l.Require(c.Rate > 0 && c.Rate <= maxRate, "Rate", c.Rate, "bit/s", "in [1, %v]", maxRate)
	l.Require(c.MaxECN >= 0 && c.MaxECN <= 1, "MaxECN", c.MaxECN, "", "in [0, 1], where 0 means from MaxTh on")
	if c.Adaptive {
		l.Require(c.AdaptInterval > 0 && c.AdaptInterval <= maxPeriod, "AdaptInterval", c.AdaptInterval, "", "in (0s, %v]", maxPeriod)
		bottom, top := c.bounds()
		l.Require(bottom >= minBottom && bottom <= 1, "Bottom", c.Bottom, "", "in [%v, 1], or 0 for %v", minBottom, defaultBottom)
		l.Require(top > 0 && top <= 1, "Top", c.Top, "", "in (0, 1], or 0 for %v", defaultTop)
		l.Require(c.MaxP >= bottom && c.MaxP <= top, "MaxP", c.MaxP, "", "in [Bottom = %v, Top = %v] where Adaptive", bottom, top)
	} else {
		l.Require(c.AdaptInterval >= 0, "AdaptInterval", c.AdaptInterval, "", ">= 0s")
		l.Require(c.Bottom >= 0 && c.Bottom <= 1, "Bottom", c.Bottom, "", "in [0, 1]")
		l.Require(c.Top >= 0 && c.Top <= 1, "Top", c.Top, "", "in [0, 1]")
	}
	l.Require(c.TargetDelay >= 0 && c.TargetDelay <= maxPeriod, "TargetDelay", c.TargetDelay, "", "in [0s, %v]", maxPeriod)
	return l.Err()
}

// bounds returns the range of max_p.
func (c Config) bounds() (bottom, top float64) {
	bottom, top = c.Bottom, c.Top
	if bottom == 0 {
		bottom = defaultBottom
	}
	if top == 0 {
		top = defaultTop
	}
	return bottom, top
}

// Design returns Adaptive RED for a link of rate bit/s that carries packets of
// meanPacket bytes and should have a queueing delay of about target. With C the
// packets that the link sends in a second,
//
//	Weight = 1 - exp(-1/C)              [ARED 4.3]
//	MinTh  = max(5, target*C/2) packets [ARED 4.3]
//	MaxTh  = 3 MinTh                    [ARED 4.3]
//	Bottom = min(0.01, 80000/rate)      [ns-2: the inverse of what the link sends in 0.1 s, in packets of 1000 bytes]
//
// so that the average aims at target*C packets where MinTh is above 5. The signals
// start at MaxP = 0.1, and Gentle and Wait are set. See InBytes for thresholds in
// bytes.
func Design(rate uint64, target time.Duration, meanPacket uint32) (Config, error) {
	l := check.For("red")
	l.Require(rate > 0 && rate <= maxRate, "rate", rate, "bit/s", "in [1, %v]", maxRate)
	l.Require(target > 0 && target <= maxPeriod, "target", target, "", "in (0s, %v]", maxPeriod)
	l.Require(meanPacket > 0 && meanPacket <= maxPacket, "meanPacket", meanPacket, "bytes", "in [1, %d]", maxPacket)
	if err := l.Err(); err != nil {
		return Config{}, err
	}
	perSecond := float64(rate) / (8 * float64(meanPacket)) // C
	c := DefaultConfig()
	c.Adaptive = true
	c.Rate = rate
	c.MeanPacket = meanPacket
	c.TargetDelay = target
	c.Weight = num.Expm1Neg(1 / perSecond)
	c.MinTh = max(5, target.Seconds()*perSecond/2)
	c.MaxTh = 3 * c.MinTh
	c.MaxP = 0.1
	c.Bottom = math.Min(0.01, 80000/float64(rate))
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// InBytes returns c with the thresholds in bytes: a packet counts for MeanPacket
// bytes. It changes nothing else, and nothing where Unit is not Packets.
func (c Config) InBytes() Config {
	if c.Unit == aqm.Packets {
		c.Unit = aqm.Bytes
		c.MinTh *= float64(c.MeanPacket)
		c.MaxTh *= float64(c.MeanPacket)
	}
	return c
}
