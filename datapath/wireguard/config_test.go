package wireguard

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

func TestValidate(t *testing.T) {
	ok := Config{LimitPackets: 1, AQMs: []aqm.AQM{aqm.TailDrop{}}, Batch: 1}
	require.NoError(t, ok.Validate())
	assert.NoError(t, Config{Rate: 1, Overhead: OverheadIPv6, LimitPackets: aqm.MaxLimitPackets, LimitBytes: 1, AQMs: []aqm.AQM{aqm.TailDrop{}}, Batch: MaxBatch}.Validate())

	err := Config{Overhead: -1, LimitBytes: -1, Batch: 2000}.Validate()
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, want := range []string{
		"wireguard: Overhead = -1 bytes, must be in [0, 1024]",
		"wireguard: LimitPackets = 0 packets, must be in [1, 16777216]",
		"wireguard: LimitBytes = -1 bytes, must be >= 0",
		"wireguard: len(AQMs) = 0 queues, must be in [1, 65536]",
		"wireguard: Batch = 2000 packets, must be in [1, 1024]",
	} {
		assert.ErrorContains(t, err, want)
	}
}

// TestOverhead holds the constants to what WireGuard adds [WireGuard: Next Generation
// Kernel Network Tunnel, 5.4.6]: type and reserved 4, receiver 4, counter 8, tag 16.
func TestOverhead(t *testing.T) {
	assert.Equal(t, 20+8+(4+4+8)+16, OverheadIPv4)
	assert.Equal(t, 40+8+(4+4+8)+16, OverheadIPv6)
}
