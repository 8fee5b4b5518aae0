package ecnpolicy

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// TestDefaults pins the default to its source: the ACK+SYN mode of Fischer e Silva
// and Carpenter, and the sets to what they must cover.
func TestDefaults(t *testing.T) {
	assert.Equal(t, Config{Protect: aqm.PureACK | aqm.SYN | aqm.SYNACK}, DefaultConfig())
	assert.NoError(t, DefaultConfig().Validate())
	assert.Equal(t, aqm.ECE, ECEBit)
	assert.Equal(t, aqm.Class(math.MaxUint8), All)
	assert.NoError(t, Config{}.Validate(), "a Policy that changes nothing")
}

// TestRules has every rule alone and with those it meets. The algorithm signals for
// reason at both ends; the verdicts are the same at both.
func TestRules(t *testing.T) {
	const e, f = aqm.Early, aqm.Forced
	n, ect0, ect1, ce := aqm.NotECT, aqm.ECT0, aqm.ECT1, aqm.CE
	protect := Config{Protect: ACKSYN}
	for _, tc := range []struct {
		name   string
		config Config
		ecn    aqm.ECN
		class  aqm.Class
		reason aqm.Reason
		shown  aqm.ECN
		want   aqm.Verdict
	}{
		{"nothing set: NotECT", Config{}, n, aqm.PureACK, e, n, dropEarly},
		{"nothing set: ECT(0)", Config{}, ect0, aqm.Data, e, ect0, markEarly},
		{"nothing set: ECT(1) forced", Config{}, ect1, aqm.Data, f, ect1, dropForced},
		{"nothing set: no signal", Config{}, ce, aqm.Data, aqm.None, ce, pass},

		{"protected: Early", protect, n, aqm.PureACK, e, ect0, pass},
		{"protected: Forced", protect, n, aqm.PureACK, f, ect0, pass},
		{"protected: no signal", protect, n, aqm.PureACK, aqm.None, ect0, pass},
		{"protected: SYN", protect, n, aqm.SYN | aqm.ECE, e, ect0, pass},
		{"protected: SYNACK", protect, n, aqm.SYNACK, f, ect0, pass},
		{"not protected: data", protect, n, aqm.Data, e, n, dropEarly},
		{"not protected: FIN with ECE", protect, n, aqm.FIN | aqm.ECE, e, n, dropEarly},
		{"not protected: no class", protect, n, 0, f, n, dropForced},
		{"an ECN-capable ACK is marked", protect, ect0, aqm.PureACK, e, ect0, markEarly},
		{"an ECN-capable SYN is dropped for Forced", protect, ect1, aqm.SYN, f, ect1, dropForced},
		{"a CE ACK stays", protect, ce, aqm.PureACK, e, ce, markEarly},

		{"ECE bit: plain ACK", Config{Protect: ECEBit}, n, aqm.PureACK, e, n, dropEarly},
		{"ECE bit: echo", Config{Protect: ECEBit}, n, aqm.PureACK | aqm.ECE, e, ect0, pass},
		{"ECE bit: data with echo", Config{Protect: ECEBit}, n, aqm.Data | aqm.ECE, f, ect0, pass},
		{"Other: no class", Config{Protect: aqm.Other}, n, 0, e, ect0, pass},
		{"Other: ECE alone", Config{Protect: aqm.Other}, n, aqm.ECE, e, ect0, pass},
		{"all: RST", Config{Protect: All}, n, aqm.RST, f, ect0, pass},
		{"all: no class", Config{Protect: All}, n, 0, e, ect0, pass},

		{"MarkForced: ECT(0)", Config{MarkForced: true}, ect0, aqm.Data, f, ect0, markForced},
		{"MarkForced: CE", Config{MarkForced: true}, ce, aqm.Data, f, ce, markForced},
		{"MarkForced: Early is a mark already", Config{MarkForced: true}, ect1, aqm.Data, e, ect1, markEarly},
		{"MarkForced: NotECT", Config{MarkForced: true}, n, aqm.Data, f, n, dropForced},
		{"MarkForced and Protect", Config{MarkForced: true, Protect: ACKSYN}, n, aqm.SYN, f, ect0, pass},

		{"IgnoreECN: ECT(0)", Config{IgnoreECN: true}, ect0, aqm.Data, e, n, dropEarly},
		{"IgnoreECN: CE", Config{IgnoreECN: true}, ce, aqm.Data, e, n, dropEarly},
		{"IgnoreECN: no signal", Config{IgnoreECN: true}, ect1, aqm.Data, aqm.None, n, pass},
		{"IgnoreECN wins over Protect", Config{IgnoreECN: true, Protect: All, Carry: true}, n, aqm.PureACK, e, n, dropEarly},
		{"IgnoreECN wins over MarkForced", Config{IgnoreECN: true, MarkForced: true}, ect0, aqm.Data, f, n, dropForced},
		{"IgnoreECN wins over MarkLimit", Config{IgnoreECN: true, MarkLimit: 1e-9}, ect0, aqm.Data, e, n, dropEarly},

		{"MarkLimit: below", Config{MarkLimit: 0.5}, ect0, aqm.Data, e, ect0, markEarly},
		{"MarkLimit: NotECT", Config{MarkLimit: 1e-9}, n, aqm.Data, e, n, dropEarly},
		{"MarkLimit after MarkForced: below", Config{MarkLimit: 0.5, MarkForced: true}, ect0, aqm.Data, f, ect0, markForced},

		{"budget: covered", Config{Protect: ACKSYN, BudgetRate: 1, BudgetBurst: 80}, n, aqm.PureACK, e, ect0, pass},
		{"budget: too large", Config{Protect: All, BudgetRate: 1, BudgetBurst: 1499}, n, aqm.Data, e, n, dropEarly},
		{"budget: another class", Config{Protect: ACKSYN, BudgetRate: 1, BudgetBurst: 3000}, n, aqm.Data, e, n, dropEarly},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := says(tc.reason)
			p := around(t, in, tc.config)
			pkt := packet(tc.ecn, tc.class)
			assert.Equal(t, tc.want, p.Enqueue(5, pkt, aqm.Occupancy{}))
			shown := pkt
			shown.ECN = tc.shown
			assert.Equal(t, shown, in.lastShown(), "shown at Enqueue")

			pkt.EnqueuedAt, shown.EnqueuedAt = 5, 5
			assert.Equal(t, tc.want, p.Dequeue(7, pkt, aqm.Occupancy{}))
			assert.Equal(t, shown, in.lastShown(), "shown at Dequeue")
		})
	}
}

// TestOverflow sees that no policy touches a full buffer's verdict, nor is moved by it.
func TestOverflow(t *testing.T) {
	for _, c := range everyConfig() {
		for e := aqm.NotECT; e <= aqm.CE; e++ {
			p := around(t, says(aqm.Early), c)
			for _, class := range []aqm.Class{aqm.PureACK, aqm.Data, 0} {
				assert.Equal(t, overflow, p.Enqueue(1, packet(e, class), aqm.Occupancy{Full: true}), "%+v %v", c, e)
			}
			s := p.State()
			assert.Zero(t, s.Protected+s.Carried+s.Lost+s.Limited+uint64(s.Pending), "%+v %v", c, e)
			assert.Zero(t, s.MarkShare)
			assert.Equal(t, float64(c.BudgetBurst), s.Tokens)
		}
	}
}

// TestMarkOfNotECT has an algorithm that breaks the contract: the Policy does not.
func TestMarkOfNotECT(t *testing.T) {
	for _, c := range everyConfig() {
		p := around(t, fixed(markEarly), c)
		assert.Equal(t, pass, p.Enqueue(1, packet(aqm.NotECT, aqm.PureACK), aqm.Occupancy{}), "%+v", c)
		assert.Equal(t, pass, p.Dequeue(1, packet(aqm.NotECT, aqm.Data), aqm.Occupancy{}), "%+v", c)
		if c.IgnoreECN {
			assert.Equal(t, pass, p.Enqueue(1, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{}), "%+v", c)
		}
	}
}

func TestCarry(t *testing.T) {
	reason := aqm.Early
	in := &inner{reason: func() aqm.Reason { return reason }}
	p := around(t, in, Config{Protect: ACKSYN, Carry: true})
	ack := packet(aqm.NotECT, aqm.PureACK)
	q := aqm.Occupancy{Packets: 9}

	assert.Equal(t, pass, p.Enqueue(1, ack, q))
	reason = aqm.Forced
	assert.Equal(t, pass, p.Dequeue(2, ack, q))
	assert.Equal(t, uint32(2), p.State().Pending)

	reason = aqm.None
	assert.Equal(t, pass, p.Enqueue(3, ack, q), "a protected packet cannot carry")
	assert.Equal(t, pass, p.Enqueue(3, packet(aqm.NotECT, aqm.Data), q), "nor another that is NotECT")
	assert.Equal(t, pass, p.Enqueue(3, packet(aqm.CE, aqm.Data), q), "CE says it already")
	reason = aqm.Early
	assert.Equal(t, markEarly, p.Enqueue(3, packet(aqm.ECT0, aqm.Data), q), "a signal of its own")
	reason = aqm.Forced
	assert.Equal(t, dropForced, p.Enqueue(3, packet(aqm.ECT0, aqm.Data), q), "a signal of its own")
	assert.Equal(t, uint32(2), p.State().Pending)

	reason = aqm.None
	assert.Equal(t, markEarly, p.Dequeue(4, packet(aqm.ECT1, aqm.Data), q))
	assert.Equal(t, markEarly, p.Enqueue(4, packet(aqm.ECT0, aqm.PureACK), q))
	assert.Equal(t, pass, p.Enqueue(4, packet(aqm.ECT0, aqm.Data), q), "none is left")
	assert.Equal(t, State{Protected: 2, ProtectedBytes: 80, Carried: 2}, p.State())

	without := around(t, in, Config{Protect: ACKSYN})
	reason = aqm.Early
	without.Enqueue(1, ack, q)
	reason = aqm.None
	assert.Equal(t, pass, without.Enqueue(1, packet(aqm.ECT0, aqm.Data), q), "without Carry the signal is gone")
}

// TestCarryIsBounded sees MaxPending signals kept and the rest counted as lost.
func TestCarryIsBounded(t *testing.T) {
	reason := aqm.Early
	p := around(t, &inner{reason: func() aqm.Reason { return reason }}, Config{Protect: ACKSYN, Carry: true})
	for range MaxPending + 7 {
		p.Enqueue(1, packet(aqm.NotECT, aqm.SYN), aqm.Occupancy{})
	}
	assert.Equal(t, uint32(MaxPending), p.State().Pending)
	assert.Equal(t, uint64(7), p.State().Lost)
	reason = aqm.None
	marks := 0
	for range MaxPending + 7 {
		if p.Enqueue(1, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{}) == markEarly {
			marks++
		}
	}
	assert.Equal(t, MaxPending, marks)
}

// TestCarriedMarkIsLimited pins the choice that a carried mark above MarkLimit is a
// drop, and not held back.
func TestCarriedMarkIsLimited(t *testing.T) {
	reason := aqm.Early
	p := around(t, &inner{reason: func() aqm.Reason { return reason }}, Config{Protect: ACKSYN, Carry: true, MarkLimit: 1.5 / 1024})
	for range 3 {
		p.Enqueue(1, packet(aqm.NotECT, aqm.PureACK), aqm.Occupancy{})
	}
	reason = aqm.None
	for _, want := range []aqm.Verdict{markEarly, markEarly, dropForced, pass} {
		assert.Equal(t, want, p.Enqueue(1, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{}))
	}
	s := p.State()
	assert.Equal(t, [3]uint64{0, 3, 1}, [3]uint64{uint64(s.Pending), s.Carried, s.Limited})
}

// TestBudget fills and empties a bucket of 100 bytes at a byte a millisecond.
func TestBudget(t *testing.T) {
	const ms = aqm.Time(time.Millisecond)
	in := says(aqm.Early)
	p := around(t, in, Config{Protect: ACKSYN, BudgetRate: 8000, BudgetBurst: 100})
	denied := uint64(0)
	for i, tc := range []struct {
		now       aqm.Time
		size      uint32
		protected bool
		tokens    float64
	}{
		{7 * ms, 101, false, 100}, // larger than the bucket
		{7 * ms, 40, true, 60},
		{7 * ms, 40, true, 20},
		{7 * ms, 40, false, 20},
		{7*ms + 1, 20, true, 1e-6}, // a nanosecond's worth is left
		{27 * ms, 21, false, 20},
		{27 * ms, 20, true, 0},
		{26 * ms, 1, false, 0},       // a step back is no elapsed time
		{27*ms + ms/2, 0, true, 0.5}, // and nothing accrues twice after it
		{28*ms - 1, 1, false, 1 - 1e-6},
		{28 * ms, 1, true, 0}, // to the nanosecond
		{1e6 * ms, 40, true, 60},
		{2e6 * ms, 40, true, 60}, // what a full bucket does not hold is gone, before the charge
		{2e6 * ms, 60, true, 0},
		{math.MaxInt64, 100, true, 0},
		{math.MaxInt64, 1, false, 0},
	} {
		pkt := aqm.Packet{Size: tc.size, Class: aqm.PureACK}
		v := p.Enqueue(tc.now, pkt, aqm.Occupancy{})
		assert.Equal(t, tc.protected, v == pass, "step %d", i)
		assert.Equal(t, tc.protected, in.lastShown().ECN == aqm.ECT0, "step %d", i)
		assert.InDelta(t, tc.tokens, p.State().Tokens, 1e-9, "step %d", i)
		if !tc.protected {
			denied++
		}
	}
	assert.Equal(t, denied, p.State().Denied)
}

// TestBudgetOfAnyRate has rate times time at 2^64, of which no bit is left in 64.
func TestBudgetOfAnyRate(t *testing.T) {
	p := around(t, says(aqm.Early), Config{Protect: ACKSYN, BudgetRate: 1 << 63, BudgetBurst: MaxBudgetBurst})
	syn := aqm.Packet{Size: MaxBudgetBurst, Class: aqm.SYN}
	require.Equal(t, pass, p.Enqueue(-1, syn, aqm.Occupancy{}))
	assert.Equal(t, dropEarly, p.Enqueue(-1, packet(aqm.NotECT, aqm.SYN), aqm.Occupancy{}))
	assert.Equal(t, pass, p.Enqueue(1, syn, aqm.Occupancy{}))
	assert.Zero(t, p.State().Tokens)
}

// TestBudgetIsChargedForSignals sees a charge at either end, and none where nothing
// was suppressed.
func TestBudgetIsChargedForSignals(t *testing.T) {
	reason := aqm.None
	p := around(t, &inner{reason: func() aqm.Reason { return reason }}, Config{Protect: ACKSYN, BudgetRate: 1, BudgetBurst: 100})
	ack := packet(aqm.NotECT, aqm.PureACK)
	p.Enqueue(1, ack, aqm.Occupancy{})
	p.Dequeue(1, ack, aqm.Occupancy{})
	p.Enqueue(1, ack, aqm.Occupancy{Full: true})
	assert.Equal(t, 100.0, p.State().Tokens)
	reason = aqm.Early
	p.Enqueue(1, packet(aqm.ECT0, aqm.PureACK), aqm.Occupancy{})
	p.Enqueue(1, packet(aqm.NotECT, aqm.Data), aqm.Occupancy{})
	assert.Equal(t, 100.0, p.State().Tokens, "packets that are not protected")
	p.Enqueue(1, ack, aqm.Occupancy{})
	assert.Equal(t, 60.0, p.State().Tokens)
	p.Dequeue(1, ack, aqm.Occupancy{})
	assert.Equal(t, 20.0, p.State().Tokens)
	assert.Equal(t, dropEarly, p.Dequeue(1, ack, aqm.Occupancy{}))
	assert.Equal(t, uint64(80), p.State().ProtectedBytes)
}

// TestBudgetSeesEveryNow steps back in time at a packet that is protected, after one
// that is not: the largest now is the largest of all.
func TestBudgetSeesEveryNow(t *testing.T) {
	p := around(t, says(aqm.Early), Config{Protect: ACKSYN, BudgetRate: 8e9, BudgetBurst: 40}) // a byte a nanosecond
	ack := packet(aqm.NotECT, aqm.PureACK)
	require.Equal(t, pass, p.Enqueue(100, ack, aqm.Occupancy{}))
	p.Enqueue(120, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{})
	p.Dequeue(140, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{})
	assert.Equal(t, pass, p.Enqueue(90, ack, aqm.Occupancy{}), "40 ns have passed")
	assert.Equal(t, dropEarly, p.Enqueue(139, ack, aqm.Occupancy{}))
}

// TestMarkLimitStart marks every packet from the first on. The share after k marks is
// 1 - r^k with r = 1 - 1/N, and decays once before the next is judged: mark k+1 is
// given while r - r^(k+1) < limit, that is k+1 < log(r-limit)/log(r).
func TestMarkLimitStart(t *testing.T) {
	const n, r = 1024.0, 1 - 1/1024.0
	for _, limit := range []float64{1 / n / 2, 0.1, 0.5, 0.9} {
		for _, e := range []aqm.ECN{aqm.ECT0, aqm.ECT1, aqm.CE} {
			p := around(t, says(aqm.Early), Config{MarkLimit: limit})
			marks := 0
			for p.Enqueue(1, packet(e, aqm.Data), aqm.Occupancy{}) == markEarly {
				marks++
			}
			want := int(math.Ceil(math.Log(r-limit)/math.Log(r))) - 1
			assert.Equal(t, want, marks, "limit %v of %v", limit, e)
			assert.InDelta(t, r*(1-math.Pow(r, float64(marks))), p.State().MarkShare, 1e-12)
			assert.Equal(t, uint64(1), p.State().Limited)
		}
	}
}

// TestMarkLimitIsReached has a share that is exactly the limit: no mark is given.
func TestMarkLimitIsReached(t *testing.T) {
	p := around(t, says(aqm.Early), Config{MarkLimit: 1.0 / 1024})
	assert.Equal(t, markEarly, p.Enqueue(1, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{}))
	assert.Equal(t, 1.0/1024, p.State().MarkShare)
	assert.Equal(t, dropForced, p.Dequeue(1, packet(aqm.CE, aqm.Data), aqm.Occupancy{}))
}

// TestMarkLimitKeeps marks every packet, and holds the share of marks of a long run
// between the bounds of the law.
func TestMarkLimitKeeps(t *testing.T) {
	const arrivals, n = 30_000, 1024.0
	for _, limit := range []float64{0.001, 0.1, 0.5, 0.99} {
		for _, reason := range []aqm.Reason{aqm.Early, aqm.Forced} {
			p := around(t, says(reason), Config{MarkLimit: limit, MarkForced: true})
			marks := 0.0
			for i := range arrivals {
				v := p.Enqueue(aqm.Time(i), packet(aqm.ECN(1+i%3), aqm.Data), aqm.Occupancy{})
				p.Enqueue(aqm.Time(i), packet(aqm.NotECT, aqm.Data), aqm.Occupancy{}) // does not count
				if v.Action == aqm.Mark {
					marks++
				} else if v != dropForced {
					t.Fatalf("arrival %d: %v", i, v)
				}
				if share := p.State().MarkShare; share > limit+1/n {
					t.Fatalf("arrival %d: share %v is above %v + 1/N", i, share, limit)
				}
			}
			assert.LessOrEqual(t, marks, arrivals*(limit+1/n)+n*limit+1)
			assert.GreaterOrEqual(t, marks, math.Floor(arrivals*limit*(1-1/n)))
			assert.Equal(t, arrivals-uint64(marks), p.State().Limited)
		}
	}
}

// TestMarkShare counts marks at both ends against arrivals at one, and forgets them.
func TestMarkShare(t *testing.T) {
	const n, r = 1024.0, 1 - 1/1024.0
	reason := aqm.Early
	p := around(t, &inner{reason: func() aqm.Reason { return reason }}, Config{MarkLimit: 0.5})
	p.Enqueue(1, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{})
	assert.InDelta(t, 1/n, p.State().MarkShare, 1e-15)
	p.Dequeue(1, packet(aqm.CE, aqm.Data), aqm.Occupancy{})
	assert.InDelta(t, 2/n, p.State().MarkShare, 1e-15, "a mark at Dequeue adds, and lets nothing decay")
	reason = aqm.None
	p.Dequeue(1, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{})
	p.Enqueue(1, packet(aqm.NotECT, aqm.Data), aqm.Occupancy{})
	assert.InDelta(t, 2/n, p.State().MarkShare, 1e-15)
	for range 1000 {
		p.Enqueue(1, packet(aqm.ECT1, aqm.Data), aqm.Occupancy{})
	}
	assert.InDelta(t, 2/n*math.Pow(r, 1000), p.State().MarkShare, 1e-15)
	for range 100_000 {
		p.Enqueue(1, packet(aqm.CE, aqm.Data), aqm.Occupancy{})
	}
	assert.Zero(t, p.State().MarkShare, "the smallest limit is reached again")
}

// TestValidate sees every mistake listed at once, with field, value, bound and unit.
func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		config Config
		parts  []string
	}{
		{
			Config{Carry: true, BudgetRate: 9, BudgetBurst: 39, MarkLimit: math.NaN()},
			[]string{
				"ecnpolicy: Carry = true, must be false where Protect = 0", "BudgetRate = 9 bit/s, must be 0 where Protect = 0",
				"BudgetBurst = 39 bytes, must be in [40, 2147483648]", "MarkLimit = NaN, must be in (0, 1)",
			},
		},
		{Config{Protect: All, BudgetRate: 1}, []string{"BudgetBurst = 0 bytes, must be in [40,"}},
		{Config{Protect: All, BudgetRate: 1, BudgetBurst: MaxBudgetBurst + 1}, []string{"BudgetBurst = 2147483649 bytes, must be in"}},
		{Config{Protect: All, BudgetBurst: 1500}, []string{"BudgetBurst = 1500 bytes, must be 0 where BudgetRate = 0"}},
		{Config{MarkLimit: 1}, []string{"MarkLimit = 1, must be"}},
		{Config{MarkLimit: -0.1}, []string{"MarkLimit = -0.1, must be"}},
		{Config{MarkLimit: math.Inf(1)}, []string{"MarkLimit = +Inf, must be"}},
	} {
		err := tc.config.Validate()
		require.ErrorIs(t, err, aqm.ErrConfig, "%+v", tc.config)
		for _, part := range tc.parts {
			assert.ErrorContains(t, err, part)
		}
	}
	for _, c := range everyConfig() {
		assert.NoError(t, c.Validate(), "%+v", c)
	}
	assert.NoError(t, Config{Protect: All, BudgetRate: math.MaxUint64, BudgetBurst: MaxBudgetBurst}.Validate())
	assert.NoError(t, Config{Protect: ACKSYN, IgnoreECN: true}.Validate(), "IgnoreECN wins")

	p, err := New(nil, Config{MarkLimit: 2})
	assert.Nil(t, p)
	require.ErrorIs(t, err, aqm.ErrConfig)
	assert.ErrorContains(t, err, "ecnpolicy: inner = nil, must be an algorithm")
	assert.ErrorContains(t, err, "MarkLimit = 2")
	_, err = New((*Policy)(nil), Config{})
	assert.ErrorContains(t, err, "ecnpolicy: inner = nil", "a nil pointer, such as a failed New returns")
	_, err = New(nil, Config{})
	assert.ErrorIs(t, err, aqm.ErrConfig)
}

func TestReconfigure(t *testing.T) {
	reason := aqm.Early
	in := &inner{reason: func() aqm.Reason { return reason }}
	c := Config{Protect: ACKSYN, Carry: true, MarkLimit: 0.5, BudgetRate: 8000, BudgetBurst: 1000}
	p := around(t, in, c)
	const second = aqm.Time(time.Second)
	for range 5 {
		p.Enqueue(second, packet(aqm.NotECT, aqm.PureACK), aqm.Occupancy{})
		p.Enqueue(second, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{})
	}
	was := p.State()
	require.Equal(t, uint32(5), was.Pending)
	require.Equal(t, 800.0, was.Tokens)
	require.NotZero(t, was.MarkShare)

	require.ErrorIs(t, p.Reconfigure(Config{MarkLimit: 7}), aqm.ErrConfig)
	assert.Equal(t, was, p.State(), "a refused configuration changes nothing")
	assert.Equal(t, pass, p.Dequeue(second, packet(aqm.NotECT, aqm.PureACK), aqm.Occupancy{}), "the old one stands")
	was = p.State()
	require.NoError(t, p.Reconfigure(c))
	assert.Equal(t, was, p.State(), "the same again changes nothing")

	c.BudgetBurst, c.MarkLimit = 500, 0.25
	require.NoError(t, p.Reconfigure(c))
	was.Tokens = 500
	assert.Equal(t, was, p.State(), "tokens are what the new burst holds")
	c.BudgetBurst, c.BudgetRate = 2000, 16000
	require.NoError(t, p.Reconfigure(c))
	assert.Equal(t, was, p.State(), "and are not given")
	reason = aqm.None
	p.Dequeue(second+second/10, packet(aqm.NotECT, aqm.Data), aqm.Occupancy{})
	assert.Equal(t, 700.0, p.State().Tokens, "0.1 s at the new rate")
	c.BudgetRate = 8
	require.NoError(t, p.Reconfigure(c))
	assert.Equal(t, 700.0, p.State().Tokens, "what accrued before stays")

	c.IgnoreECN = true
	was = p.State()
	require.NoError(t, p.Reconfigure(c))
	p.Enqueue(second+second/10, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{})
	assert.Equal(t, was, p.State(), "IgnoreECN sets it all aside")
	c.IgnoreECN = false
	require.NoError(t, p.Reconfigure(c))
	assert.Equal(t, markEarly, p.Dequeue(second+second/10, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{}), "and gives it back")

	was = p.State()
	require.NoError(t, p.Reconfigure(Config{Protect: ACKSYN}))
	s := p.State()
	assert.Equal(t, State{Protected: 6, ProtectedBytes: 240, Carried: 1, Lost: uint64(was.Pending)}, s, "nothing is kept of what is off")
	require.NoError(t, p.Reconfigure(c))
	assert.Equal(t, 2000.0, p.State().Tokens, "a new budget is full")
	assert.Zero(t, p.State().Pending)
	assert.Zero(t, p.State().MarkShare)
}

func TestUnwrap(t *testing.T) {
	in := says(aqm.None)
	p := around(t, in, Config{})
	assert.Same(t, in, p.Unwrap())
	assert.Same(t, p, around(t, p, DefaultConfig()).Unwrap())
}

// TestNesting has policies around policies: the outer one sees the inner's verdicts.
func TestNesting(t *testing.T) {
	in := says(aqm.Forced)
	ack, data := packet(aqm.NotECT, aqm.PureACK), packet(aqm.ECT0, aqm.Data)

	p := around(t, around(t, in, Config{MarkForced: true}), DefaultConfig())
	assert.Equal(t, pass, p.Enqueue(1, ack, aqm.Occupancy{}))
	assert.Equal(t, markForced, p.Enqueue(1, data, aqm.Occupancy{}))

	p = around(t, around(t, in, DefaultConfig()), Config{IgnoreECN: true})
	assert.Equal(t, pass, p.Enqueue(1, ack, aqm.Occupancy{}), "NotECT in both")
	assert.Equal(t, dropForced, p.Enqueue(1, data, aqm.Occupancy{}), "data is not protected inside")

	limited := around(t, says(aqm.Early), Config{MarkLimit: 1e-9})
	p = around(t, limited, Config{MarkForced: true})
	for _, want := range []aqm.Verdict{markEarly, markForced, markForced} {
		assert.Equal(t, want, p.Enqueue(1, data, aqm.Occupancy{}), "an outer MarkForced undoes an inner MarkLimit")
	}

	// The inner Policy takes what the outer one shows as ECT(0) for a packet that can
	// carry, and the outer one carries that signal on.
	reason := aqm.Early
	carrying := Config{Protect: aqm.PureACK, Carry: true}
	inside := around(t, &inner{reason: func() aqm.Reason { return reason }}, carrying)
	inside.Enqueue(1, ack, aqm.Occupancy{})
	outside := around(t, inside, Config{Protect: aqm.SYN, Carry: true})
	reason = aqm.None
	assert.Equal(t, pass, outside.Enqueue(1, packet(aqm.NotECT, aqm.SYN), aqm.Occupancy{}))
	assert.Equal(t, [2]uint32{0, 1}, [2]uint32{inside.State().Pending, outside.State().Pending})
	assert.Equal(t, markEarly, outside.Enqueue(1, data, aqm.Occupancy{}))
}

// TestHostileInput survives what the contract allows a caller, and says nothing that
// the contract forbids.
func TestHostileInput(t *testing.T) {
	times := []aqm.Time{math.MaxInt64, math.MinInt64, 0, -1, math.MaxInt64}
	for _, c := range everyConfig() {
		p := around(t, mostly(1, 0.4, 0.3), c)
		for i := range 2000 {
			now := times[i%len(times)]
			pkt := aqm.Packet{
				EnqueuedAt: times[i%3], Size: []uint32{0, 1, 40, math.MaxUint32}[i%4],
				ECN: aqm.ECN(i), Class: aqm.Class(i / 3),
			}
			q := aqm.Occupancy{Packets: math.MinInt + i, Bytes: math.MaxInt64, Full: i%50 == 0}
			for _, v := range []aqm.Verdict{p.Enqueue(now, pkt, q), p.Dequeue(now, pkt, q)} {
				if (v.Action == aqm.Pass) != (v.Reason == aqm.None) || v.Action == aqm.Mark && (!pkt.ECN.Capable() || c.IgnoreECN) {
					t.Fatalf("%+v: %v of %+v", c, v, pkt)
				}
			}
			s := p.State()
			if !(s.Tokens >= 0 && s.Tokens <= float64(c.BudgetBurst) && s.MarkShare >= 0 && s.MarkShare <= 1) {
				t.Fatalf("%+v: %+v", c, s)
			}
		}
	}
}

// TestAllocations judges packets through every rule.
func TestAllocations(t *testing.T) {
	c := Config{Protect: ACKSYN, Carry: true, MarkForced: true, MarkLimit: 0.1, BudgetRate: 1e6, BudgetBurst: 3000}
	p := around(t, &redlike{}, c)
	allocs := testing.AllocsPerRun(1, func() {
		for i := range 20_000 {
			pkt := aqm.Packet{Size: 40, ECN: aqm.ECN(i % 4), Class: aqm.Class(1) << (i % 8)}
			p.Enqueue(aqm.Time(i)*1000, pkt, aqm.Occupancy{Packets: i % 40, Full: i%100 == 0})
			p.Dequeue(aqm.Time(i)*1000, pkt, aqm.Occupancy{})
		}
	})
	assert.Zero(t, allocs)
	s := p.State()
	assert.True(t, s.Protected > 0 && s.Denied > 0 && s.Carried > 0 && s.Limited > 0, "%+v: a rule was not reached", s)
}

// everyConfig returns every combination of rules.
func everyConfig() []Config {
	var all []Config
	for i := range 1 << 7 {
		on := func(bit int) bool { return i>>bit&1 != 0 }
		c := Config{MarkForced: on(0), IgnoreECN: on(1), Carry: on(2)}
		c.Protect = []aqm.Class{0, ACKSYN, All, ECEBit}[i>>3&3]
		if on(5) {
			c.MarkLimit = 0.2
		}
		if on(6) {
			c.BudgetRate, c.BudgetBurst = 1e6, 3000
		}
		if c.Protect == 0 && (c.Carry || c.BudgetRate > 0) {
			continue
		}
		all = append(all, c)
	}
	return all
}

// TestManyPackets counts beyond 2^32 signals, and their bytes.
func TestManyPackets(t *testing.T) {
	p := around(t, says(aqm.Early), Config{Protect: ACKSYN, Carry: true, MarkLimit: 0.9})
	const many = 1<<32 - 1
	p.protected, p.carried, p.lost, p.limited = aqm.Count{Packets: 3 * many, Bytes: 40 * many}, many, 2*many, many
	for range MaxPending + 2 {
		assert.Equal(t, pass, p.Enqueue(1, packet(aqm.NotECT, aqm.PureACK), aqm.Occupancy{}))
	}
	s := p.State()
	assert.Equal(t, uint64(3*many+MaxPending+2), s.Protected)
	assert.Equal(t, uint64(40*(many+MaxPending+2)), s.ProtectedBytes)
	assert.Equal(t, uint64(2*many+2), s.Lost)
	assert.Equal(t, s.Protected, s.Carried+s.Lost+uint64(s.Pending))

	// The share of marks is the same after any number of packets.
	for range 100_000 {
		p.Enqueue(1, packet(aqm.ECT0, aqm.Data), aqm.Occupancy{})
	}
	assert.InDelta(t, 0.9, p.State().MarkShare, 1.0/1024)
	assert.Greater(t, p.State().Limited, uint64(many+5000))
}

// TestCounts counts suppressed signals at both ends where that is all there is to do
// with them, and nothing else.
func TestCounts(t *testing.T) {
	reason := aqm.Early
	p := around(t, &inner{reason: func() aqm.Reason { return reason }}, Config{Protect: ACKSYN, MarkForced: true})
	q := aqm.Occupancy{Packets: 9}
	for i, ask := range []func(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict{p.Enqueue, p.Dequeue} {
		reason = aqm.Early
		ack, syn := packet(aqm.NotECT, aqm.PureACK), packet(aqm.NotECT, aqm.SYN)
		ack.Size, syn.Size = 40, 60
		assert.Equal(t, pass, ask(1, ack, q))
		assert.Equal(t, pass, ask(1, syn, q))
		reason = aqm.Forced
		assert.Equal(t, pass, ask(2, ack, q))
		n := uint64(i + 1)
		want := State{Protected: 3 * n, ProtectedBytes: 140 * n}
		assert.Equal(t, want, p.State())

		assert.Equal(t, aqm.Mark, ask(3, packet(aqm.ECT0, aqm.Data), q).Action, "reversed, and no business of protection")
		assert.Equal(t, dropForced, ask(3, packet(aqm.NotECT, aqm.Data), q))
		reason = aqm.None
		assert.Equal(t, pass, ask(4, ack, q))
		assert.Equal(t, want, p.State())
	}
}
