package observe

import (
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
)

// BenchmarkObserver has a packet through both ends of CoDel, by itself and observed, in
// a queue that is never empty and in one that is empty after each packet.
func BenchmarkObserver(b *testing.B) {
	bare, err := codel.New(codel.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	inner, err := codel.New(codel.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	observed := around(b, inner, nil)
	for _, q := range []struct {
		name string
		left aqm.Occupancy
	}{{"busy", aqm.Occupancy{Packets: 10, Bytes: 15_000}}, {"idle", aqm.Occupancy{}}} {
		for _, a := range []struct {
			name string
			aqm  aqm.AQM
		}{{"bare", bare}, {"observed", observed}} {
			b.Run(q.name+"/"+a.name, func(b *testing.B) {
				b.ReportAllocs()
				p := aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}
				now := aqm.Time(0)
				for range b.N {
					now += 12_000
					a.aqm.Enqueue(now, p, q.left)
					p.EnqueuedAt = now - 1_000_000
					a.aqm.Dequeue(now, p, q.left)
				}
			})
		}
	}
}
