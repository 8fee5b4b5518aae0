package regime

import (
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
)

// Benchmark measures the decisions of the algorithm that the catalog calls name, in
// each of its regimes, at either end and through the interface.
func Benchmark(b *testing.B, name string) {
	for _, r := range For(name) {
		b.Run(r.Name+"/enqueue", func(b *testing.B) { Decisions(b, r.Instance, r.Load.Enqueues) })
		b.Run(r.Name+"/dequeue", func(b *testing.B) { Decisions(b, r.Instance, r.Load.Dequeues) })
	}
}

// Decisions measures run, on an instance that newOne makes anew for each Sample, so
// that none leaves its regime, and reports the share of signals.
func Decisions(b *testing.B, newOne func() (aqm.AQM, aqm.Time), run func(aqm.AQM, aqm.Time, int) (aqm.Time, int)) {
	signals := 0
	Samples(b, func() func(n int) {
		a, now := newOne()
		return func(n int) {
			_, some := run(a, now, n)
			signals += some
		}
	})
	b.ReportMetric(100*float64(signals)/float64(b.N), "%signals")
}

// Samples measures what prepare returns, untimed and anew for each Sample.
func Samples(b *testing.B, prepare func() func(n int)) {
	b.ReportAllocs()
	b.StopTimer()
	for left := b.N; left > 0; left -= Sample {
		run := prepare()
		b.StartTimer()
		run(min(left, Sample))
		b.StopTimer()
	}
}
