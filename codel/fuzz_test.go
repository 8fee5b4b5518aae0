package codel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
)

// FuzzCoDel runs a CoDel in lockstep with the RFC's queue, which drops in loops of
// its own: equal verdicts, and equal state after every delivery.
func FuzzCoDel(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(standingBytes(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4 {
			return
		}
		c, start := decodeConfig([4]byte(data))
		if _, err := lockstep(c, start, script.Decode(data[4:], 4096)); err != nil {
			t.Fatal(err)
		}
	})
}

// decodeConfig turns any bytes into a valid configuration, and an instant to start at.
func decodeConfig(b [4]byte) (Config, aqm.Time) {
	interval := []time.Duration{1, time.Millisecond, 5 * time.Millisecond, 100 * time.Millisecond}[b[0]&3]
	c := Config{
		Target:             max(1, interval/time.Duration(1+b[0]>>2)),
		Interval:           interval,
		MTU:                []uint32{1, 72, 1514, 9000}[b[1]&3],
		MaxDropsPerDequeue: int(b[1] >> 2 & 3),
	}
	c.CEThreshold = []time.Duration{0, 1, c.Target / 2, 3 * c.Target}[b[2]&3]
	return c, script.Start(b[3] % 6)
}

// standingBytes returns bytes that decode into a script with a standing queue of
// ECN-capable packets and others, drained now and then.
func standingBytes(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	data := []byte{byte(1+r.IntN(3)) | byte(r.IntN(20))<<2, byte(r.IntN(16)), byte(r.IntN(4)), byte(r.IntN(6))}
	for range 40 {
		n, arrive := 10+r.IntN(60), r.IntN(10)
		notECT := r.IntN(4)
		for range n {
			kind := byte(r.IntN(6)) << 4 // Depart
			if r.IntN(10) < arrive {
				kind = 0x80 // Arrive
			}
			wait := byte(r.IntN(9))
			switch r.IntN(60) {
			case 0:
				wait = byte(9 + r.IntN(7)) // long, or back
			case 1:
				data = append(data, 0x60|wait, []byte{0, byte(r.IntN(256))}[r.IntN(2)]) // Flush, or another change
			}
			ecn := byte(0)
			if r.IntN(4) < notECT {
				ecn = byte(r.IntN(4))
			}
			data = append(data, kind|wait, byte(r.IntN(16))<<4|ecn)
		}
	}
	return data
}

// reached counts what a lockstep run came through.
type reached struct {
	delivered, dropped, marked, manyDrops, resumed, bounded, flushedDropping, back, reconfigured int
}

// lockstep runs s from start on and returns the first difference, with a short script
// that shows one.
func lockstep(c Config, start aqm.Time, s script.Script) (n reached, err error) {
	err = scripttest.Check(s, func(s script.Script) (err error) {
		n, err = compare(c, start, s)
		return err
	})
	if err != nil {
		return n, fmt.Errorf("config %+v, start %d: %w", c, start, err)
	}
	return n, nil
}

// compare is lockstep on s alone. Reconfigurations choose among the configurations
// that are around c.
func compare(c Config, start aqm.Time, s script.Script) (n reached, err error) {
	d, err := New(c)
	if err != nil {
		return n, err
	}
	o := &oracle.CoDel{}
	set := func(c Config) {
		o.Target, o.Interval, o.MaxPacket = c.Target, c.Interval, int64(c.MTU)
		o.CEThreshold, o.MaxDrops = c.CEThreshold, c.MaxDropsPerDequeue
	}
	set(c)
	drops, step := 0, -1 // of the dequeue under way
	judged := func(j script.Judgement) error {
		if !j.AtDequeue {
			return nil
		}
		if j.Step != step {
			drops, step = 0, j.Step
		}
		switch j.Verdicts[0].Action {
		case aqm.Drop:
			n.dropped++
			if drops++; drops == 2 {
				n.manyDrops++
			}
			return nil
		case aqm.Mark:
			n.marked++
		}
		n.delivered++
		if !o.Settled() {
			return fmt.Errorf("delivered, where it is to be dropped")
		}
		count, lastCount, dropNext, dropping := o.Vars()
		got := d.State()
		if uint64(got.Count) != count || uint64(got.LastCount) != lastCount || got.Dropping != dropping || count > 0 && got.DropNext != dropNext {
			return fmt.Errorf("state %+v, want count %d, last %d, next %d, dropping %t", got, count, lastCount, dropNext, dropping)
		}
		return nil
	}
	agree := script.Agree(nil)
	m := script.Machine{
		Now: start, LimitPackets: 60,
		Judged: func(j script.Judgement) error {
			if err := agree(j); err != nil {
				return err
			}
			return judged(j)
		},
		Reconfigure: func(i int) error {
			n.reconfigured++
			near := around(c, i)
			set(near)
			return d.Reconfigure(near)
		},
	}
	for i := range s {
		switch {
		case s[i].Wait < 0:
			n.back++
		case s[i].Kind == script.Flush && d.State().Dropping:
			n.flushedDropping++
		}
		if err := m.Run(s[i:i+1], d, o); err != nil {
			return n, fmt.Errorf("at %d: %w", i, err)
		}
		step = -1
	}
	n.resumed, n.bounded = o.Resumed, o.Bounded
	return n, nil
}

// around returns a configuration that is c but for what the bits of i say.
func around(c Config, i int) Config {
	if i&1 != 0 {
		c.MTU = 1 + c.MTU/2
	}
	if i&2 != 0 {
		c.Target = 1 + c.Target/3
	}
	if i&4 != 0 {
		c.Interval *= 3
	}
	if i&8 != 0 {
		c.CEThreshold, c.MaxDropsPerDequeue = c.CEThreshold/2, c.MaxDropsPerDequeue^1
	}
	return c
}

// TestOracle runs the fuzz target's seeds and longer random scripts, and sees
// that between them they come through every branch of the law.
func TestOracle(t *testing.T) {
	var sum reached
	add := func(n reached) {
		sum.delivered += n.delivered
		sum.dropped += n.dropped
		sum.marked += n.marked
		sum.manyDrops += n.manyDrops
		sum.resumed += n.resumed
		sum.bounded += n.bounded
		sum.flushedDropping += n.flushedDropping
		sum.back += n.back
		sum.reconfigured += n.reconfigured
	}
	for seed := range uint64(64) {
		data := standingBytes(seed)
		c, start := decodeConfig([4]byte(data))
		n, err := lockstep(c, start, script.Decode(data[4:], 4096))
		require.NoError(t, err, "seed %d, %+v", seed, c)
		add(n)
	}
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := Config{
			Target: 5 * time.Millisecond, Interval: 100 * time.Millisecond, MTU: 1514,
			CEThreshold: []time.Duration{0, time.Millisecond, 40 * time.Millisecond}[seed%3], MaxDropsPerDequeue: int(seed % 2),
		}
		s := script.Random(r, 20_000, 500*time.Microsecond)
		if seed%4 < 2 { // without ECN
			for i := range s {
				s[i].ECN = aqm.NotECT
			}
		}
		n, err := lockstep(c, aqm.Time(seed)*-1e9, append(script.Script{{Kind: script.LimitPackets, N: 500}}, s...))
		require.NoError(t, err, "seed %d, %+v", seed, c)
		add(n)
	}
	t.Logf("%+v", sum)
	assert.Greater(t, sum.delivered, 100_000)
	assert.Greater(t, sum.dropped, 1000)
	assert.Greater(t, sum.marked, 1000)
	assert.Greater(t, sum.manyDrops, 100, "dequeues that dropped several")
	assert.Greater(t, sum.resumed, 30, "re-entries at a count above 1")
	assert.Greater(t, sum.bounded, 50, "dequeues cut short by MaxDropsPerDequeue")
	assert.Greater(t, sum.flushedDropping, 20, "flushes in the dropping state")
	assert.Greater(t, sum.back, 20, "backward steps")
	assert.Greater(t, sum.reconfigured, 20)
}
