package regime

import (
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
)

// Benchmark measures the decisions of the algorithm that the catalog calls name, in
// each of its regimes, at either end and through the interface.
func Benchmark(b *testing.B, name string) {
	for _, r := range For(name) {
		b.Run(r.Name+"/enqueue", func(b *testing.B) { decisions(b, r, (*Load).Enqueues) })
		b.Run(r.Name+"/dequeue", func(b *testing.B) { decisions(b, r, (*Load).Dequeues) })
	}
}

func decisions(b *testing.B, r Regime, run func(*Load, aqm.AQM, aqm.Time, int) (aqm.Time, int)) {
	a, now := r.Instance()
	b.ReportAllocs()
	b.ResetTimer()
	_, signals := run(r.Load, a, now, b.N)
	b.ReportMetric(100*float64(signals)/float64(b.N), "%signals")
}
