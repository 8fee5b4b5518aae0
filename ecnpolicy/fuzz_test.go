package ecnpolicy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/threshold"
)

// FuzzPolicy runs a Policy and its oracle in lockstep, both around a threshold or an
// algorithm that is scripted by the fuzz input, or around another such pair: equal
// verdicts, equal packets shown, equal state.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte{0x07, 0x40, 10, 0x07, 0x40, 10, 0, 0x1b, 0xb2, 0xb0, 0xb1, 0xb3, 0x70, 0x28, 0x70, 0x29, 0x70, 0x28, 0x0f, 0, 0x0e, 0})
	f.Add([]byte{0x1f, 0x03, 1, 0x00, 0x00, 0, 1, 0x05, 0x73, 0xb0, 0x73, 0xb2, 0x73, 0xb0, 0x00, 0, 0x7b, 0x20, 0x7f, 0x20, 0x02, 0})
	f.Add([]byte{0x0d, 0x22, 200, 0x18, 0xff, 3, 1, 0xa5, 0x70, 0xb2, 0x70, 0x2c, 0x70, 0xb1, 0x70, 0xb3, 0x70, 0x28, 0x02, 0, 0x02, 0, 0x7d, 0x28})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := lockstep(data); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOracle runs long inputs of the fuzz target, which a short fuzz run does not
// come to: shares near their limit, budgets spent and filled.
func TestOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 2))
	for range 60 {
		data := make([]byte, 1200)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		require.NoError(t, lockstep(data))
	}
}

// lockstep is an input of the fuzz target: two Configs in three bytes each, what to
// use of them, and the script with the answers of the algorithm inside.
func lockstep(data []byte) error {
	const header = 7
	if len(data) <= header {
		return nil
	}
	configs := []Config{configFrom([3]byte(data))}
	if data[6]&1 != 0 {
		configs = append(configs, configFrom([3]byte(data[3:])))
	}
	inner, innerOracle, sameInner, err := inside(data[6]&2 != 0, data[header:])
	if err != nil {
		return err
	}
	var p, o aqm.AQM = inner, innerOracle
	var policies []*Policy
	var oracles []*oracle.Policy
	for _, c := range configs {
		policy, err := New(p, c)
		if err != nil {
			return err
		}
		story := naive(c)
		story.Inner = o
		p, o = policy, &story
		policies, oracles = append(policies, policy), append(oracles, &story)
	}

	s := script.Decode(data[header:], 600)
	m := script.Machine{
		LimitPackets: 40,
		Judged: script.Agree(func() error {
			for i, policy := range policies {
				if err := sameState(policy.State(), oracles[i]); err != nil {
					return fmt.Errorf("policy %d: %w", i, err)
				}
			}
			return sameInner()
		}),
		Reconfigure: func(n int) error {
			i := n % len(policies)
			b := [3]byte(data[3*i:])
			c := configFrom([3]byte{b[0] + 37*byte(n), b[1] ^ 29*byte(n), b[2] + 11*byte(n)})
			oracles[i].Reconfigure(naive(c))
			return policies[i].Reconfigure(c)
		},
	}
	if data[6]&0x80 != 0 {
		m.Now = math.MinInt64
	}
	if err := m.Run(s, p, o); err != nil {
		return fmt.Errorf("configs, innermost first, %+v: %w\n%v", configs, err, s)
	}
	return nil
}

// inside returns two equal algorithms to put policies around: a threshold and its
// oracle, or two that are scripted by code; and a function that compares what they
// were shown.
func inside(real bool, code []byte) (fast, naive aqm.AQM, same func() error, err error) {
	if real {
		c := threshold.Config{Packets: 1 + int(code[0]%16), DropNotECT: true}
		th, err := threshold.New(c)
		return th, &oracle.Threshold{Packets: c.Packets, DropNotECT: true}, func() error { return nil }, err
	}
	a, b := &scripted{code: code}, &scripted{code: code}
	return a, b, func() error {
		if a.shown != b.shown {
			return fmt.Errorf("shown %+v and %+v", a.shown, b.shown)
		}
		return nil
	}, nil
}

func naive(c Config) oracle.Policy {
	return oracle.Policy{
		Protect: c.Protect, Carry: c.Carry, MaxPending: MaxPending, MarkForced: c.MarkForced, IgnoreECN: c.IgnoreECN,
		MarkLimit: c.MarkLimit, BudgetRate: c.BudgetRate, BudgetBurst: c.BudgetBurst,
	}
}

func sameState(s State, o *oracle.Policy) error {
	want := State{Pending: uint32(o.Pending()), Tokens: s.Tokens, MarkShare: s.MarkShare}
	if o.BudgetRate > 0 {
		tokens, _ := o.Tokens().Float64()
		want.Tokens = tokens / 8e9
	}
	if o.MarkLimit > 0 {
		if want.MarkShare = o.MarkShare(); math.Abs(want.MarkShare-s.MarkShare) < 1e-12 {
			want.MarkShare = s.MarkShare
		}
	}
	got := State{Pending: s.Pending, Tokens: s.Tokens, MarkShare: s.MarkShare}
	if got != want {
		return fmt.Errorf("state %+v, by the oracle %+v", got, want)
	}
	if int(s.Lost) != o.Lost || int(s.Carried) != o.Given {
		return fmt.Errorf("lost %d and carried %d signals, by the oracle %d and %d", s.Lost, s.Carried, o.Lost, o.Given)
	}
	return nil
}

// configFrom makes any three bytes a valid Config. The limits are no sums of
// 1023/1024's powers, so that no share comes to lie on one.
func configFrom(b [3]byte) Config {
	c := Config{
		Protect:    []aqm.Class{0, ACKSYN, ECEBit, All, aqm.Other, aqm.PureACK, aqm.Data | aqm.SYN, aqm.ECE | aqm.RST}[b[0]&7],
		MarkForced: b[0]&0x10 != 0,
		IgnoreECN:  b[0]&0xe0 == 0xe0, // seldom: it hides the rest
	}
	if b[1]&3 != 0 {
		c.MarkLimit = float64(int(b[1])+1) / 257 / []float64{1, 1, 16, 256}[b[1]&3]
	}
	if c.Protect != 0 {
		c.Carry = b[0]&8 != 0
		if b[2] != 0 {
			c.BudgetRate = []uint64{1, 8000, 1e6, 1e9}[b[2]&3]
			c.BudgetBurst = MinBudgetBurst + uint32(b[2]>>2)*50
		}
	}
	return c
}

// scripted is an algorithm whose answers come from bytes, over and over: mostly by
// the contract, and for some bytes not.
type scripted struct {
	code  []byte
	next  int
	shown aqm.Packet
}

func (s *scripted) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	v := s.answer(p)
	if q.Full {
		v = overflow
	}
	return v
}

func (s *scripted) Dequeue(_ aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	return s.answer(p)
}

func (s *scripted) answer(p aqm.Packet) aqm.Verdict {
	s.shown = p
	b := s.code[s.next%len(s.code)]
	s.next++
	switch b % 8 {
	case 0, 1:
		return pass
	case 2, 3, 4:
		return aqm.MarkOrDrop(p.ECN, aqm.Early)
	case 5:
		return aqm.MarkOrDrop(p.ECN, aqm.Forced)
	case 6:
		return dropEarly // of an ECN-capable packet too
	}
	return markForced // of any packet
}
