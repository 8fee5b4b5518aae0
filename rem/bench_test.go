package rem_test

import (
	"testing"

	"github.com/aqmkit/aqmkit/internal/regime"
)

func BenchmarkREM(b *testing.B) { regime.Benchmark(b, "rem") }
