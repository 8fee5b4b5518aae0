package gvisor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"

	"github.com/aqmkit/aqmkit/aqm"
)

func TestValidate(t *testing.T) {
	ok := Config{Clock: tcpip.NewStdClock(), LimitPackets: 1, AQMs: []aqm.AQM{aqm.TailDrop{}}, Batch: 1}
	require.NoError(t, ok.Validate())
	assert.NoError(t, Config{Clock: tcpip.NewStdClock(), Rate: 1, LimitPackets: aqm.MaxLimitPackets, LimitBytes: 1, AQMs: []aqm.AQM{aqm.TailDrop{}, aqm.TailDrop{}}, Batch: MaxBatch, RetryAfter: time.Second}.Validate())

	err := Config{LimitBytes: -1, RetryAfter: 2 * time.Second}.Validate()
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, want := range []string{
		"gvisor: Clock = <nil>, must be a clock",
		"gvisor: LimitPackets = 0 packets, must be in [1, 16777216]",
		"gvisor: LimitBytes = -1 bytes, must be >= 0",
		"gvisor: len(AQMs) = 0 queues, must be in [1, 65536]",
		"gvisor: Batch = 0 packets, must be in [1, 1024]",
		"gvisor: RetryAfter = 2s, must be in [0s, 1s]",
	} {
		assert.ErrorContains(t, err, want)
	}
	_, err = New(&sink{}, Config{})
	require.ErrorIs(t, err, aqm.ErrConfig)
	_, err = New(nil, ok)
	require.ErrorIs(t, err, aqm.ErrConfig)
	assert.ErrorContains(t, err, "lower = nil")
}
