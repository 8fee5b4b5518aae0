package oracle

import (
	"math/big"

	"github.com/aqmkit/aqmkit/aqm"
)

// Policy is the decorator of package ecnpolicy, told as a story: it keeps the list of
// everything that happened and works out each answer from the whole of it. The order
// of its rules is that of the package's documentation.
type Policy struct {
	Inner       aqm.AQM
	Protect     aqm.Class
	Carry       bool
	MaxPending  int
	MarkForced  bool
	IgnoreECN   bool
	MarkLimit   float64
	BudgetRate  uint64
	BudgetBurst uint32

	// What happened, oldest first.
	Charges []PolicyCharge // signals that protected packets were spared
	Given   int            // signals given to other packets instead
	Lost    int            // signals that were one too many to keep
	events  []policyEvent  // of the share of marks

	clock aqm.Time // largest now, once there was one
	seen  bool
}

// PolicyCharge is a packet that was spared a signal.
type PolicyCharge struct {
	At   aqm.Time
	Size uint32
}

type policyEvent uint8

const (
	policyArrival policyEvent = iota
	policyMark
)

// Enqueue judges an arrival.
func (o *Policy) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return o.judge(now, p, q, true)
}

// Dequeue judges a departure.
func (o *Policy) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return o.judge(now, p, q, false)
}

func (o *Policy) judge(now aqm.Time, p aqm.Packet, q aqm.Occupancy, arrival bool) aqm.Verdict {
	if !o.seen || now > o.clock {
		o.clock = now
	}
	o.seen = true

	ask := func(shownAs aqm.ECN) aqm.Verdict {
		shown := p
		shown.ECN = shownAs
		if arrival {
			return o.Inner.Enqueue(now, shown, q)
		}
		return o.Inner.Dequeue(now, shown, q)
	}
	overflow := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	pass := aqm.Verdict{}

	// IgnoreECN.
	if o.IgnoreECN {
		v := ask(aqm.NotECT)
		if v.Action != aqm.Drop {
			return pass
		}
		return v
	}

	// Packets that are not ECN-capable: budget, Protect and the giving half of Carry.
	if p.ECN == aqm.NotECT {
		protected := o.isProtected(p.Class)
		if protected && o.BudgetRate > 0 && o.Tokens().Cmp(nanobits(p.Size)) < 0 {
			protected = false
		}
		if !protected {
			v := ask(aqm.NotECT)
			if v.Action != aqm.Drop {
				return pass
			}
			return v
		}
		v := ask(aqm.ECT0)
		if v == overflow {
			return v
		}
		if v.Action != aqm.Pass {
			if o.Carry && o.Pending() == o.MaxPending {
				o.Lost++
			}
			o.Charges = append(o.Charges, PolicyCharge{o.clock, p.Size})
		}
		return pass
	}

	// ECN-capable packets: the taking half of Carry, MarkForced, MarkLimit.
	v := ask(p.ECN)
	if arrival {
		o.events = append(o.events, policyArrival)
	}
	if v == overflow {
		return v
	}
	if v.Action == aqm.Pass {
		if p.ECN == aqm.CE || o.Pending() == 0 {
			return pass
		}
		o.Given++
		v = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	}
	if o.MarkForced && v.Action == aqm.Drop && v.Reason == aqm.Forced {
		v = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Forced}
	}
	if o.MarkLimit > 0 && v.Action == aqm.Mark {
		if o.MarkShare() >= o.MarkLimit {
			return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
		}
		o.events = append(o.events, policyMark)
	}
	return v
}

func (o *Policy) isProtected(c aqm.Class) bool {
	for bit := range 8 {
		class := aqm.Class(1) << bit
		is := c&class != 0
		if class == aqm.Other && (c == 0 || c == aqm.ECE) {
			is = true // a packet without a kind is Other
		}
		if is && o.Protect&class != 0 {
			return true
		}
	}
	return false
}

// Pending returns the signals spared less those given or lost.
func (o *Policy) Pending() int {
	if !o.Carry {
		return 0
	}
	return len(o.Charges) - o.Given - o.Lost
}

// MarkShare returns the sum over all marks of (1/N)(1-1/N)^a, where a is the number
// of ECN-capable arrivals since, and N = 1024.
func (o *Policy) MarkShare() float64 {
	const n = 1024
	sum, weight := 0.0, 1.0/n
	for i := len(o.events) - 1; i >= 0; i-- {
		if o.events[i] == policyMark {
			sum += weight
		} else {
			weight *= 1 - 1.0/n
		}
	}
	return sum
}

// Tokens returns what is in the bucket at the last event, by filling and emptying it
// from its beginning, in 1e-9 bits.
func (o *Policy) Tokens() *big.Int {
	level := nanobits(o.BudgetBurst)
	rate := new(big.Int).SetUint64(o.BudgetRate)
	fill := func(from, to aqm.Time) {
		accrued := new(big.Int).Mul(rate, big.NewInt(int64(to.Sub(from))))
		level.Add(level, accrued)
		if level.Cmp(nanobits(o.BudgetBurst)) > 0 {
			level.Set(nanobits(o.BudgetBurst))
		}
	}
	for i, c := range o.Charges {
		if i > 0 {
			fill(o.Charges[i-1].At, c.At)
		}
		level.Sub(level, nanobits(c.Size))
	}
	if n := len(o.Charges); n > 0 {
		fill(o.Charges[n-1].At, o.clock)
	}
	return level
}

// nanobits returns n bytes in 1e-9 bits.
func nanobits(n uint32) *big.Int {
	return new(big.Int).Mul(new(big.Int).SetUint64(uint64(n)), big.NewInt(8e9))
}
