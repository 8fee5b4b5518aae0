package threshold

import (
	"fmt"
	"math"
	"time"

	"github.com/aqmkit/aqmkit/internal/check"
)

// Config is the configuration of a Threshold. Exactly one of Packets, Bytes and
// Sojourn is set.
type Config struct {
	Packets int           // packets; > 0; an arrival that finds more is marked, K [DCTCP 3.1]
	Bytes   int64         // bytes; > 0; an arrival that finds more is marked
	Sojourn time.Duration // > 0; a departure that was queued for longer is marked

	DropNotECT bool // drop a packet above the threshold that is not ECN-capable, instead of passing it
}

// DefaultConfig returns K = 20 packets, the DCTCP paper's setting at 1 Gb/s.
func DefaultConfig() Config { return Config{Packets: 20} }

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("threshold")
	l.Require(c.Packets >= 0, "Packets", c.Packets, "packets", "> 0, or 0 where Bytes or Sojourn is set")
	l.Require(c.Bytes >= 0, "Bytes", c.Bytes, "bytes", "> 0, or 0 where Packets or Sojourn is set")
	l.Require(c.Sojourn >= 0, "Sojourn", c.Sojourn, "", "> 0s, or 0s where Packets or Bytes is set")
	set := 0
	for _, isSet := range []bool{c.Packets != 0, c.Bytes != 0, c.Sojourn != 0} {
		if isSet {
			set++
		}
	}
	l.Require(set == 1, "Packets, Bytes, Sojourn", fmt.Sprintf("%d packets, %d bytes, %v", c.Packets, c.Bytes, c.Sojourn), "",
		"exactly one of the three, and the others 0")
	return l.Err()
}

// Sender is the congestion control that a threshold is designed for.
type Sender uint8

// The senders that Design knows.
const (
	DCTCP  Sender = iota // reduces in proportion to the share of marks (RFC 8257)
	TCPECN               // halves on a mark (RFC 3168)
)

// Design returns the smallest threshold in packets that keeps a link of rate bit/s
// busy, for flows long-lived flows of packets of meanPacket bytes whose base
// round-trip time is rtt:
//
//	DCTCP:  K > C*RTT/7             [DCTCP eq. 13; RFC 8257 3.1]
//	TCPECN: K = C*RTT/sqrt(flows)   [G. Appenzeller et al., SIGCOMM 2004]
//
// with C in packets per second. The law for TCPECN takes the flows for independent of
// each other. A threshold marks whoever sends while the queue is above it, so that
// flows which start together, or have like round-trip times, also back off together;
// flows = 1 is on the safe side of that. Neither law knows that hosts send in bursts, which
// at 10 Gb/s are of 30 to 40 packets (DCTCP 3.4): K is at least burst packets.
func Design(sender Sender, rate uint64, rtt time.Duration, flows int, meanPacket uint32, burst int) (Config, error) {
	l := check.For("threshold")
	l.Require(sender <= TCPECN, "sender", sender, "", "DCTCP or TCPECN")
	l.Require(rate > 0, "rate", rate, "bit/s", "> 0")
	l.Require(rtt > 0, "rtt", rtt, "", "> 0s")
	l.Require(flows > 0, "flows", flows, "flows", "> 0")
	l.Require(meanPacket > 0, "meanPacket", meanPacket, "bytes", "> 0")
	l.Require(burst >= 0, "burst", burst, "packets", ">= 0")
	if err := l.Err(); err != nil {
		return Config{}, err
	}
	pipe := float64(rate) / 8 / float64(meanPacket) * rtt.Seconds() // C*RTT, packets
	k := math.Floor(pipe/7) + 1
	if sender == TCPECN {
		k = math.Ceil(pipe / math.Sqrt(float64(flows)))
	}
	k = max(k, float64(burst))
	l.Require(k <= math.MaxInt32, "K", k, "packets", "<= %d; rate, rtt or burst is too large", math.MaxInt32)
	if err := l.Err(); err != nil {
		return Config{}, err
	}
	return Config{Packets: int(k)}, nil
}
