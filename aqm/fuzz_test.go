package aqm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
)

// byBytes answers from a string of bytes, whatever they say, so that the fuzzer
// chooses the verdicts, also those that the contract does not allow.
type byBytes struct {
	data []byte
	at   *int
}

func (b byBytes) Enqueue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict {
	*b.at++
	x := b.data[*b.at%len(b.data)]
	return aqm.Verdict{Action: aqm.Action(x & 7 % 5), Reason: aqm.Reason(x >> 3 & 7 % 6)}
}

func (b byBytes) Dequeue(t aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return b.Enqueue(t, p, q)
}

type queued struct {
	id int
	p  aqm.Packet
}

// model is a queue as a slice, and says what the FIFO should have done with a
// verdict.
type model struct {
	queue   []queued
	bytes   int64
	marked  uint64
	dropped []int
}

func (m *model) carryOut(v aqm.Verdict, p *aqm.Packet) (dropped bool) {
	if v.Action > aqm.Drop || v.Reason > aqm.Overflow {
		return false
	}
	if v.Action == aqm.Mark && p.ECN != aqm.NotECT && p.ECN != aqm.CE {
		p.ECN = aqm.CE
		m.marked++
	}
	return v.Action == aqm.Drop
}

// FuzzFIFO holds a FIFO against a queue as a slice: same packets in the same order,
// same marks, same counts, and never a time before the largest so far.
func FuzzFIFO(f *testing.F) {
	f.Add([]byte{4, 9, 1, 2, 3}, []byte{0x77, 0xb0, 0x77, 0xb2, 0x77, 0xb1, 0x07, 0, 0x7f, 0xb3, 0x07, 0, 0x60, 0})
	f.Add([]byte{0x70, 9, 1, 2, 3}, []byte{0x77, 0xb0, 0x77, 0xb2, 0x61, 0x31, 0x60, 0x25, 0x77, 0xb1, 0x77, 0xb1, 0x61, 0x31, 0x60, 0x14, 0x77, 0xb1})
	f.Fuzz(func(t *testing.T, verdicts, data []byte) {
		if len(verdicts) < 3 {
			return
		}
		limit, start := int(verdicts[0]%20)+1, script.Start(verdicts[0]/20)
		if err := againstSlice(limit, int64(verdicts[1])*600, start, verdicts, script.Decode(data, 4096)); err != nil {
			t.Fatal(err)
		}
	})
}

// againstSlice runs s through a FIFO and a slice, under an algorithm that answers
// from verdicts, and returns the first difference, with a short script that shows one.
func againstSlice(limit int, limitBytes int64, start aqm.Time, verdicts []byte, s script.Script) error {
	err := scripttest.Check(s, func(s script.Script) error {
		r := rival{now: start, limit: limit, limitBytes: limitBytes, verdicts: verdicts}
		return r.run(s)
	})
	if err != nil {
		return fmt.Errorf("%d packets, %d bytes, start %d, verdicts %v...: %w", limit, limitBytes, start, verdicts[:3], err)
	}
	return nil
}

// rival is a FIFO and the slice it is held against.
type rival struct {
	model
	q                *aqm.FIFO[int]
	now, clock       aqm.Time
	limit            int
	limitBytes       int64
	verdicts         []byte
	fastAt, slowAt   int // of verdicts
	arrived, flushed uint64
	gone             []int // dropped by the FIFO at Dequeue
}

func (r *rival) run(s script.Script) error {
	if err := r.build(); err != nil {
		return err
	}
	for id, op := range s {
		r.now = r.now.Add(op.Wait)
		if err := r.step(id, op); err != nil {
			return fmt.Errorf("step %d: %w", id, err)
		}
		if r.q.Len() != len(r.queue) || r.q.Bytes() != r.bytes {
			return fmt.Errorf("step %d: holds %d packets, %d bytes, want %d, %d", id, r.q.Len(), r.q.Bytes(), len(r.queue), r.bytes)
		}
	}
	return r.count()
}

// build begins a FIFO, which is how one gets other limits.
func (r *rival) build() (err error) {
	r.model = model{}
	r.clock, r.arrived, r.flushed, r.gone = math.MinInt64, 0, 0, nil
	r.q, err = aqm.NewFIFO(aqm.FIFOConfig[int]{
		LimitPackets: r.limit, LimitBytes: r.limitBytes,
		OnDrop: func(id int, _ aqm.Packet, _ aqm.Verdict) { r.gone = append(r.gone, id) },
	}, byBytes{r.verdicts, &r.fastAt})
	return err
}

// step does op. New limits are those of a new FIFO, after the old one's end; and
// where another queue's algorithm is reconfigured, of which the FIFO knows nothing, it
// is asked for what it counted so far.
func (r *rival) step(id int, op script.Op) error {
	switch op.Kind {
	case script.Arrive:
		return r.arrive(id, op)
	case script.Depart:
		return r.depart()
	case script.Flush:
		return r.flush()
	case script.LimitPackets, script.LimitBytes:
		if err := r.flush(); err != nil {
			return err
		}
		if err := r.count(); err != nil {
			return err
		}
		if op.Kind == script.LimitPackets {
			r.limit = max(1, op.N)
		} else {
			r.limitBytes = int64(op.N)
		}
		return r.build()
	}
	return r.count()
}

func (r *rival) arrive(id int, op script.Op) error {
	r.clock = max(r.clock, r.now)
	r.arrived++
	p := aqm.Packet{EnqueuedAt: r.clock, Size: op.Size, ECN: op.ECN, Class: op.Class}
	full := len(r.queue) >= r.limit || r.limitBytes > 0 && r.bytes+int64(p.Size) > r.limitBytes
	v := r.answer(p)
	got := r.q.Enqueue(r.now, id, aqm.Packet{EnqueuedAt: -1, Size: op.Size, ECN: op.ECN, Class: op.Class})
	refused := full || r.carryOut(v, &p)
	if refused != (got.Action == aqm.Drop) {
		return fmt.Errorf("%v, want refused %t", got, refused)
	}
	if !refused {
		r.queue = append(r.queue, queued{id, p})
		r.bytes += int64(p.Size)
	}
	return nil
}

func (r *rival) depart() error {
	r.clock = max(r.clock, r.now)
	var want queued
	found := false
	for len(r.queue) > 0 && !found {
		head := r.queue[0]
		r.queue, r.bytes = r.queue[1:], r.bytes-int64(head.p.Size)
		if r.carryOut(r.answer(head.p), &head.p) {
			r.dropped = append(r.dropped, head.id)
		} else {
			want, found = head, true
		}
	}
	if got, p, ok := r.q.Dequeue(r.now); got != want.id || p != want.p || ok != found {
		return fmt.Errorf("delivered %d %+v %v, want %+v %v", got, p, ok, want, found)
	}
	return nil
}

func (r *rival) flush() error {
	i := 0
	var wrong error
	r.q.Flush(func(id int, p aqm.Packet) {
		if wrong == nil && (i >= len(r.queue) || id != r.queue[i].id || p != r.queue[i].p) {
			wrong = fmt.Errorf("flushed %d %+v as number %d of %v", id, p, i, r.queue)
		}
		i++
	})
	if wrong == nil && i != len(r.queue) {
		wrong = fmt.Errorf("flushed %d of %v", i, r.queue)
	}
	r.flushed += uint64(i)
	r.queue, r.bytes = nil, 0
	return wrong
}

// answer is what the algorithm says of the next packet.
func (r *rival) answer(p aqm.Packet) aqm.Verdict {
	return byBytes{r.verdicts, &r.slowAt}.Enqueue(0, p, aqm.Occupancy{})
}

// count holds the FIFO's counters against what happened.
func (r *rival) count() error {
	s := r.q.Stats()
	if !slices.Equal(r.gone, r.dropped) || s.Marked.Packets != r.marked || s.Arrived.Packets != r.arrived ||
		s.Flushed.Packets != r.flushed || s.Dropped.Packets != uint64(len(r.dropped)) {
		return fmt.Errorf("%+v, dropped %v, want %v, %d marked, %d arrived, %d flushed", s, r.gone, r.dropped, r.marked, r.arrived, r.flushed)
	}
	return nil
}

// TestOracle runs long random scripts against the slice.
func TestOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 50 {
		s := script.Random(r, 2000, 1000)
		script.Disturb(r, s, 20)
		verdicts := make([]byte, 1000)
		for i := range verdicts {
			if r.IntN(3) == 0 {
				verdicts[i] = byte(r.Uint32())
			}
		}
		if err := againstSlice(1+r.IntN(40), r.Int64N(2)*30_000, script.Start(byte(r.Uint32())), verdicts, s); err != nil {
			t.Fatal(err)
		}
	}
}
