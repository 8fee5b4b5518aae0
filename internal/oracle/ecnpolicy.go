package oracle

import (
	"math"
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
	Kept   int           // signals that protected packets were spared while Carry was on
	Given  int           // signals given to other packets instead
	Lost   int           // signals that were one too many to keep, or kept as Carry was turned off
	budget []budgetEvent // of the tokens
	events []policyEvent // of the share of marks

	clock aqm.Time // largest now, once there was one
	seen  bool
}

// budgetEvent is a packet that was spared a signal, or a change of the budget.
type budgetEvent struct {
	at       aqm.Time
	rate     uint64 // until then
	burst    uint32 // until then
	size     uint32
	changed  bool
	newBurst uint32
}

type policyEvent uint8

const (
	policyArrival policyEvent = iota
	policyMark
)

// Reconfigure goes on with the fields of c. What c has to say of the past is not read.
func (o *Policy) Reconfigure(c Policy) {
	o.budget = append(o.budget, budgetEvent{at: o.now(), rate: o.BudgetRate, burst: o.BudgetBurst, changed: true, newBurst: c.BudgetBurst})
	if o.Carry && !c.Carry {
		o.Lost += o.Pending()
	}
	if c.MarkLimit == 0 {
		o.events = nil // a share that is not measured is 0
	}
	o.Protect, o.Carry, o.MaxPending, o.MarkForced, o.IgnoreECN = c.Protect, c.Carry, c.MaxPending, c.MarkForced, c.IgnoreECN
	o.MarkLimit, o.BudgetRate, o.BudgetBurst = c.MarkLimit, c.BudgetRate, c.BudgetBurst
}

// now is the largest now so far. Before the first event it is the beginning of time.
func (o *Policy) now() aqm.Time {
	if !o.seen {
		return math.MinInt64
	}
	return o.clock
}

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
			if o.Carry {
				o.Kept++
			}
			o.budget = append(o.budget, budgetEvent{at: o.clock, rate: o.BudgetRate, burst: o.BudgetBurst, size: p.Size})
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

// Pending returns the signals kept less those given or lost.
func (o *Policy) Pending() int { return o.Kept - o.Given - o.Lost }

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
// from its beginning, in 1e-9 bits. A bucket starts full.
func (o *Policy) Tokens() *big.Int {
	events := append(append([]budgetEvent{}, o.budget...), budgetEvent{at: o.now(), rate: o.BudgetRate, burst: o.BudgetBurst})
	level := nanobits(events[0].burst)
	for i, e := range events {
		if i > 0 {
			elapsed := big.NewInt(int64(e.at.Sub(events[i-1].at)))
			level.Add(level, elapsed.Mul(elapsed, new(big.Int).SetUint64(e.rate)))
		}
		limit(level, e.burst)
		level.Sub(level, nanobits(e.size))
		if e.changed && e.rate == 0 {
			level = nanobits(e.newBurst)
		}
		if e.changed {
			limit(level, e.newBurst)
		}
	}
	return level
}

// limit lets no more than burst bytes be in the bucket.
func limit(level *big.Int, burst uint32) {
	if most := nanobits(burst); level.Cmp(most) > 0 {
		level.Set(most)
	}
}

// nanobits returns n bytes in 1e-9 bits.
func nanobits(n uint32) *big.Int {
	return new(big.Int).Mul(new(big.Int).SetUint64(uint64(n)), big.NewInt(8e9))
}
