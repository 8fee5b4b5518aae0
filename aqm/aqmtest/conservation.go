package aqmtest

import (
	"fmt"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
)

// item is a packet as a datapath holds it.
type item struct {
	packet   aqm.Packet // as it was offered
	released int        // how often it was refused, dropped, delivered or flushed
}

type dropFunc = func(*item, aqm.Packet, aqm.Verdict)

// queue is what conservation asks of a FIFO.
type queue interface {
	Enqueue(aqm.Time, *item, aqm.Packet) aqm.Verdict
	Dequeue(aqm.Time) (*item, aqm.Packet, bool)
	Flush(func(*item, aqm.Packet))
	Len() int
	Bytes() int64
	Stats() aqm.Stats
}

func newFIFO(limit limits, a *recorder, onDrop dropFunc) (queue, error) {
	return aqm.NewFIFO(aqm.FIFOConfig[*item]{LimitPackets: limit.packets, LimitBytes: limit.bytes, OnDrop: onDrop}, a)
}

// conservation runs traffic through an aqm.FIFO of pointers: every item comes out
// once, in order and as it went in, the queue's books are right after every step, and
// they have the AQM's verdicts as it gave them.
func (s *session) conservation() outcome {
	for _, law := range []Law{overflow, notECT, consistent} { // of verdicts that no queue can carry out
		if s.reported[law] {
			return outcome{reason: "see " + law.Name, moot: true}
		}
	}
	const small, bytes = fullOften, 40_000 // small packets meet the one limit first, large ones the other
	for i, period := range s.periods {
		src := seeded(s.seed, uint64(i))
		ops := s.traffic(uint64(i), s.packets, period)
		for _, limit := range []limits{{s.limit, 0}, {min(s.limit, small), bytes}} {
			test := func(ops script.Script) *breach {
				b, _ := s.conserve(src, ops, limit)
				return b
			}
			b := test(ops)
			if b == nil {
				continue
			}
			ops, first := shrink(ops, b, min(maxTries, 20_000_000/(len(ops)+100)), test)
			b, calls := s.conserve(src, ops, limit)
			if b == nil { // not every time
				b = first
			}
			return outcome{broken: s.violation(conservation, src, calls, b)}
		}
	}
	return outcome{}
}

// limits are those of a queue.
type limits struct {
	packets int
	bytes   int64
}

// conserve runs ops and returns the first breach of conservation, and what the AQM
// was asked until then.
func (s *session) conserve(src source, ops script.Script, limit limits) (b *breach, calls []Call) {
	r := newRecorder(s, src, len(ops))
	s.asking.Store(&r.asking)
	step := 0
	c := catch(func() {
		r.aqm = s.make(src)
		l := &ledger{s: s, asked: r}
		if err := l.open(limit); err != nil {
			b = &breach{detail: err.Error()}
			return
		}
		var now aqm.Time
		for ; step < len(ops) && b == nil; step++ {
			now = now.Add(ops[step].Wait)
			if wrong := l.step(now, ops[step]); wrong != "" {
				b = &breach{at: step, detail: wrong}
			}
		}
		if b == nil && step > 0 {
			if wrong := l.step(now, script.Op{Kind: script.Flush}); wrong != "" {
				b = &breach{at: step - 1, detail: wrong}
			}
		}
	})
	if c != nil {
		c.at = max(0, r.n-1)
		s.suspect(src, r.calls[:r.n], c)
	}
	return b, r.calls[:r.n]
}

// ledger keeps books of its own beside a queue's.
type ledger struct {
	s     *session
	asked *recorder
	queue queue
	in    []*item // in the queue, oldest first
	bytes uint64
	books aqm.Stats
	wrong string // the first thing that was
}

func (l *ledger) open(limit limits) (err error) {
	l.queue, err = l.s.queue(limit, l.asked, func(it *item, p aqm.Packet, v aqm.Verdict) {
		if v.Action != aqm.Drop {
			l.fail("%v given to OnDrop", v)
		}
		l.out(it, p, &l.books.Dropped)
	})
	return err
}

func (l *ledger) fail(format string, args ...any) {
	if l.wrong == "" {
		l.wrong = fmt.Sprintf(format, args...)
	}
}

// release counts an item out.
func (l *ledger) release(it *item, to *aqm.Count) {
	if it.released++; it.released > 1 {
		l.fail("an item is released %d times", it.released)
	}
	to.Packets++
	to.Bytes += uint64(it.packet.Size)
}

// out takes the oldest item out of the books. p is what the queue says of it.
func (l *ledger) out(it *item, p aqm.Packet, to *aqm.Count) {
	if len(l.in) == 0 || l.in[0] != it {
		l.fail("an item comes out that is not the oldest")
		return
	}
	l.in = l.in[1:]
	l.bytes -= uint64(it.packet.Size)
	l.release(it, to)
	marked := p.ECN == aqm.CE && it.packet.ECN.Capable()
	if p.Size != it.packet.Size || p.Class != it.packet.Class || p.ECN != it.packet.ECN && !marked {
		l.fail("%+v comes out as %+v", it.packet, p)
	}
	if p.ECN != it.packet.ECN {
		l.books.Marked.Packets++
		l.books.Marked.Bytes += uint64(p.Size)
	}
}

// step takes one step and returns what is wrong after it.
func (l *ledger) step(now aqm.Time, op script.Op) string {
	before := l.asked.n
	switch op.Kind {
	case script.Arrive:
		it := &item{packet: aqm.Packet{Size: op.Size, ECN: op.ECN, Class: op.Class}}
		l.books.Arrived.Packets++
		l.books.Arrived.Bytes += uint64(op.Size)
		if v := l.queue.Enqueue(now, it, it.packet); v.Action == aqm.Drop {
			l.release(it, &l.books.Refused)
		} else {
			l.in = append(l.in, it)
			l.bytes += uint64(op.Size)
		}
	case script.Depart:
		it, p, ok := l.queue.Dequeue(now)
		switch {
		case ok:
			l.out(it, p, &l.books.Delivered)
		case len(l.in) > 0:
			l.fail("Dequeue finds no packet, though %d are queued", len(l.in))
		}
	case script.Flush:
		l.queue.Flush(func(it *item, p aqm.Packet) { l.out(it, p, &l.books.Flushed) })
		if len(l.in) > 0 {
			l.fail("%d packets are left after Flush", len(l.in))
		}
	}
	for i := before; i < l.asked.n; i++ {
		l.said(l.asked.calls[i], l.asked.verdicts[i])
	}
	l.audit()
	return l.wrong
}

// said books a verdict of the AQM, as a queue carries it out that is true to it.
func (l *ledger) said(c Call, v aqm.Verdict) {
	at := &l.books.AtEnqueue
	if c.AtDequeue {
		at = &l.books.AtDequeue
	}
	if v.Action >= aqm.NumActions || v.Reason >= aqm.NumReasons {
		l.fail("%v cannot be carried out", v)
		return
	}
	at[v.Action][v.Reason]++
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// audit holds the queue's books against the ledger.
func (l *ledger) audit() {
	got := l.queue.Stats()
	if l.queue.Len() != len(l.in) || l.queue.Bytes() != int64(l.bytes) {
		l.fail("%d packets and %d bytes are queued, and the queue says %d and %d", len(l.in), l.bytes, l.queue.Len(), l.queue.Bytes())
	}
	sum := func(pick func(aqm.Count) uint64) uint64 {
		return pick(got.Refused) + pick(got.Delivered) + pick(got.Dropped) + pick(got.Flushed)
	}
	packets := func(c aqm.Count) uint64 { return c.Packets }
	bytes := func(c aqm.Count) uint64 { return c.Bytes }
	if packets(got.Arrived) != sum(packets)+uint64(len(l.in)) || bytes(got.Arrived) != sum(bytes)+l.bytes {
		l.fail("Arrived is not Refused + Delivered + Dropped + Flushed + queued: %+v with %d packets and %d bytes queued", got, len(l.in), l.bytes)
	}
	for a := range aqm.Action(aqm.NumActions) {
		for r := range aqm.Reason(aqm.NumReasons) {
			v := aqm.Verdict{Action: a, Reason: r}
			if n, m := l.books.AtEnqueue[a][r], got.AtEnqueue[a][r]; n > m {
				l.fail("the AQM answered %v at Enqueue %s, and the queue carried it out %s", v, times(n), times(m))
			}
			if n, m := l.books.AtDequeue[a][r], got.AtDequeue[a][r]; n > m {
				l.fail("the AQM answered %v at Dequeue %s, and the queue carried it out %s", v, times(n), times(m))
			}
		}
	}
	// A mark is booked at the end where it happens, and in the ledger when the
	// packet comes out; Marked is compared once all are out.
	if len(l.in) > 0 {
		got.Marked = l.books.Marked
	}
	if got != l.books {
		l.fail("Stats are %+v, and should be %+v", got, l.books)
	}
}
