package tunlink

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/catalog"
)

// BenchmarkPipe is what a packet costs in the link itself, from the buffer that the
// device has filled to the one that it takes, without the system calls. With a queue
// the arrivals are 5 % more than the link carries.
func BenchmarkPipe(b *testing.B) {
	const rate = 1e9
	for _, queue := range []string{"empty", "standing"} {
		for _, e := range catalog.All() {
			b.Run(queue+"/"+e.Name, func(b *testing.B) {
				a, err := e.New(rate, 20*time.Millisecond, 8, rand.NewPCG(1, 1))
				require.NoError(b, err)
				p, err := newPipe(Direction{Rate: rate, LimitPackets: 2000, AQM: a}, DefaultMTU, 0)
				require.NoError(b, err)
				packet := ipPacket(1500, aqm.ECT0, ack, 0)
				gap := 24 * time.Microsecond // 1500 bytes take 12 us
				if queue == "standing" {
					gap = 11400 * time.Nanosecond
				}
				var now aqm.Time
				clock := func() aqm.Time { return now }
				b.ReportAllocs()
				for b.Loop() {
					now = now.Add(gap)
					pk := p.take()
					copy(pk.buf[:40], packet) // CE may be left of its last use
					p.arrive(clock, pk, len(packet))
					due, _ := p.deliver(now)
					p.release(due)
				}
			})
		}
	}
}
