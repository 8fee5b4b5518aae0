package aqm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
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
	f.Fuzz(func(t *testing.T, verdicts, data []byte) {
		if len(verdicts) < 3 {
			return
		}
		s := script.Decode(data, 4096)
		if err := againstSlice(int(verdicts[0]%20)+1, int64(verdicts[1])*600, verdicts, s); err != nil {
			t.Fatalf("%v\n%v", err, s)
		}
	})
}

// againstSlice runs s through a FIFO and a slice, under an algorithm that answers
// from verdicts, and returns the first difference.
func againstSlice(limit int, limitBytes int64, verdicts []byte, s script.Script) error {
	fastAt, slowAt := 0, 0
	slow := byBytes{verdicts, &slowAt}
	var m model
	var dropped []int
	q, err := aqm.NewFIFO(aqm.FIFOConfig[int]{
		LimitPackets: limit, LimitBytes: limitBytes,
		OnDrop: func(id int, _ aqm.Packet, _ aqm.Verdict) { dropped = append(dropped, id) },
	}, byBytes{verdicts, &fastAt})
	if err != nil {
		return err
	}
	var now aqm.Time
	clock := aqm.Time(math.MinInt64)
	arrived := 0
	for id, op := range s {
		now = now.Add(op.Wait)
		switch op.Kind {
		case script.Flush:
			flushed := []int{}
			q.Flush(func(id int, _ aqm.Packet) { flushed = append(flushed, id) })
			if len(flushed) != len(m.queue) {
				return fmt.Errorf("step %d: flushed %v of %v", id, flushed, m.queue)
			}
			for i, want := range m.queue {
				if flushed[i] != want.id {
					return fmt.Errorf("step %d: flushed %v of %v", id, flushed, m.queue)
				}
			}
			m.queue, m.bytes = nil, 0
		case script.Arrive:
			clock = max(clock, now)
			arrived++
			p := aqm.Packet{EnqueuedAt: clock, Size: op.Size, ECN: op.ECN, Class: op.Class}
			full := len(m.queue) >= limit || limitBytes > 0 && m.bytes+int64(p.Size) > limitBytes
			v := slow.Enqueue(now, p, aqm.Occupancy{})
			got := q.Enqueue(now, id, aqm.Packet{EnqueuedAt: -1, Size: op.Size, ECN: op.ECN, Class: op.Class})
			refused := full || m.carryOut(v, &p)
			if refused != (got.Action == aqm.Drop) {
				return fmt.Errorf("step %d: %v, want refused %t", id, got, refused)
			}
			if !refused {
				m.queue = append(m.queue, queued{id, p})
				m.bytes += int64(p.Size)
			}
		case script.Depart:
			clock = max(clock, now)
			var want queued
			found := false
			for len(m.queue) > 0 && !found {
				head := m.queue[0]
				m.queue, m.bytes = m.queue[1:], m.bytes-int64(head.p.Size)
				if m.carryOut(slow.Dequeue(now, head.p, aqm.Occupancy{}), &head.p) {
					m.dropped = append(m.dropped, head.id)
				} else {
					want, found = head, true
				}
			}
			got, p, ok := q.Dequeue(now)
			if got != want.id || p != want.p || ok != found {
				return fmt.Errorf("step %d: delivered %d %+v %v, want %+v %v", id, got, p, ok, want, found)
			}
		}
		if q.Len() != len(m.queue) || q.Bytes() != m.bytes {
			return fmt.Errorf("step %d: holds %d packets, %d bytes, want %d, %d", id, q.Len(), q.Bytes(), len(m.queue), m.bytes)
		}
	}
	if s := q.Stats(); !slices.Equal(dropped, m.dropped) || s.Marked.Packets != m.marked || s.Arrived.Packets != uint64(arrived) {
		return fmt.Errorf("%+v, dropped %v, want %v, %d marked, %d arrived", s, dropped, m.dropped, m.marked, arrived)
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
		if err := againstSlice(1+r.IntN(40), r.Int64N(2)*30_000, verdicts, s); err != nil {
			t.Fatal(err)
		}
	}
}
