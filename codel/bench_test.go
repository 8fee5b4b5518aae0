package codel_test

import (
	"testing"

	"github.com/aqmkit/aqmkit/internal/regime"
)

func BenchmarkCoDel(b *testing.B) { regime.Benchmark(b, "codel") }
