package codel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
)

// FuzzCoDel runs a CoDel under an aqm.FIFO in lockstep with the RFC's queue, which
// drops in loops of its own: the same packets delivered, marked and dropped, in the
// same order.
func FuzzCoDel(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(standingBytes(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4 {
			return
		}
		c, start := decodeConfig([4]byte(data))
		s := script.Decode(data[4:], 4096)
		if _, err := lockstep(c, start, 60, s); err != nil {
			t.Fatalf("config %+v, start %d: %v\n%v", c, start, err, s)
		}
	})
}

// decodeConfig turns any bytes into a valid configuration, and an instant to start
// at: the ends of time and both sides of zero among them.
func decodeConfig(b [4]byte) (Config, aqm.Time) {
	interval := []time.Duration{1, time.Millisecond, 5 * time.Millisecond, 100 * time.Millisecond}[b[0]&3]
	c := Config{
		Target:             max(1, interval/time.Duration(1+b[0]>>2)),
		Interval:           interval,
		MTU:                []uint32{1, 72, 1514, 9000}[b[1]&3],
		MaxDropsPerDequeue: int(b[1] >> 2 & 3),
	}
	c.CEThreshold = []time.Duration{0, 1, c.Target / 2, 3 * c.Target}[b[2]&3]
	start := []aqm.Time{0, -1_000_000, 1 << 40, math.MinInt64, math.MaxInt64 - 50_000_000, math.MaxInt64}[b[3]%6]
	return c, start
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
				kind = 0x60 // Flush
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
	delivered, dropped, marked, manyDrops, resumed, bounded, flushedDropping, back int
}

// rawClock hands the algorithm the script's own time, which may step back, where
// the FIFO would hand it the largest so far.
type rawClock struct {
	aqm.AQM
	now aqm.Time
}

func (r *rawClock) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return r.AQM.Enqueue(r.now, p, q)
}

func (r *rawClock) Dequeue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return r.AQM.Dequeue(r.now, p, q)
}

// lockstep runs s, and returns the first difference.
func lockstep(c Config, start aqm.Time, limit int, s script.Script) (n reached, err error) {
	d, err := New(c)
	if err != nil {
		return n, err
	}
	raw := &rawClock{AQM: d, now: start}
	var dropped []int
	var verdicts []aqm.Verdict
	fifo, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: limit, OnDrop: func(id int, _ aqm.Packet, v aqm.Verdict) {
		dropped, verdicts = append(dropped, id), append(verdicts, v)
	}}, raw)
	if err != nil {
		return n, err
	}
	o := &oracle.CoDelQueue{
		Target: c.Target, Interval: c.Interval, MaxPacket: int64(c.MTU),
		Limit: limit, CEThreshold: c.CEThreshold, MaxDrops: c.MaxDropsPerDequeue,
	}
	for i, op := range s {
		raw.now = raw.now.Add(op.Wait)
		if op.Wait < 0 {
			n.back++
		}
		switch op.Kind {
		case script.Arrive:
			v := fifo.Enqueue(raw.now, i, aqm.Packet{Size: op.Size, ECN: op.ECN, Class: op.Class})
			want := aqm.Verdict{}
			if !o.Enqueue(raw.now, oracle.CoDelPacket{ID: i, Size: op.Size, ECN: op.ECN}) {
				want = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
			}
			if v != want {
				return n, fmt.Errorf("step %d: Enqueue said %v, want %v", i, v, want)
			}
		case script.Flush:
			if d.State().Dropping && fifo.Len() > 0 {
				n.flushedDropping++
			}
			fifo.Flush(nil)
			o.Flush()
		case script.Depart:
			dropped, verdicts = nil, nil
			marksBefore := fifo.Stats().AtDequeue[aqm.Mark]
			id, p, ok := fifo.Dequeue(raw.now)
			marks := fifo.Stats().AtDequeue[aqm.Mark]
			want := o.Dequeue(raw.now)
			if !slices.Equal(dropped, want.Dropped) {
				return n, fmt.Errorf("step %d: dropped %v, want %v", i, dropped, want.Dropped)
			}
			for _, v := range verdicts {
				if v != (aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}) {
					return n, fmt.Errorf("step %d: dropped with %v", i, v)
				}
			}
			if ok != (want.Delivered != nil) {
				return n, fmt.Errorf("step %d: delivered %t, want %t", i, ok, want.Delivered != nil)
			}
			n.dropped += len(dropped)
			if len(dropped) > 1 {
				n.manyDrops++
			}
			if !ok {
				continue
			}
			n.delivered++
			if id != want.Delivered.ID || p.ECN != want.Delivered.ECN {
				return n, fmt.Errorf("step %d: delivered %d with %v, want %d with %v", i, id, p.ECN, want.Delivered.ID, want.Delivered.ECN)
			}
			if want.Marked {
				marksBefore[aqm.Early]++
				n.marked++
			}
			if marks != marksBefore {
				return n, fmt.Errorf("step %d: marks by reason %v, want %v", i, marks, marksBefore)
			}
			count, lastCount, dropNext, dropping := o.Vars()
			got := d.State()
			if uint64(got.Count) != count || uint64(got.LastCount) != lastCount || got.Dropping != dropping || count > 0 && got.DropNext != dropNext {
				return n, fmt.Errorf("step %d: state %+v, want count %d, last %d, next %d, dropping %t", i, got, count, lastCount, dropNext, dropping)
			}
		}
	}
	n.resumed, n.bounded = o.Resumed, o.Bounded
	return n, nil
}

// TestLockstep runs the fuzz target's seeds and longer random scripts, and sees
// that between them they come through every branch of the law.
func TestLockstep(t *testing.T) {
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
	}
	for seed := range uint64(64) {
		data := standingBytes(seed)
		c, start := decodeConfig([4]byte(data))
		n, err := lockstep(c, start, 60, script.Decode(data[4:], 4096))
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
		n, err := lockstep(c, aqm.Time(seed)*-1e9, 500, s)
		require.NoError(t, err, "seed %d, %+v", seed, c)
		add(n)
	}
	t.Logf("%+v", sum)
	assert.Greater(t, sum.delivered, 100_000)
	assert.Greater(t, sum.dropped, 1000)
	assert.Greater(t, sum.marked, 1000)
	assert.Greater(t, sum.manyDrops, 100, "dequeues that dropped several")
	assert.Greater(t, sum.resumed, 50, "re-entries at a count above 1")
	assert.Greater(t, sum.bounded, 50, "dequeues cut short by MaxDropsPerDequeue")
	assert.Greater(t, sum.flushedDropping, 20, "flushes in the dropping state")
	assert.Greater(t, sum.back, 20, "backward steps")
}
