package ecnpolicy

import (
	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
)

// Sets of classes for Config.Protect.
const (
	ECEBit = aqm.ECE                                                     // packets with the ECN-Echo flag; see the package documentation on Accurate ECN
	ACKSYN = aqm.PureACK | aqm.SYN | aqm.SYNACK                          // every pure ACK, SYN and SYN-ACK, whatever its ECE flag
	All    = ACKSYN | aqm.FIN | aqm.RST | aqm.Data | aqm.Other | aqm.ECE // everything
)

// Bounds.
const (
	// MaxPending is the most signals that Carry keeps for want of packets to carry
	// them; what comes on top is lost. It bounds how long ECN-capable traffic can be
	// marked for a congestion that was over before it came.
	MaxPending = 1024

	// MinBudgetBurst and MaxBudgetBurst bound BudgetBurst, in bytes. Below the first,
	// an IPv4 and a TCP header without options, no packet of a TCP class is ever
	// covered.
	MinBudgetBurst = 40
	MaxBudgetBurst = 1 << 31
)

// Config is the configuration of a Policy. The zero Config leaves every verdict as
// it is.
type Config struct {
	Protect aqm.Class // classes whose NotECT packets are not signalled to, such as ACKSYN; 0 = none
	Carry   bool      // move a protected packet's signal to the next ECT(0) or ECT(1) packet; needs Protect

	BudgetRate  uint64 // bit/s; > 0; rate at which the bytes that protection may admit accrue; 0 = no budget
	BudgetBurst uint32 // bytes; MinBudgetBurst to MaxBudgetBurst with BudgetRate, 0 without; the most that accrue

	MarkForced bool    // mark an ECN-capable packet for Forced instead of dropping it; reverses [RFC 3168 7]
	MarkLimit  float64 // share; in (0, 1); of ECN-capable packets that may be marked [RFC 7567 4.2.1]; 0 = no limit
	IgnoreECN  bool    // show every packet as NotECT; all other fields are then without effect
}

// DefaultConfig returns the protection of pure ACKs, SYNs and SYN-ACKs.
func DefaultConfig() Config { return Config{Protect: ACKSYN} }

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("ecnpolicy")
	c.require(l)
	return l.Err()
}

func (c Config) require(l *check.List) {
	l.Require(!c.Carry || c.Protect != 0, "Carry", c.Carry, "", "false where Protect = 0")
	if c.BudgetRate > 0 {
		l.Require(c.Protect != 0, "BudgetRate", c.BudgetRate, "bit/s", "0 where Protect = 0")
		l.Require(c.BudgetBurst >= MinBudgetBurst && c.BudgetBurst <= MaxBudgetBurst, "BudgetBurst", c.BudgetBurst, "bytes",
			"in [%d, %d] where BudgetRate > 0", MinBudgetBurst, uint32(MaxBudgetBurst))
	} else {
		l.Require(c.BudgetBurst == 0, "BudgetBurst", c.BudgetBurst, "bytes", "0 where BudgetRate = 0")
	}
	l.Require(c.MarkLimit == 0 || c.MarkLimit > 0 && c.MarkLimit < 1, "MarkLimit", c.MarkLimit, "", "in (0, 1), or 0 for no limit")
}
