package tcp

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/aqmkit/aqmkit/internal/netmodel"
)

// TestSizes keeps a connection and a packet small: 10 000 flows, millions of packets.
func TestSizes(t *testing.T) {
	t.Log(unsafe.Sizeof(Conn{}), unsafe.Sizeof(netmodel.Link{}))
	assert.LessOrEqual(t, unsafe.Sizeof(Conn{}), uintptr(1500))
	assert.Equal(t, uintptr(64), unsafe.Sizeof(netmodel.Packet{}))
}
