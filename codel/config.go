package codel

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/internal/check"
)

const (
	// maxInterval keeps the 16 Intervals within which the dropping state resumes
	// inside a time.Duration; it is 18 years.
	maxInterval = math.MaxInt64 / 16

	// maxMTU is twice the largest super-packet of Linux's segmentation offload. A
	// larger MTU keeps CoDel from ever signalling and is a mistake, such as a
	// negative number or a wrong byte order.
	maxMTU = 1 << 20
)

// Config is the configuration of a CoDel.
type Config struct {
	Target   time.Duration // > 0; acceptable standing delay, 5 to 10 % of Interval, TARGET [RFC 8289 5.3]
	Interval time.Duration // >= Target; about the largest common round-trip time, INTERVAL [RFC 8289 5.3]
	MTU      uint32        // bytes; 1 to 1048576; no signal where no more than this is left in the queue, maxpacket [RFC 8289 5.3]

	CEThreshold        time.Duration // >= 0, 0 = off; an ECN-capable packet that stayed for longer is marked [Linux ce_threshold]
	MaxDropsPerDequeue int           // packets; >= 0, 0 = no bound; after so many drops in one dequeue the next packet passes
}

// DefaultConfig returns the RFC's constants, for the Internet and an Ethernet link.
func DefaultConfig() Config {
	return Config{Target: 5 * time.Millisecond, Interval: 100 * time.Millisecond, MTU: 1514}
}

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("codel")
	l.Require(c.Target > 0, "Target", c.Target, "", "> 0s")
	l.Require(c.Interval >= c.Target, "Interval", c.Interval, "", ">= Target = %v", c.Target)
	l.Require(c.Interval > 0 && c.Interval <= maxInterval, "Interval", c.Interval, "", "in (0s, %v]", time.Duration(maxInterval))
	requireMTU(l, "MTU", c.MTU)
	l.Require(c.CEThreshold >= 0, "CEThreshold", c.CEThreshold, "", "> 0s, or 0s for off")
	l.Require(c.MaxDropsPerDequeue >= 0, "MaxDropsPerDequeue", c.MaxDropsPerDequeue, "packets", "> 0, or 0 for no bound")
	return l.Err()
}

func requireMTU(l *check.List, field string, mtu uint32) {
	l.Require(mtu >= 1 && mtu <= maxMTU, field, mtu, "bytes", "in [1, %d], the largest packet of the link, or nothing is ever signalled", maxMTU)
}

// Design returns the configuration for a link of rate bit/s that carries packets of
// up to mtu bytes, where rtt is the largest round-trip time that is common on it:
//
//	Interval = rtt
//	Target = max(Interval/20, time to send mtu bytes)   [RFC 8289 4]
//
// Target is the lower end of the 5 to 10 % of Interval that the RFC found best, and
// no less than the time of one packet, below which every packet of a busy link is
// above it. It is an error if that time is more than rtt.
func Design(rate uint64, rtt time.Duration, mtu uint32) (Config, error) {
	l := check.For("codel")
	l.Require(rate > 0, "rate", rate, "bit/s", "> 0")
	l.Require(rtt > 0 && rtt <= maxInterval, "rtt", rtt, "", "in (0s, %v]", time.Duration(maxInterval))
	requireMTU(l, "mtu", mtu)
	if err := l.Err(); err != nil {
		return Config{}, err
	}
	bitNanoseconds := uint64(mtu) * 8 * uint64(time.Second) // at most 2^23 * 10^9
	packet := bitNanoseconds / rate
	if bitNanoseconds%rate != 0 {
		packet++
	}
	c := Config{Target: max(rtt/20, time.Duration(packet)), Interval: rtt, MTU: mtu}
	l.Require(c.Target <= c.Interval, "Target", c.Target, "",
		"<= Interval = rtt = %v; at %d bit/s it is the time of one packet of %d bytes: raise rtt, which includes that time, or lower mtu", rtt, rate, mtu)
	if err := l.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}
