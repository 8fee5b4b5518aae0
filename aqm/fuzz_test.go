package aqm_test

import (
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
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
// same marks, same counts.
func FuzzFIFO(f *testing.F) {
	f.Add([]byte{4, 9, 1, 2, 3}, []byte{0, 0, 2, 4, 6, 8, 10, 1, 3, 5})
	f.Fuzz(func(t *testing.T, verdicts, ops []byte) {
		if len(verdicts) < 3 {
			return
		}
		limit, limitBytes := int(verdicts[0]%9)+1, int64(verdicts[1])*20
		fastAt, slowAt := 0, 0
		slow := byBytes{verdicts, &slowAt}
		var m model
		var dropped []int
		q, err := aqm.NewFIFO(aqm.FIFOConfig[int]{
			LimitPackets: limit, LimitBytes: limitBytes,
			OnDrop: func(id int, _ aqm.Packet, _ aqm.Verdict) { dropped = append(dropped, id) },
		}, byBytes{verdicts, &fastAt})
		if err != nil {
			t.Fatal(err)
		}
		arrived := 0
		for i, op := range ops {
			now := aqm.Time(i)
			p := aqm.Packet{EnqueuedAt: now, Size: uint32(op), ECN: aqm.ECN(op >> 1 & 3), Class: aqm.Class(op)}
			switch {
			case op == 255:
				flushed := []int{}
				q.Flush(func(id int, _ aqm.Packet) { flushed = append(flushed, id) })
				if len(flushed) != len(m.queue) {
					t.Fatalf("flushed %v of %v", flushed, m.queue)
				}
				for i, want := range m.queue {
					if flushed[i] != want.id {
						t.Fatalf("flushed %v of %v", flushed, m.queue)
					}
				}
				m.queue, m.bytes = nil, 0
			case op&1 == 0:
				arrived++
				full := len(m.queue) >= limit || limitBytes > 0 && m.bytes+int64(p.Size) > limitBytes
				v := slow.Enqueue(now, p, aqm.Occupancy{})
				got := q.Enqueue(now, i, p)
				if full || m.carryOut(v, &p) {
					if got.Action != aqm.Drop {
						t.Fatalf("%v where it must be refused", got)
					}
					break
				}
				if got.Action == aqm.Drop {
					t.Fatalf("refused with %v", got)
				}
				m.queue = append(m.queue, queued{i, p})
				m.bytes += int64(p.Size)
			default:
				var want queued
				found := false
				for len(m.queue) > 0 {
					head := m.queue[0]
					m.queue, m.bytes = m.queue[1:], m.bytes-int64(head.p.Size)
					if !m.carryOut(slow.Dequeue(now, head.p, aqm.Occupancy{}), &head.p) {
						want, found = head, true
						break
					}
					m.dropped = append(m.dropped, head.id)
				}
				id, p, ok := q.Dequeue(now)
				if id != want.id || p != want.p || ok != found {
					t.Fatalf("delivered %d %+v %v, want %+v %v", id, p, ok, want, found)
				}
			}
			if q.Len() != len(m.queue) || q.Bytes() != m.bytes {
				t.Fatalf("holds %d packets, %d bytes, want %d, %d", q.Len(), q.Bytes(), len(m.queue), m.bytes)
			}
		}
		if s := q.Stats(); len(dropped) != len(m.dropped) || s.Marked.Packets != m.marked || s.Arrived.Packets != uint64(arrived) {
			t.Fatalf("%+v, want %d dropped, %d marked, %d arrived", s, len(m.dropped), m.marked, arrived)
		}
	})
}
