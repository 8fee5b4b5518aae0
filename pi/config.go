package pi

import (
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
	"github.com/aqmkit/aqmkit/internal/loop"
)

// The ends of what Validate accepts. They keep out what is a mistake in the unit.
const (
	maxPackets = aqm.MaxLimitPackets
	maxBytes   = 1 << 40
	maxDelay   = 3600.0  // seconds
	maxGain    = 1e9     // per unit
	maxPacket  = 1 << 24 // bytes
	maxPeriod  = time.Hour
)

// Config is the configuration of a PI.
type Config struct {
	Unit     aqm.Unit      // Packets, Bytes or Delay; of the queue
	A        float64       // per Unit; > B; gain of the queue, a [PI 2001, digital implementation]
	B        float64       // per Unit; > 0; gain of the queue one update before, b [PI 2001, digital implementation]
	QRef     float64       // in Unit; > 0; where the queue is to stand, q_ref [PI 2001]
	Interval time.Duration // > 0; time between two updates, T [PI 2001]

	Squared     bool    // signal with probability p^2, where Unit is Delay, p' [RFC 9332 A.1]
	MeanPacket  uint32  // bytes; > 0 where ScaleBySize; a typical packet [ns-2 mean_pktsize_]
	ScaleBySize bool    // multiply the probability by Size/MeanPacket [ns-2 bytes_]
	MaxECN      float64 // [0, 1]; probability from which a signal is Forced; 0 = none [RFC 7567 4.2.1]

	Rand rand.Source // of the signals; nil = seeded from the system; Reconfigure keeps the first one
}

// DefaultConfig returns Published.
func DefaultConfig() Config { return Published() }

// Published returns the pair of gains that the paper and ns-2 use: for 15 Mb/s in
// packets of 500 bytes, 60 flows or more and round-trip times up to 246 ms. They are
// rounded, and of another w_g than Design's.
func Published() Config {
	return Config{
		Unit:       aqm.Packets,
		A:          1.822e-5,
		B:          1.816e-5,
		QRef:       50,
		Interval:   time.Second / 170,
		MeanPacket: 500,
	}
}

// PI2 returns PI squared as in RFC 9332, for round-trip times up to 100 ms. The gains
// of
//
//	p' = p' + alpha*(q - target) + beta*(q - q_old)   [RFC 9332 A.1]
//
// are per update and second of delay: alpha = 0.16 and beta = 3.2, which Linux's
// dualpi2 has for updates every 16 ms. (The RFC's formulas, alpha = 0.1*Tupdate/RTT_max^2
// and beta = 0.3/RTT_max, give 0.16 and 3.) This is the law with A = alpha + beta and
// B = beta. MaxECN is p_Cmax = 1/k^2, with the RFC's coupling factor k = 2.
func PI2() Config {
	const alpha, beta = 0.16, 3.2
	return Config{
		Unit:       aqm.Delay,
		A:          alpha + beta,
		B:          beta,
		QRef:       0.015,
		Interval:   16 * time.Millisecond,
		Squared:    true,
		MeanPacket: 1500,
		MaxECN:     0.25,
	}
}

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("pi")
	unit := c.Unit.String()
	l.Require(c.Unit < aqm.NumUnits, "Unit", c.Unit, "", "packets, bytes or seconds")
	l.Require(c.A > 0 && c.A <= maxGain, "A", c.A, "1/"+unit, "in (0, %v]", maxGain)
	l.Require(c.B > 0 && c.B < c.A, "B", c.B, "1/"+unit, "in (0, A = %v): the integral gain is A - B", c.A)
	limit := [aqm.NumUnits]float64{maxPackets, maxBytes, maxDelay}[c.Unit%aqm.NumUnits]
	l.Require(c.QRef > 0 && c.QRef <= limit, "QRef", c.QRef, unit, "in (0, %v]", limit)
	l.Require(c.Interval > 0 && c.Interval <= maxPeriod, "Interval", c.Interval, "", "in (0s, %v]", maxPeriod)
	l.Require(!c.Squared || c.Unit == aqm.Delay, "Squared", c.Squared, "", "false where Unit is not Delay, but %v", c.Unit)
	l.Require(c.MeanPacket > 0 && c.MeanPacket <= maxPacket || c.MeanPacket == 0 && !c.ScaleBySize,
		"MeanPacket", c.MeanPacket, "bytes", "in [1, %d], or 0 without ScaleBySize", maxPacket)
	l.Require(c.MaxECN >= 0 && c.MaxECN <= 1, "MaxECN", c.MaxECN, "", "in [0, 1], where 0 means none")
	return l.Err()
}

// Design returns the controller that keeps the queue of a link of rate bit/s at qref
// packets, for at least flows long-lived TCP flows, packets of meanPacket bytes and
// round-trip times of at most rtt, the queueing delay included. With C the packets
// that the link sends in a second, R = rtt and N = flows, its crossover frequency is
// the pole of the flows' dynamics:
//
//	z = 2N/(R^2*C),  w_g = z
//	K = w_g*|j*w_g*R + 1|*(2N)^2/(R*C)^3
//	A = K/z + K*Interval/2,  B = K/z - K*Interval/2   [PI 2001: PI design, digital implementation]
//
// More flows and shorter round-trip times than those leave a wider margin.
//
// The law's domain ends where the margin does. It is an error if w_g*R is 0.85 or
// more, which means fewer than 2.4 packets in the window of a flow; if qref packets
// wait for rtt or more; and if interval is more than a tenth of the period of w_g.
// For more flows than the domain has, design for fewer.
//
// The gains are in packets: see InBytes and InDelay.
func Design(rate uint64, rtt time.Duration, flows int, meanPacket uint32, qref float64, interval time.Duration) (Config, error) {
	l := check.For("pi")
	tcp := loop.Design(l, rate, rtt, flows, meanPacket, "qref", qref, interval)
	if err := l.Err(); err != nil {
		return Config{}, err
	}
	c := Config{Unit: aqm.Packets, QRef: qref, Interval: interval, MeanPacket: meanPacket}
	c.A, c.B = tcp.PI(interval)
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// InBytes returns c with gains and reference in bytes: a packet counts for
// MeanPacket bytes. It changes nothing where Unit is not Packets.
func (c Config) InBytes() Config {
	if c.Unit != aqm.Packets {
		return c
	}
	return c.in(aqm.Bytes, float64(c.MeanPacket))
}

// InDelay returns c with gains and reference in seconds: a packet counts for the
// time in which a link of rate bit/s sends MeanPacket bytes. It changes nothing
// where Unit is not Packets; a rate of 0 makes a Config that is not valid.
func (c Config) InDelay(rate uint64) Config {
	if c.Unit != aqm.Packets {
		return c
	}
	return c.in(aqm.Delay, 8*float64(c.MeanPacket)/float64(rate))
}

// in returns c in a unit of which a packet has so many.
func (c Config) in(unit aqm.Unit, perPacket float64) Config {
	c.Unit = unit
	c.A /= perPacket
	c.B /= perPacket
	c.QRef *= perPacket
	return c
}
