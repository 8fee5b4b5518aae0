package netmodel_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// TestMemory: a flow of the dumbbell, two hosts and four links with it, needs a few
// kilobytes.
func TestMemory(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const flows = 2000
	before := heap()
	s, err := dumbbell(50, flows, 100, aqm.TailDrop{}, tcp.DefaultConfig())
	require.NoError(t, err)
	s.net.Run(3e9)
	perFlow := (heap() - before) / flows
	t.Log(perFlow, "bytes")
	require.Len(t, s.conns, flows)
	assert.Less(t, perFlow, uint64(6000))
}
