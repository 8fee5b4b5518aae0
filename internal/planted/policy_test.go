package planted

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
)

// acks are the classes that operators protect.
const acks = aqm.PureACK | aqm.SYN | aqm.SYNACK

var policies = []oracle.Policy{
	{Protect: acks, Carry: true, MaxPending: 1024},
	{Protect: acks | aqm.Data | aqm.Other, BudgetRate: 500_000, BudgetBurst: 5000},
	{MarkForced: true, MarkLimit: 0.05},
	{IgnoreECN: true, Protect: aqm.Other},
	{Protect: acks | aqm.Data | aqm.Other, Carry: true, MaxPending: 1},
}

func policyFamily() family {
	return family{
		name: "ecnpolicy",
		model: func(fault string, variant int, src rand.Source) aqm.AQM {
			return &policyModel{fault: fault, c: &policies[variant], inner: coin{src}}
		},
		oracle: func(variant int, src rand.Source) aqm.AQM {
			o := policies[variant]
			o.Inner = coin{src}
			return &o
		},
		variants: 5, checked: []int{0, 1, 2, 4}, period: 200 * time.Microsecond, limit: 40, short: true,
		faults: []fault{
			by("a protected packet is shown as it is"),
			by("ECN-capable packets are protected too"),
			by("a full buffer spares a protected packet", "overflow"),
			by("a consumed signal is lost"),
			by("a consumed signal is given twice"),
			by("a consumed signal is given to CE"),
			by("a consumed signal is given to NotECT", "not-ect"),
			by("more signals are kept than MaxPending"),
			by("all protected packets are charged"),
			by("nothing is charged"),
			by("tokens beyond the burst"),
			by("the budget starts empty"),
			by("tokens in 32 bits"),
			by("tokens by every now", "time-backwards"),
			by("the share counts departures"),
			by("the share never decays"),
			by("the share of all packets"),
			by("a mark too many passes"),
			by("MarkForced is forgotten"),
			by("MarkForced for NotECT", "not-ect"),
			by("IgnoreECN shows CE"),
			by("Protect before IgnoreECN"),
			by("no class is no Other", "zero-class"),
			contract("memory for each signal", "no-allocation"),
			contract("a list of all packets", "no-allocation"),
		},
	}
}

// coin is an algorithm that signals to one packet in five, and is past a limit of its
// own for one in ten, whatever it is shown.
type coin struct{ src rand.Source }

func (c coin) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	u := uniform(c.src)
	if q.Full {
		return overflow
	}
	return c.judge(p, u)
}

func (c coin) Dequeue(_ aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	return c.judge(p, uniform(c.src))
}

func (c coin) judge(p aqm.Packet, u float64) aqm.Verdict {
	switch {
	case u < 0.1:
		return aqm.MarkOrDrop(p.ECN, aqm.Forced)
	case u < 0.3:
		return aqm.MarkOrDrop(p.ECN, aqm.Early)
	}
	return pass
}

type policyModel struct {
	fault string
	c     *oracle.Policy
	inner aqm.AQM

	clock   aqm.Time
	started bool
	pending int
	share   float64
	spent   uint64 // nanobits that the bucket lacks
	filled  aqm.Time
	list    []aqm.Packet
}

// Unwrap says that it is a policy, which may mark for Forced.
func (m *policyModel) Unwrap() aqm.AQM { return m.inner }

func (m *policyModel) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return m.judge(now, p, q, true)
}

func (m *policyModel) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return m.judge(now, p, q, false)
}

func (m *policyModel) judge(now aqm.Time, p aqm.Packet, q aqm.Occupancy, arrival bool) aqm.Verdict {
	m.fill(now)
	if m.fault == "a list of all packets" {
		m.list = append(m.list, p)
	}
	ask := func(e aqm.ECN) aqm.Verdict {
		shown := p
		shown.ECN = e
		if arrival {
			return m.inner.Enqueue(now, shown, q)
		}
		return m.inner.Dequeue(now, shown, q)
	}
	protected := p.Class.Has(m.c.Protect)
	if m.fault == "no class is no Other" {
		protected = p.Class&m.c.Protect != 0
	}
	if m.c.IgnoreECN && !(protected && m.fault == "Protect before IgnoreECN") {
		if p.ECN == aqm.CE && m.fault == "IgnoreECN shows CE" {
			return ask(aqm.CE)
		}
		return ask(aqm.NotECT)
	}
	if p.ECN == aqm.NotECT {
		return m.notECT(p, protected && m.covers(p), ask)
	}
	v := ask(p.ECN)
	if protected && m.fault == "ECN-capable packets are protected too" && v != overflow {
		return pass
	}
	return m.capable(v, p, arrival)
}

func (m *policyModel) notECT(p aqm.Packet, protected bool, ask func(aqm.ECN) aqm.Verdict) aqm.Verdict {
	if !protected {
		v := ask(aqm.NotECT)
		switch {
		case v.Reason == aqm.Forced && m.c.MarkForced && m.fault == "MarkForced for NotECT",
			v == pass && m.pending > 0 && m.fault == "a consumed signal is given to NotECT":
			return aqm.Verdict{Action: aqm.Mark, Reason: aqm.Forced}
		}
		if m.fault == "the share of all packets" {
			m.share -= m.share / 1024
		}
		return v
	}
	e := aqm.ECT0
	if m.fault == "a protected packet is shown as it is" {
		e = aqm.NotECT
	}
	v := ask(e)
	if m.fault == "a protected packet is shown as it is" {
		return v
	}
	if v == overflow && m.fault != "a full buffer spares a protected packet" {
		return overflow
	}
	if v != pass || m.fault == "all protected packets are charged" {
		m.charge(p)
	}
	if v != pass {
		if m.fault == "memory for each signal" {
			memory = new(int64)
		}
		if m.c.Carry && m.fault != "a consumed signal is lost" && (m.pending < m.c.MaxPending || m.fault == "more signals are kept than MaxPending") {
			m.pending++
		}
	}
	return pass
}

func (m *policyModel) capable(v aqm.Verdict, p aqm.Packet, arrival bool) aqm.Verdict {
	if (arrival || m.fault == "the share counts departures") && m.fault != "the share never decays" {
		m.share -= m.share / 1024
	}
	if v == overflow {
		return overflow
	}
	if v == pass {
		if m.pending == 0 || p.ECN == aqm.CE && m.fault != "a consumed signal is given to CE" {
			return pass
		}
		if m.fault != "a consumed signal is given twice" || m.clock%2 == 0 {
			m.pending--
		}
		v = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	}
	if m.c.MarkForced && v.Reason == aqm.Forced && m.fault != "MarkForced is forgotten" {
		v.Action = aqm.Mark
	}
	if m.c.MarkLimit > 0 && v.Action == aqm.Mark {
		if m.share >= m.c.MarkLimit {
			if m.fault == "a mark too many passes" {
				return pass
			}
			return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
		}
		m.share += 1.0 / 1024
	}
	return v
}

// fill lets time pass until now.
func (m *policyModel) fill(now aqm.Time) {
	if !m.started {
		m.started, m.clock, m.filled = true, now, now
		if m.fault == "the budget starts empty" {
			m.spent = uint64(m.c.BudgetBurst) * 8e9
		}
	}
	if m.fault != "tokens by every now" {
		now = max(now, m.clock)
	}
	m.clock = now
	if m.c.BudgetRate == 0 || m.spent == 0 && m.fault != "tokens beyond the burst" {
		m.filled = now
		return
	}
	elapsed := uint64(max(0, now.Sub(m.filled)))
	m.filled = now
	if elapsed > math.MaxInt64/m.c.BudgetRate {
		m.spent = 0
		return
	}
	tokens := elapsed * m.c.BudgetRate
	switch {
	case m.fault == "tokens in 32 bits":
		tokens = uint64(uint32(tokens))
	case m.fault == "tokens beyond the burst":
		m.spent -= tokens // which is then less than none
		return
	}
	m.spent -= min(tokens, m.spent)
}

func (m *policyModel) covers(p aqm.Packet) bool {
	left := int64(uint64(m.c.BudgetBurst)*8e9 - m.spent)
	return m.c.BudgetRate == 0 || left >= int64(p.Size)*8e9
}

func (m *policyModel) charge(p aqm.Packet) {
	if m.c.BudgetRate > 0 && m.fault != "nothing is charged" {
		m.spent += uint64(p.Size) * 8e9
	}
}
