package ecnpolicy

import (
	"math"
	"reflect"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
)

// Policy is a decorator around an algorithm. It implements aqm.AQM; use New. What
// else the algorithm can do, such as tell its Probability, is found with Unwrap.
type Policy struct {
	inner    aqm.AQM
	clock    aqm.Time  // largest now
	keep     aqm.ECN   // the bits of a codepoint that are read: none where ECN is ignored
	protect  aqm.Class // the empty set where ECN is ignored
	budgeted bool
	plain    bool // an ECN-capable packet's verdict is the algorithm's
	light    bool // a suppressed signal is counted, and that is all
	calm     bool // a passing packet changes nothing: none is pending, and no share is measured

	turned   aqm.Reason // of drops that become marks; NumReasons where none do
	measured bool       // an ECN-capable arrival moves the share
	pending  uint32     // consumed signals that wait for a packet
	share    share
	budget   budget

	*cold
}

// cold is what only a signal or a new configuration touches.
type cold struct {
	protected aqm.Count
	denied    uint64
	carried   uint64
	lost      uint64
	limited   uint64
	config    Config
}

// State is a snapshot of a Policy, as of the last event. Counts go on from the
// Policy's beginning. While Carry is on,
//
//	Protected = Carried + Lost + Pending
//
// grow alike on both sides.
type State struct {
	Pending   uint32  // signals that Carry keeps for the next packets; at most MaxPending
	Tokens    float64 // bytes that protection may admit at once; 0 without a budget
	MarkShare float64 // share of ECN-capable packets that are marked; 0 without MarkLimit

	Protected      uint64 // signals suppressed, at either end
	ProtectedBytes uint64 // Sizes of the packets they were for; what a budget was charged
	Denied         uint64 // times that a packet in Protect was shown as NotECT for want of tokens
	Carried        uint64 // signals that Carry gave to another packet, as marks or, by MarkLimit, drops
	Lost           uint64 // signals that Carry could not keep: beyond MaxPending, or as it was turned off
	Limited        uint64 // marks that MarkLimit turned into drops
}

// New returns a Policy around inner. The error lists all that is wrong with c, and
// with inner if it is nil, and wraps aqm.ErrConfig.
func New(inner aqm.AQM, c Config) (*Policy, error) {
	l := check.For("ecnpolicy")
	v := reflect.ValueOf(inner) // a nil pointer is what a failed New returned
	l.Require(inner != nil && (v.Kind() != reflect.Pointer || !v.IsNil()), "inner", "nil", "", "an algorithm; aqm.TailDrop{} is a queue without one")
	c.require(l)
	if err := l.Err(); err != nil {
		return nil, err
	}
	p := &Policy{inner: inner, clock: math.MinInt64, cold: new(cold)}
	p.apply(c)
	return p, nil
}

// Reconfigure replaces the configuration. It keeps the pending signals if Carry
// stays on, the tokens, as far as the new burst holds them, if a budget stays, and
// the share of marks if MarkLimit stays. The algorithm inside is not touched. After
// an error the old configuration stands.
func (p *Policy) Reconfigure(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	p.apply(c)
	return nil
}

func (p *Policy) apply(c Config) {
	p.config = c
	p.keep, p.protect = aqm.CE, c.Protect
	if c.IgnoreECN {
		p.keep, p.protect = 0, 0
	}
	p.turned = aqm.NumReasons
	if c.MarkForced {
		p.turned = aqm.Forced
	}
	p.budgeted = c.BudgetRate > 0
	p.budget.set(c.BudgetRate, c.BudgetBurst, p.clock)
	p.measured = c.MarkLimit > 0
	p.share.set(c.MarkLimit)
	if !c.Carry {
		p.lost += uint64(p.pending)
		p.pending = 0
	}
	p.calm = !p.measured && p.pending == 0
	p.light = p.calm && !p.budgeted && !c.Carry
	p.plain = p.calm && !c.Carry && !c.IgnoreECN && !c.MarkForced
}

// State returns a snapshot.
func (p *Policy) State() State {
	b := p.budget // filled as of the last event, and left as it is
	b.fill(p.clock)
	return State{
		Pending:        p.pending,
		Tokens:         float64(b.tokens) / nanobits,
		MarkShare:      float64(p.share.value) / one,
		Protected:      p.protected.Packets,
		ProtectedBytes: p.protected.Bytes,
		Denied:         p.denied,
		Carried:        p.carried,
		Lost:           p.lost,
		Limited:        p.limited,
	}
}

// Unwrap returns the algorithm inside, the one given to New.
func (p *Policy) Unwrap() aqm.AQM { return p.inner }

// Enqueue asks the algorithm about an arrival and applies the policy.
func (p *Policy) Enqueue(now aqm.Time, pkt aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now > p.clock {
		p.clock = now
	}
	if p.plain && pkt.ECN-1 < aqm.CE { // ECT(1), ECT(0) or CE, before anything is kept across a call
		return p.inner.Enqueue(now, pkt, q)
	}
	e := pkt.ECN & p.keep
	pkt.ECN = e
	if e == aqm.NotECT && pkt.Class.Has(p.protect) && (!p.budgeted || p.covers(pkt.Size)) {
		pkt.ECN = aqm.ECT0
	}
	v := p.inner.Enqueue(now, pkt, q)
	if v.Action == aqm.Pass && p.calm {
		return aqm.Verdict{}
	}
	if p.calm && pkt.ECN == e && p.stands(v, e) {
		return v
	}
	if p.light && pkt.ECN != e && v.Reason != aqm.Overflow { // spare, where a count is all
		p.protected.Packets++
		p.protected.Bytes += uint64(pkt.Size)
		return aqm.Verdict{}
	}
	return p.arrival(v, e, pkt.ECN, pkt.Size)
}

// Dequeue asks the algorithm about a departure and applies the policy. A packet
// marked at Enqueue arrives here as CE.
func (p *Policy) Dequeue(now aqm.Time, pkt aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now > p.clock {
		p.clock = now
	}
	if p.plain && pkt.ECN-1 < aqm.CE { // ECT(1), ECT(0) or CE, before anything is kept across a call
		return p.inner.Dequeue(now, pkt, q)
	}
	e := pkt.ECN & p.keep
	pkt.ECN = e
	if e == aqm.NotECT && pkt.Class.Has(p.protect) && (!p.budgeted || p.covers(pkt.Size)) {
		pkt.ECN = aqm.ECT0
	}
	v := p.inner.Dequeue(now, pkt, q)
	if v.Action == aqm.Pass && p.calm {
		return aqm.Verdict{}
	}
	if p.calm && pkt.ECN == e && p.stands(v, e) {
		return v
	}
	if p.light && pkt.ECN != e && v.Reason != aqm.Overflow { // spare, where a count is all
		p.protected.Packets++
		p.protected.Bytes += uint64(pkt.Size)
		return aqm.Verdict{}
	}
	return p.answer(v, e, pkt.ECN, pkt.Size)
}

// stands reports whether a signal to a packet with codepoint e, shown as it is, is the
// verdict. Where it is, and no share is measured, settle says the same in more steps.
func (p *Policy) stands(v aqm.Verdict, e aqm.ECN) bool {
	return v.Reason != p.turned && (e != aqm.NotECT || v.Action == aqm.Drop)
}

// arrival is answer at Enqueue, where ECN-capable packets are counted.
//
//go:noinline
func (p *Policy) arrival(v aqm.Verdict, e, shown aqm.ECN, size uint32) aqm.Verdict {
	if p.measured && e != aqm.NotECT {
		p.share.arrival()
	}
	return p.answer(v, e, shown, size)
}

// answer returns the policy's verdict where the algorithm's is v, on a packet of size
// bytes with codepoint e that the algorithm was shown as another if it is protected.
//
//go:noinline
func (p *Policy) answer(v aqm.Verdict, e, shown aqm.ECN, size uint32) aqm.Verdict {
	if shown != e {
		v = p.spare(v, size)
	} else {
		v = p.settle(v, e)
	}
	p.calm = !p.measured && p.pending == 0
	return v
}

// covers reports whether the budget allows a packet of size bytes to be protected.
// It, arrival and answer are out of line to keep the path of a passing packet short.
//
//go:noinline
func (p *Policy) covers(size uint32) bool {
	ok := p.budget.covers(size, p.clock)
	if !ok {
		p.denied++
	}
	return ok
}

// spare returns the verdict on a protected packet of size bytes, where the
// algorithm's is v. A signal is consumed.
func (p *Policy) spare(v aqm.Verdict, size uint32) aqm.Verdict {
	if v.Action == aqm.Pass {
		return aqm.Verdict{}
	}
	if v.Action == aqm.Drop && v.Reason == aqm.Overflow {
		return v
	}
	p.protected.Packets++
	p.protected.Bytes += uint64(size)
	if p.budgeted {
		p.budget.fill(p.clock) // what a full bucket did not get before the charge, it must not get after
		p.budget.charge(size)
	}
	if p.config.Carry {
		if p.pending < MaxPending {
			p.pending++
		} else {
			p.lost++
		}
	}
	return aqm.Verdict{}
}

// settle returns the verdict on a packet with codepoint e that is not protected,
// where the algorithm's is v.
func (p *Policy) settle(v aqm.Verdict, e aqm.ECN) aqm.Verdict {
	if e == aqm.NotECT {
		if v.Action != aqm.Drop {
			return aqm.Verdict{} // an algorithm that marks this breaks the contract
		}
		return v
	}
	if v.Action == aqm.Pass {
		if p.pending == 0 || e == aqm.CE {
			return aqm.Verdict{}
		}
		p.pending--
		p.carried++
		v = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	}
	if v.Action == aqm.Drop && v.Reason == aqm.Forced && p.config.MarkForced {
		v.Action = aqm.Mark // RFC 3168 section 7, reversed
	}
	if v.Action == aqm.Mark && p.measured && !p.share.mark() {
		p.limited++
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced} // RFC 7567 section 4.2.1
	}
	return v
}
