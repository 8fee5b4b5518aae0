package netmodel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/internal/tcp"
)

// BenchmarkDumbbell reports bottleneck packets per wall second, to be compared with
// what ns-2 prints for the same scenario.
func BenchmarkDumbbell(b *testing.B) {
	for _, c := range []struct {
		name  string
		queue string
		mbps  uint64
		flows int
	}{
		{"RED-100Mbps-50", "RED", 100, 50},
		{"DropTail-100Mbps-50", "DropTail", 100, 50},
		{"DropTail-1Gbps-50", "DropTail", 1000, 50},
		{"DropTail-1Gbps-10000", "DropTail", 1000, 10_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			a, err := like2(c.queue, c.mbps, 7)
			require.NoError(b, err)
			s, err := dumbbell(c.mbps, c.flows, 2*bdp(c.mbps), a, tcp.NS2Config())
			require.NoError(b, err)
			s.net.Run(5e9)
			before := s.d.Bottleneck.Stats().SentPackets
			b.ReportAllocs()
			b.ResetTimer()
			// One op is one packet of the bottleneck.
			seconds := float64(b.N) * 1500 * 8 / (float64(c.mbps) * 1e6)
			s.net.Run(s.net.Now().Add(time.Duration(seconds * 1e9)))
			b.StopTimer()
			sent := s.d.Bottleneck.Stats().SentPackets - before
			b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "packets/s")
			b.ReportMetric(float64(s.net.Sim().Events())/float64(s.d.Bottleneck.Stats().SentPackets), "events/packet")
		})
	}
}
