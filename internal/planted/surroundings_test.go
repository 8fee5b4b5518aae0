package planted

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
)

// TestNeverDrains keeps a queue full for long: packets arrive and none departs, at
// first all at one instant. Then the queue is emptied and used a little, and after
// some time nothing is signalled any more: no algorithm stays wound up.
func TestNeverDrains(t *testing.T) {
	for _, e := range catalog.All() {
		for name, build := range map[string]catalog.Make{
			"default": e.Default, "paper": e.Paper,
			"50 Mb/s": func(src rand.Source) (aqm.AQM, error) { return e.New(50e6, 20*time.Millisecond, 8, src) },
			"policy": func(src rand.Source) (aqm.AQM, error) {
				a, err := e.Default(src)
				if err != nil {
					return nil, err
				}
				return ecnpolicy.New(a, ecnpolicy.Config{Protect: ecnpolicy.ACKSYN, Carry: true, MarkLimit: 0.5})
			},
		} {
			t.Run(e.Name+"/"+name, func(t *testing.T) {
				a, err := build(rand.NewPCG(1, 2))
				require.NoError(t, err)
				neverDrains(t, a)
			})
		}
	}
}

func neverDrains(t *testing.T, a aqm.AQM) {
	const limit = 1000
	f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: limit}, a)
	require.NoError(t, err)
	classes := []aqm.Class{aqm.Data, aqm.PureACK, aqm.SYN}
	r := rand.New(rand.NewPCG(3, 4))
	arrive := func(now aqm.Time) aqm.Verdict {
		return f.Enqueue(now, 0, aqm.Packet{Size: 1500, ECN: aqm.ECN(r.IntN(4)), Class: classes[r.IntN(3)]})
	}
	probability := func() float64 {
		if p, ok := a.(interface{ Probability() float64 }); ok {
			return p.Probability()
		}
		return 0
	}

	now := aqm.Time(0)
	for i := range 200_000 {
		if i > 100_000 {
			now = now.Add(100 * time.Microsecond)
		}
		full := f.Len() == limit
		v := arrive(now)
		if full != (v.Reason == aqm.Overflow) {
			t.Fatalf("%v with %d packets of %d", v, f.Len(), limit)
		}
		if p := probability(); !(p >= 0 && p <= 1) {
			t.Fatalf("a probability of %v", p)
		}
	}
	assert.Equal(t, uint64(200_000), f.Stats().Refused.Packets+uint64(f.Len()))

	for f.Len() > 0 {
		f.Dequeue(now)
	}
	const settled = 20_000 // seconds
	before := f.Stats()
	for i := range settled + 100 {
		if i == settled {
			before = f.Stats()
		}
		now = now.Add(time.Second)
		arrive(now)
		f.Dequeue(now.Add(time.Microsecond))
	}
	after := f.Stats()
	assert.Equal(t, before.AtEnqueue[aqm.Drop], after.AtEnqueue[aqm.Drop])
	assert.Equal(t, before.AtEnqueue[aqm.Mark], after.AtEnqueue[aqm.Mark])
	assert.Equal(t, before.AtDequeue[aqm.Mark], after.AtDequeue[aqm.Mark])
	assert.Equal(t, before.Dropped, after.Dropped)
	assert.Less(t, probability(), 1e-9)
}
