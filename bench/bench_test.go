package bench

import (
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// eachRegime runs a benchmark for every algorithm in each of its regimes.
func eachRegime(b *testing.B, run func(b *testing.B, r regime.Regime)) {
	for _, e := range catalog.All() {
		for _, r := range regime.For(e.Name) {
			b.Run(e.Name+"/"+r.Name, func(b *testing.B) { run(b, r) })
		}
	}
}

// BenchmarkFloor is a decision that decides nothing, through the interface.
func BenchmarkFloor(b *testing.B) {
	var a aqm.AQM = new(regime.Noop)
	load := regime.NewLoad(regime.Standing(100), aqm.ECT0)
	b.Run("enqueue", func(b *testing.B) { b.ReportAllocs(); load.Enqueues(a, 0, b.N) })
	b.Run("dequeue", func(b *testing.B) { b.ReportAllocs(); load.Dequeues(a, 0, b.N) })
}

// BenchmarkDecision is one decision at Enqueue and one at Dequeue.
func BenchmarkDecision(b *testing.B) {
	eachRegime(b, func(b *testing.B, r regime.Regime) { regime.Decisions(b, r.Instance, r.Load.Pairs) })
}

// BenchmarkPolicy is the same under a policy that protects ACK and SYN packets.
func BenchmarkPolicy(b *testing.B) {
	eachRegime(b, func(b *testing.B, r regime.Regime) {
		regime.Decisions(b, func() (aqm.AQM, aqm.Time) {
			a, now := r.Instance()
			p, err := ecnpolicy.New(a, ecnpolicy.DefaultConfig())
			if err != nil {
				b.Fatal(err)
			}
			return p, now
		}, r.Load.Pairs)
	})
}

// BenchmarkPolicyJudges is an arrival under a policy that has something to do, and
// without it.
func BenchmarkPolicyJudges(b *testing.B) {
	for _, p := range regime.Policies() {
		b.Run(p.Name+"/with", func(b *testing.B) {
			regime.Decisions(b, func() (aqm.AQM, aqm.Time) { return p.Under() }, p.Load.Enqueues)
		})
		b.Run(p.Name+"/without", func(b *testing.B) { regime.Decisions(b, p.Alone, p.Load.Enqueues) })
	}
}

// BenchmarkFIFO is a packet's way through a FIFO under the algorithm. Where little is
// delivered, as under RED above its thresholds, that is no round trip.
func BenchmarkFIFO(b *testing.B) {
	eachRegime(b, func(b *testing.B, r regime.Regime) {
		signals, delivered, samples := 0.0, 0.0, 0.0
		regime.Samples(b, func() func(n int) {
			q := r.Queue()
			return func(n int) {
				before := q.Stats()
				q.Pass(n)
				s, d := regime.Passed(before, q.Stats())
				signals, delivered, samples = signals+s, delivered+d, samples+1
			}
		})
		b.ReportMetric(100*signals/samples, "%signals")
		b.ReportMetric(100*delivered/samples, "%delivered")
	})
}

// BenchmarkChannel is what a Go program would queue with otherwise.
func BenchmarkChannel(b *testing.B) {
	c := make(chan *regime.Item, 1000)
	item := new(regime.Item)
	for range 100 {
		c <- item
	}
	b.ReportAllocs()
	for b.Loop() {
		c <- item
		<-c
	}
}
