package ecnpolicy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
	"github.com/aqmkit/aqmkit/pi"
	"github.com/aqmkit/aqmkit/threshold"
)

// FuzzPolicy runs a Policy and its oracle in lockstep, both around a threshold, a
// CoDel, a PI or an algorithm that is scripted by the fuzz input, or around another such
// pair: equal verdicts, equal packets shown, equal state.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte{0x07, 0x40, 10, 0x07, 0x40, 10, 0, 0x1b, 0xb2, 0xb0, 0xb1, 0xb3, 0x70, 0x28, 0x70, 0x29, 0x70, 0x28, 0x0f, 0, 0x0e, 0})
	f.Add([]byte{0x1f, 0x03, 1, 0x00, 0x00, 0, 1, 0x05, 0x73, 0xb0, 0x73, 0xb2, 0x73, 0xb0, 0x00, 0, 0x7b, 0x20, 0x7f, 0x20, 0x02, 0})
	f.Add([]byte{0x0d, 0x22, 200, 0x18, 0xff, 3, 1, 0xa5, 0x70, 0xb2, 0x70, 0x2c, 0x70, 0xb1, 0x70, 0xb3, 0x70, 0x28, 0x02, 0, 0x02, 0, 0x7d, 0x28})
	for use := range byte(1 << 6) { // every algorithm inside one and two policies, from every start
		seed := []byte{0x09, 0x00, 0, 0x0b, 0x40, 10, use&7<<4 | use>>3&3<<2 | 2 | use>>5, 0x05}
		for range 20 { // ACKs and data stand in the queue for a while
			seed = append(seed, 0x76, 0xb2, 0x76, 0x10, 0x77, 0xb1, 0x07, 0, 0x06, 0)
		}
		f.Add(append(seed, 0x61, 0x31, 0x0b, 0, 0x0b, 0, 0x0b, 0, 0x76, 0xb2))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := lockstep(data); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOracle runs long inputs of the fuzz target, which a short fuzz run does not
// come to: shares near their limit, budgets spent and filled.
func TestOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 2))
	signals := map[byte]int{}
	for i := range byte(64) {
		data := make([]byte, 1200)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		data[6] = data[6]&0xf1 | i&7<<1
		n, err := lockstep(data)
		require.NoError(t, err)
		signals[i&7] += n
	}
	t.Log(signals)
	for number := range byte(8) {
		assert.Greater(t, signals[number], 100, "number %d inside", number)
	}
}

// lockstep is an input of the fuzz target: two Configs in three bytes each, what to
// use of them, and the script with what the algorithm inside is made of. A difference
// comes with a short script that shows one. Without one, lockstep returns how many
// packets were signalled.
func lockstep(data []byte) (signals int, err error) {
	const header = 7
	if len(data) <= header {
		return 0, nil
	}
	configs := []Config{configFrom([3]byte(data))}
	if data[6]&1 != 0 {
		configs = append(configs, configFrom([3]byte(data[3:])))
	}
	starts := script.Starts(data[6] >> 4)
	if data[6]&0x80 != 0 {
		starts = []aqm.Time{math.MinInt64}
	}
	for _, start := range starts {
		err = scripttest.Check(script.Decode(data[header:], 600), func(s script.Script) (err error) {
			signals, err = compare(data, data[header:], configs, start, s)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("start %d, policies, innermost first, %+v around number %d of %x...: %w",
				start, configs, data[6]>>1&7, data[header:min(header+8, len(data))], err)
		}
	}
	return signals, nil
}

// compare runs s through policies and their oracles, both around what code has.
func compare(data, code []byte, configs []Config, start aqm.Time, s script.Script) (signals int, err error) {
	p, o, sameInner, err := inside(data[6]>>1&7, code)
	if err != nil {
		return 0, err
	}
	var policies []*Policy
	var oracles []*oracle.Policy
	for _, c := range configs {
		policy, err := New(p, c)
		if err != nil {
			return 0, err
		}
		story := naive(c)
		story.Inner = o
		p, o = policy, &story
		policies, oracles = append(policies, policy), append(oracles, &story)
	}

	agree := script.Agree(nil)
	m := script.Machine{
		Now:          start,
		LimitPackets: 40,
		Judged: func(j script.Judgement) error {
			if err := agree(j); err != nil {
				return err
			}
			if signal(j.Verdicts[0]) {
				signals++
			}
			for i, policy := range policies {
				if err := sameState(policy.State(), oracles[i]); err != nil {
					return fmt.Errorf("policy %d: %w", i, err)
				}
			}
			return sameInner()
		},
		Reconfigure: func(n int) error {
			i := n % len(policies)
			b := [3]byte(data[3*i:])
			c := configFrom([3]byte{b[0] + 37*byte(n), b[1] ^ 29*byte(n), b[2] + 11*byte(n)})
			oracles[i].Reconfigure(naive(c))
			return policies[i].Reconfigure(c)
		},
	}
	err = m.Run(s, p, o)
	return signals, err
}

// inside returns two equal algorithms to put policies around, and a function that
// compares what they were shown and what came of it: a threshold and its oracle, a
// CoDel twice, a PI twice on equal sources, or two that are scripted by code.
//
// There is no oracle of CoDel here, which is a queue of its own and knows nothing of
// the packets that a policy refuses or shows in another way.
func inside(number byte, code []byte) (fast, naive aqm.AQM, same func() error, err error) {
	size := code[0]
	switch number {
	case 1:
		c := threshold.Config{Packets: 1 + int(size%16), DropNotECT: true}
		th, err := threshold.New(c)
		return th, &oracle.Threshold{Packets: c.Packets, DropNotECT: true}, func() error { return nil }, err
	case 3:
		c := codel.Config{
			Target: time.Duration(1+size%16) * 50 * time.Microsecond, Interval: 2 * time.Millisecond, MTU: 100,
			MaxDropsPerDequeue: int(size >> 4 & 3),
		}
		if size&0x80 != 0 {
			c.CEThreshold = 2 * c.Target
		}
		return twice(func() (*codel.CoDel, error) { return codel.New(c) })
	case 5, 7:
		c := pi.Config{
			Unit: aqm.Packets, QRef: float64(size%8) + 0.5, Interval: 500 * time.Microsecond,
			MeanPacket: 500, ScaleBySize: size&8 != 0,
		}
		c.A, c.B = 0.1/c.QRef, 0.08/c.QRef
		if size&0x10 != 0 {
			c.MaxECN = 0.3
		}
		if number == 7 {
			c = c.InDelay(8_000_000)
			c.Squared = true
		}
		return twice(func() (*pi.PI, error) {
			c.Rand = rand.NewPCG(uint64(size), 1)
			return pi.New(c)
		})
	}
	a, b := &scripted{code: code}, &scripted{code: code}
	return a, b, func() error {
		if a.shown != b.shown {
			return fmt.Errorf("shown %+v and %+v", a.shown, b.shown)
		}
		return nil
	}, nil
}

// watched is an algorithm that remembers the packet it was shown last.
type watched struct {
	aqm.AQM
	shown aqm.Packet
}

func (w *watched) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	w.shown = p
	return w.AQM.Enqueue(now, p, q)
}

func (w *watched) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	w.shown = p
	return w.AQM.Dequeue(now, p, q)
}

// twice returns two of what build returns, and a function that compares their states.
func twice[S comparable, A interface {
	aqm.AQM
	State() S
}](build func() (A, error),
) (fast, naive aqm.AQM, same func() error, err error) {
	a, err := build()
	if err != nil {
		return nil, nil, nil, err
	}
	b, err := build()
	x, y := &watched{AQM: a}, &watched{AQM: b}
	return x, y, func() error {
		if x.shown != y.shown || a.State() != b.State() {
			return fmt.Errorf("shown %+v and %+v, inside %+v and %+v", x.shown, y.shown, a.State(), b.State())
		}
		return nil
	}, err
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
