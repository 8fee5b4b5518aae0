package threshold_test

import (
	"testing"

	"github.com/aqmkit/aqmkit/internal/regime"
)

func BenchmarkThreshold(b *testing.B) { regime.Benchmark(b, "threshold") }
