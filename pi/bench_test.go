package pi_test

import (
	"testing"

	"github.com/aqmkit/aqmkit/internal/regime"
)

func BenchmarkPI(b *testing.B) { regime.Benchmark(b, "pi") }
