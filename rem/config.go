package rem

import (
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
	"github.com/aqmkit/aqmkit/internal/loop"
	"github.com/aqmkit/aqmkit/internal/num"
)

// The ends of what Validate accepts. They keep out what is a mistake in the unit.
const (
	maxPackets = aqm.MaxLimitPackets
	maxBytes   = 1 << 40
	maxGain    = 1e9     // per unit
	maxPhi     = 1e6     // a price of 1 is as good as certainty
	maxPacket  = 1 << 24 // bytes
	maxRate    = 1e15    // bit/s
	maxPeriod  = time.Hour
)

// Config is the configuration of a REM.
type Config struct {
	Unit     aqm.Unit      // Packets or Bytes; of the backlog, the arrivals and the capacity
	Gamma    float64       // per Unit; > 0; step of the price, gamma [REM 2001]
	Alpha    float64       // > 0; weight of the backlog against the rate, alpha [REM 2001]
	Phi      float64       // > 1; base of the probability, phi [REM 2001]
	Target   float64       // in Unit; > 0; where the backlog is to stand, b* [REM 2001]
	Interval time.Duration // > 0; time between two updates [ns-2 pupdtime_]
	Rate     uint64        // bit/s; > 0; of the link, for what it carries in an Interval, c [REM 2001]

	MeanPacket  uint32  // bytes; > 0; a typical packet, for c and ScaleBySize [ns-2 mean_pktsize_]
	ScaleBySize bool    // multiply the probability by Size/MeanPacket [ns-2 qib_]
	MaxECN      float64 // [0, 1]; probability from which a signal is Forced; 0 = none [RFC 7567 4.2.1]

	Rand rand.Source // of the signals; nil = seeded from the system; Reconfigure keeps the first one
}

// DefaultConfig returns the constants of ns-2, for a link of 10 Mb/s.
func DefaultConfig() Config {
	return Config{
		Unit:       aqm.Packets,
		Gamma:      0.001,
		Alpha:      0.1,
		Phi:        1.001,
		Target:     20,
		Interval:   2 * time.Millisecond,
		Rate:       10_000_000,
		MeanPacket: 1000,
	}
}

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("rem")
	unit, limit := c.Unit.String(), float64(maxPackets)
	if c.Unit == aqm.Bytes {
		limit = maxBytes
	}
	l.Require(c.Unit == aqm.Packets || c.Unit == aqm.Bytes, "Unit", c.Unit, "", "packets or bytes")
	l.Require(c.Gamma > 0 && c.Gamma <= maxGain, "Gamma", c.Gamma, "1/"+unit, "in (0, %v]", maxGain)
	l.Require(c.Alpha > 0 && c.Alpha <= maxGain, "Alpha", c.Alpha, "", "in (0, %v]", maxGain)
	l.Require(c.Phi > 1 && c.Phi <= maxPhi, "Phi", c.Phi, "", "in (1, %v]", maxPhi)
	l.Require(c.Target > 0 && c.Target <= limit, "Target", c.Target, unit, "in (0, %v]", limit)
	l.Require(c.Interval > 0 && c.Interval <= maxPeriod, "Interval", c.Interval, "", "in (0s, %v]", maxPeriod)
	l.Require(c.Rate > 0 && c.Rate <= maxRate, "Rate", c.Rate, "bit/s", "in [1, %v]", maxRate)
	l.Require(c.MeanPacket > 0 && c.MeanPacket <= maxPacket, "MeanPacket", c.MeanPacket, "bytes", "in [1, %d]", maxPacket)
	l.Require(c.MaxECN >= 0 && c.MaxECN <= 1, "MaxECN", c.MaxECN, "", "in [0, 1], where 0 means none")
	return l.Err()
}

// Design returns the controller that keeps the backlog of a link of rate bit/s at
// target packets, for at least flows long-lived TCP flows, packets of meanPacket
// bytes and round-trip times of at most rtt, the queueing delay included.
//
// The rule is ours: the paper leaves Gamma and Alpha to the operator. It rests on
// what the paper says of its law: while the link is busy, x - c is the change of the
// backlog, so that
//
//	price = price + Gamma*((1 + Alpha)*b - b_old - Alpha*Target)   [REM 2001]
//
// and with m = 1 - Phi^-price, dm = ln(Phi)*(1 - m)*dprice, this is a PI controller
// of m with a = g*(1 + Alpha), b = g and g = Gamma*ln(Phi)*(1 - m). Design takes a
// and b from the design rule for PI (C. Hollot et al., INFOCOM 2001, with w_g = z),
// m from the equilibrium of the flows, m = 2*(flows/(rtt*C))^2 with C packets per
// second, and Phi from ns-2. So the margin in phase is PI's,
//
//	90 degrees - w_g*R - atan(w_g*R)   with w_g*R = 2*flows/(rtt*C)
//
// and so is the domain: it is an error if w_g*R is 0.85 or more, which means fewer
// than 2.4 packets in the window of a flow; if target packets wait for rtt or more;
// and if interval is more than a tenth of the period of w_g. For more flows than the
// domain has, design for fewer.
//
// The gains are in packets: see InBytes.
func Design(rate uint64, rtt time.Duration, flows int, meanPacket uint32, target float64, interval time.Duration) (Config, error) {
	l := check.For("rem")
	tcp := loop.Design(l, rate, rtt, flows, meanPacket, "target", target, interval)
	if err := l.Err(); err != nil {
		return Config{}, err
	}
	c := DefaultConfig()
	c.Target, c.Interval, c.Rate, c.MeanPacket = target, interval, rate, meanPacket
	a, b := tcp.PI(interval)
	c.Gamma = b / (num.Log(c.Phi) * (1 - tcp.Probability()))
	c.Alpha = (a - b) / b
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// InBytes returns c with gain and target in bytes: a packet counts for MeanPacket
// bytes. It changes nothing where Unit is not Packets.
func (c Config) InBytes() Config {
	if c.Unit != aqm.Packets {
		return c
	}
	c.Unit = aqm.Bytes
	c.Gamma /= float64(c.MeanPacket)
	c.Target *= float64(c.MeanPacket)
	return c
}

// capacity returns what the link carries in an Interval, in Unit.
func (c Config) capacity() float64 {
	bytes := float64(c.Rate) * c.Interval.Seconds() / 8
	if c.Unit == aqm.Bytes {
		return bytes
	}
	return bytes / float64(c.MeanPacket)
}
