package ecnpolicy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/threshold"
)

// classes are what packets can be: each kind, without one, with ECE, and two at once.
var classes = [8]aqm.Class{
	aqm.PureACK, aqm.Data, aqm.SYN | aqm.ECE, 0,
	aqm.ECE, aqm.SYNACK, aqm.PureACK | aqm.ECE, aqm.RST | aqm.FIN,
}

// TestVectors runs the vectors that every algorithm and policy shares.
func TestVectors(t *testing.T) {
	t.Run("Q3", func(t *testing.T) {
		const slot = 100 * time.Microsecond
		algorithms := map[string]func() aqm.AQM{
			"redlike":   func() aqm.AQM { return &redlike{} },
			"codellike": func() aqm.AQM { return &codellike{} },
			"random":    func() aqm.AQM { return mostly(3, 0.3, 0.2) },
			"threshold": func() aqm.AQM {
				th, err := threshold.New(threshold.Config{Packets: 8, DropNotECT: true})
				require.NoError(t, err)
				return th
			},
		}
		signals := 0
		for name, mk := range algorithms {
			for _, c := range everyConfig() {
				for _, load := range []float64{0.5, 1, 2} {
					// The codepoints of the second run are those of the first with ECT(0) and
					// ECT(1) exchanged.
					var histories [2][]aqm.Verdict
					for swap := range 2 {
						spy := &spy{AQM: around(t, mk(), c)}
						f, err := aqm.NewFIFO(aqm.FIFOConfig[aqm.ECN]{LimitPackets: 50}, spy)
						require.NoError(t, err)
						r := rand.New(rand.NewPCG(5, 5))
						for i := range 300 {
							now := aqm.Time(i) * aqm.Time(slot)
							for range 4 {
								e, class := aqm.ECN(r.IntN(4)), classes[r.IntN(len(classes))]
								if r.Float64() >= load/4*1.5 {
									continue
								}
								if swap == 1 && (e == aqm.ECT0 || e == aqm.ECT1) {
									e ^= aqm.CE
								}
								f.Enqueue(now, e, packet(e, class))
							}
							was, p, ok := f.Dequeue(now)
							if ok && p.ECN != was && (p.ECN != aqm.CE || !was.Capable()) {
								t.Fatalf("%s, %+v: %v became %v", name, c, was, p.ECN)
							}
						}
						if spy.broken != "" {
							t.Fatalf("%s, %+v: %s", name, c, spy.broken)
						}
						histories[swap] = spy.verdicts
						for _, v := range spy.verdicts {
							if v != pass {
								signals++
							}
						}
					}
					require.Equal(t, histories[0], histories[1], "%s, %+v: ECT(0) and ECT(1) differ", name, c)
				}
			}
		}
		assert.Greater(t, signals, 10_000, "the loads bring out signals")
	})
}

// spy remembers an algorithm's verdicts, and the first mark of a NotECT packet.
type spy struct {
	aqm.AQM
	verdicts []aqm.Verdict
	broken   string
}

func (s *spy) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return s.note(p, s.AQM.Enqueue(now, p, q))
}

func (s *spy) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return s.note(p, s.AQM.Dequeue(now, p, q))
}

func (s *spy) note(p aqm.Packet, v aqm.Verdict) aqm.Verdict {
	s.verdicts = append(s.verdicts, v)
	if v.Action == aqm.Mark && p.ECN == aqm.NotECT && s.broken == "" {
		s.broken = fmt.Sprintf("%v of %+v", v, p)
	}
	return v
}

// TestForgedACKs floods a queue with twice what its link carries, in packets that
// call themselves pure ACKs. Unprotected they are held at the algorithm's limit,
// protected they fill the buffer, and with a budget they are held at the limit again.
func TestForgedACKs(t *testing.T) {
	const (
		slot  = 100 * time.Microsecond
		slots = 20_000
		limit = 31 // redlike drops what finds more than 30
		rate  = 100_000
		burst = 4000
	)
	for _, tc := range []struct {
		name        string
		config      Config
		least, most int // packets in the second half
	}{
		{"unprotected", Config{}, 0, limit},
		{"protected", Config{Protect: ACKSYN}, 1000, 1000},
		{"budget", Config{Protect: ACKSYN, BudgetRate: rate, BudgetBurst: burst}, 0, limit + 1},
		{"budget and Carry", Config{Protect: ACKSYN, Carry: true, BudgetRate: rate, BudgetBurst: burst}, 0, limit + 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := around(t, &redlike{}, tc.config)
			f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 1000}, p)
			require.NoError(t, err)
			least, most := 1000, 0
			for i := range slots {
				now := aqm.Time(i) * aqm.Time(slot)
				f.Enqueue(now, i, packet(aqm.NotECT, aqm.PureACK))
				f.Enqueue(now, i, packet(aqm.NotECT, aqm.PureACK))
				if i > slots/2 {
					least, most = min(least, f.Len()), max(most, f.Len())
				}
				f.Dequeue(now)
			}
			assert.GreaterOrEqual(t, least, tc.least)
			assert.LessOrEqual(t, most, tc.most)
			if tc.config.BudgetRate > 0 {
				s := p.State()
				seconds := (slots * slot).Seconds()
				assert.LessOrEqual(t, float64(s.ProtectedBytes), burst+rate*seconds/8)
				assert.Greater(t, float64(s.ProtectedBytes), burst+rate*seconds/8-2*40, "the budget is given")
				assert.NotZero(t, s.Denied)
			}
		})
	}
}

// TestCarryKeepsTheSignals runs data and its opposite direction's ACKs, half and
// half, through a queue that signals to every third packet: protection halves the
// signals, and Carry brings them back.
func TestCarryKeepsTheSignals(t *testing.T) {
	marks := func(c Config) uint64 {
		f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 100}, around(t, &redlike{}, c))
		require.NoError(t, err)
		for i := range 30_000 {
			e, class := aqm.ECT0, aqm.Data
			if i%2 != 0 {
				e, class = aqm.NotECT, aqm.PureACK
			}
			if f.Len() < 20 {
				f.Enqueue(aqm.Time(i), i, packet(e, class))
				continue
			}
			f.Dequeue(aqm.Time(i))
			f.Enqueue(aqm.Time(i), i, packet(e, class))
		}
		return f.Stats().Marked.Packets
	}
	const third = 30_000 / 3
	assert.InDelta(t, third/2, marks(Config{}), 10, "the other half are drops")
	assert.InDelta(t, third/2, marks(Config{Protect: ACKSYN}), 10)
	assert.InDelta(t, third, marks(Config{Protect: ACKSYN, Carry: true}), 20)
}

// TestProtectedAtBothEnds sees a packet that is stored as NotECT recognised at
// Dequeue, and one marked at Enqueue offered as CE.
func TestProtectedAtBothEnds(t *testing.T) {
	in := says(aqm.Early)
	f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 10}, around(t, in, DefaultConfig()))
	require.NoError(t, err)
	assert.Equal(t, pass, f.Enqueue(1, 1, packet(aqm.NotECT, aqm.PureACK)))
	assert.Equal(t, markEarly, f.Enqueue(1, 2, packet(aqm.ECT1, aqm.Data)))
	_, p, ok := f.Dequeue(2)
	assert.True(t, ok)
	assert.Equal(t, aqm.NotECT, p.ECN)
	assert.Equal(t, aqm.ECT0, in.lastShown().ECN)
	_, p, ok = f.Dequeue(2)
	assert.True(t, ok)
	assert.Equal(t, aqm.CE, p.ECN)
	assert.Equal(t, aqm.CE, in.lastShown().ECN)
	assert.Equal(t, uint64(1), f.Stats().Marked.Packets)
}

// TestIgnoreECNAndCEThreshold has CoDel's ce_threshold, which marks by a rule of its
// own that never drops. A policy that rewrote marks into drops would lose packets at
// it; one that shows NotECT does not.
func TestIgnoreECNAndCEThreshold(t *testing.T) {
	c := codel.DefaultConfig()
	c.CEThreshold = c.Target / 5
	sojourn := c.Target / 2
	for _, tc := range []struct {
		config Config
		want   aqm.Verdict
	}{
		{Config{}, markEarly},
		{Config{IgnoreECN: true}, pass},
	} {
		cd, err := codel.New(c)
		require.NoError(t, err)
		p := around(t, cd, tc.config)
		now := aqm.Time(time.Second)
		for range 1000 {
			pkt := packet(aqm.ECT0, aqm.Data)
			require.Equal(t, pass, p.Enqueue(now, pkt, aqm.Occupancy{Packets: 50, Bytes: 75_000}))
			pkt.EnqueuedAt = now.Add(-sojourn)
			require.Equal(t, tc.want, p.Dequeue(now, pkt, aqm.Occupancy{Packets: 50, Bytes: 75_000}))
			now = now.Add(time.Millisecond)
		}
	}
}
