package regime

import (
	"fmt"

	"github.com/aqmkit/aqmkit/aqm"
)

// Limit is how many packets a FIFO under load has room for.
const Limit = 1000

// Item is what a FIFO under load holds: the pointer of a datapath's packet.
type Item struct{ _ [64]byte }

// Queue is a FIFO under load.
type Queue struct {
	*aqm.FIFO[*Item]
	load *Load
	item *Item
	now  aqm.Time
}

// Queue returns a FIFO under a new instance of the algorithm. It was filled to where
// the load keeps it, and the load has run through it twice.
func (r Regime) Queue() *Queue {
	a, now := r.make()
	f, err := aqm.NewFIFO(aqm.FIFOConfig[*Item]{LimitPackets: Limit}, a)
	if err != nil {
		panic(fmt.Sprintf("regime: %v", err)) // the configuration is this package's own
	}
	q := &Queue{FIFO: f, load: r.Load, item: new(Item), now: now}
	// What stands there at first came before now, and has waited for what is before
	// it. To the algorithm no time passes, so that what it holds does not move.
	level := int(r.Load[0].Level)
	for i := range level {
		s := &r.Load[i%Steps]
		f.Enqueue(now-aqm.Time(level-i)*aqm.Time(PacketTime), q.item, aqm.Packet{Size: s.Size, ECN: s.ECN, Class: s.Class})
	}
	q.Pass(2 * Steps)
	return q
}

// Pass offers the queue n packets of its load, and takes out what is too many.
func (q *Queue) Pass(n int) { q.now = q.load.roundTrips(q.FIFO, q.item, q.now, n) }

// roundTrips offers n packets to f, which it keeps at the level of each step, and
// returns the instant of the last. What a drop takes away is filled up again.
func (l *Load) roundTrips(f *aqm.FIFO[*Item], item *Item, now aqm.Time, n int) aqm.Time {
	for i := range uint(n) {
		s := &l[i%Steps]
		now += aqm.Time(s.Wait)
		f.Enqueue(now, item, aqm.Packet{Size: s.Size, ECN: s.ECN, Class: s.Class})
		for f.Len() > int(s.Level) {
			f.Dequeue(now)
		}
	}
	return now
}

// Passed returns what became of the packets that were offered between two snapshots
// of a FIFO: the shares that were marked or dropped, and that came out.
func Passed(before, after aqm.Stats) (signals, delivered float64) {
	offered := float64(after.Arrived.Packets - before.Arrived.Packets)
	s := func(s aqm.Stats) uint64 { return s.Marked.Packets + s.Dropped.Packets + s.Refused.Packets }
	return float64(s(after)-s(before)) / offered, float64(after.Delivered.Packets-before.Delivered.Packets) / offered
}
