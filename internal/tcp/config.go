package tcp

import (
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
)

// Variant is a congestion control.
type Variant uint8

// The congestion controls.
const (
	NewReno Variant = iota // RFC 5681, RFC 6582
	CUBIC                  // RFC 9438
	DCTCP                  // RFC 8257; needs ECN

	NumVariants = iota
)

// String returns the variant's name.
func (v Variant) String() string {
	switch v {
	case NewReno:
		return "newreno"
	case CUBIC:
		return "cubic"
	case DCTCP:
		return "dctcp"
	}
	return fmt.Sprintf("Variant(%d)", uint8(v))
}

// Config is how both ends of a connection behave.
type Config struct {
	Variant Variant

	MSS    int // bytes; [1, 65495]; payload of a full segment, SMSS [RFC 5681 section 2]
	Header int // bytes; [1, 1000]; of a segment without options; SACK blocks add to it

	SACK            bool // RFC 2018, RFC 6675; else NewReno's recovery, RFC 6582
	LimitedTransmit bool // RFC 3042
	ByteCounting    bool // RFC 3465 with L = 2; else an ACK counts as one, RFC 5681

	ECN       bool // RFC 3168
	ECNSYNACK bool // RFC 5562: the SYN-ACK is ECT(0) too; needs ECN
	ECTAll    bool // RFC 8257 section 3.6: every packet is ECT(0); needs ECN

	InitialWindow int   // segments; > 0; IW [RFC 6928]
	ReceiveWindow int64 // bytes; >= MSS; the receiver's application reads at once

	InitialRTO time.Duration // > 0; of the SYN and until the first sample [RFC 6298 2.1]
	MinRTO     time.Duration // > 0 [RFC 6298 2.4: 1 s]
	MaxRTO     time.Duration // >= InitialRTO, MinRTO [RFC 6298 2.5: at least 60 s]
	MaxSYN     int           // > 0; transmissions of a SYN or SYN-ACK before giving up

	DelayedACK     int           // segments; > 0; an ACK at least for each so many [RFC 5681 4.2: 2]
	DelayedACKTime time.Duration // [0, 500 ms]; and at the latest after this [RFC 5681 4.2]

	Gain float64 // (0, 1]; DCTCP's g [RFC 8257 4.2: 1/16]; used by DCTCP alone

	// SmallQueues keeps a connection from having more than two segments in its host's
	// own queue: Linux's TCP small queues, at their least [net/ipv4/tcp_output.c,
	// tcp_small_queue_check]. Without it, windows that nothing signals to fill that queue.
	SmallQueues bool

	// LikeNS2 has the ends do what ns-2's FullTcp/Sack does where the RFCs leave it
	// open or say otherwise; see the package documentation.
	LikeNS2 bool
}

// DefaultConfig returns NewReno with SACK and ECN, with the RFCs' values and those
// of today's hosts where they leave a choice.
func DefaultConfig() Config {
	return Config{
		MSS: 1460, Header: 40,
		SACK: true, LimitedTransmit: true, ByteCounting: true,
		ECN: true, InitialWindow: 10, ReceiveWindow: 20000 * 1460,
		InitialRTO: time.Second, MinRTO: 200 * time.Millisecond, MaxRTO: 60 * time.Second, MaxSYN: 6,
		DelayedACK: 2, DelayedACKTime: 100 * time.Millisecond,
		Gain: 1. / 16,
	}
}

// NS2Config returns what ns-2's FullTcp/Sack does with segments of 1460 bytes, a
// window of 20000, an initial window of 10, an ACK for 2 segments and a least RTO of
// 200 ms.
func NS2Config() Config {
	c := DefaultConfig()
	c.LimitedTransmit, c.ByteCounting, c.LikeNS2 = false, false, true
	c.InitialRTO = 3 * time.Second
	return c
}

// Validate reports all that is wrong, or nil.
func (c Config) Validate() error {
	l := check.For("tcp")
	l.Require(c.Variant < NumVariants, "Variant", c.Variant, "", "NewReno, CUBIC or DCTCP")
	l.Require(c.MSS >= 1 && c.MSS <= 65495, "MSS", c.MSS, "bytes", "in [1, 65495]")
	l.Require(c.Header >= 1 && c.Header <= 1000, "Header", c.Header, "bytes", "in [1, 1000]")
	l.Require(c.ECN || c.Variant != DCTCP, "ECN", c.ECN, "", "set with DCTCP")
	l.Require(c.ECN || !c.ECNSYNACK, "ECNSYNACK", c.ECNSYNACK, "", "false without ECN")
	l.Require(c.ECN || !c.ECTAll, "ECTAll", c.ECTAll, "", "false without ECN")
	l.Require(c.InitialWindow > 0 && c.InitialWindow <= 1<<20, "InitialWindow", c.InitialWindow, "segments", "in [1, %d]", 1<<20)
	l.Require(c.ReceiveWindow >= int64(c.MSS) && c.ReceiveWindow <= 1<<40, "ReceiveWindow", c.ReceiveWindow, "bytes", "in [MSS = %d, 2^40]", c.MSS)
	l.Require(c.InitialRTO > 0, "InitialRTO", c.InitialRTO, "", "> 0")
	l.Require(c.MinRTO > 0, "MinRTO", c.MinRTO, "", "> 0")
	l.Require(c.MaxRTO >= c.InitialRTO && c.MaxRTO >= c.MinRTO && c.MaxRTO <= time.Hour, "MaxRTO", c.MaxRTO, "", "in [max(InitialRTO, MinRTO), 1h]")
	l.Require(c.MaxSYN > 0, "MaxSYN", c.MaxSYN, "", "> 0")
	l.Require(c.DelayedACK > 0, "DelayedACK", c.DelayedACK, "segments", "> 0")
	l.Require(c.DelayedACKTime >= 0 && c.DelayedACKTime <= 500*time.Millisecond, "DelayedACKTime", c.DelayedACKTime, "", "in [0, 500ms]")
	l.Require(c.DelayedACKTime > 0 || !c.LikeNS2, "DelayedACKTime", c.DelayedACKTime, "", "> 0 with LikeNS2")
	l.Require(c.Variant != DCTCP || c.Gain > 0 && c.Gain <= 1, "Gain", c.Gain, "", "in (0, 1]")
	return l.Err()
}

// params are the Config in the units of the hot path.
type params struct {
	Config
	mss        int64
	fmss       float64
	minRTO     aqm.Time
	maxRTO     aqm.Time
	initialRTO aqm.Time
	delack     aqm.Time
	ackEvery   int64 // bytes
	limited    int64 // bytes; what limited transmit adds for each duplicate ACK
}

func (c Config) params() *params {
	p := &params{
		Config: c, mss: int64(c.MSS), fmss: float64(c.MSS),
		minRTO: aqm.Time(c.MinRTO), maxRTO: aqm.Time(c.MaxRTO), initialRTO: aqm.Time(c.InitialRTO),
		delack: aqm.Time(c.DelayedACKTime), ackEvery: int64(c.DelayedACK) * int64(c.MSS),
	}
	if c.LimitedTransmit {
		p.limited = p.mss
	}
	return p
}
