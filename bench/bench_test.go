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
	eachRegime(b, func(b *testing.B, r regime.Regime) {
		a, now := r.Instance()
		b.ReportAllocs()
		b.ResetTimer()
		r.Load.Pairs(a, now, b.N)
	})
}

// BenchmarkPolicy is the same under a policy that protects ACK and SYN packets.
func BenchmarkPolicy(b *testing.B) {
	eachRegime(b, func(b *testing.B, r regime.Regime) {
		a, now := r.Instance()
		p, err := ecnpolicy.New(a, ecnpolicy.Config{Protect: ecnpolicy.ACKSYN})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		r.Load.Pairs(p, now, b.N)
	})
}

// BenchmarkFIFO is a packet's way through a FIFO under the algorithm.
func BenchmarkFIFO(b *testing.B) {
	eachRegime(b, func(b *testing.B, r regime.Regime) {
		a, now := r.Instance()
		f, err := aqm.NewFIFO(aqm.FIFOConfig[*regime.Item]{LimitPackets: 1000}, a)
		if err != nil {
			b.Fatal(err)
		}
		item := new(regime.Item)
		now = r.Load.RoundTrips(f, item, r.Level, now, 2*regime.Steps)
		b.ReportAllocs()
		b.ResetTimer()
		r.Load.RoundTrips(f, item, r.Level, now, b.N)
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
