package pie_test

import (
	"testing"

	"github.com/aqmkit/aqmkit/internal/regime"
)

func BenchmarkPIE(b *testing.B) { regime.Benchmark(b, "pie") }
