package red_test

import (
	"testing"

	"github.com/aqmkit/aqmkit/internal/regime"
)

func BenchmarkRED(b *testing.B) { regime.Benchmark(b, "red") }
