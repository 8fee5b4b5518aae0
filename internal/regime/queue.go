package regime

import "github.com/aqmkit/aqmkit/aqm"

// Item is what a FIFO under load holds: the pointer of a datapath's packet.
type Item struct{ _ [64]byte }

// RoundTrips passes n packets through f, which it keeps at level packets, and
// returns the instant of the last.
func (l *Load) RoundTrips(f *aqm.FIFO[*Item], item *Item, level int, now aqm.Time, n int) aqm.Time {
	for i := range uint(n) {
		s := &l[i%Steps]
		now += aqm.Time(s.Wait)
		p := aqm.Packet{Size: s.Size, ECN: s.ECN, Class: s.Class}
		f.Enqueue(now, item, p)
		if f.Len() <= level {
			continue // what a drop takes away is filled up again
		}
		f.Dequeue(now)
	}
	return now
}
