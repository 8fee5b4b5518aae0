package wireguard

import (
	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/internal/egress"
	"github.com/aqmkit/aqmkit/internal/check"
)

// What WireGuard adds to a packet, and sizes of batches.
const (
	// OverheadIPv4 and OverheadIPv6 are what WireGuard adds to a packet: the outer IP
	// header, that of UDP, its own, and the authentication tag. It also pads to a multiple of
	// 16 bytes, up to the MTU, which is not counted.
	OverheadIPv4 = 20 + 8 + 16 + 16
	OverheadIPv6 = 40 + 8 + 16 + 16

	// DefaultBatch is the batch of wireguard-go where the system has GSO.
	DefaultBatch = 128

	// MaxBatch is the largest Config.Batch.
	MaxBatch = 1024

	maxOverhead = 1 << 10
)

// Config is the configuration of a Device.
type Config struct {
	Rate         uint64    // bit/s; of the packets with their Overhead; 0 = as fast as WireGuard reads
	Overhead     int       // bytes; 0 to 1024; added to the size of each packet, such as OverheadIPv4
	LimitPackets int       // packets; 1 to aqm.MaxLimitPackets; of each queue
	LimitBytes   int64     // bytes; >= 0; of each queue; 0 = no limit in bytes
	AQMs         []aqm.AQM // one for each queue, instances of their own; aqm.TailDrop{} for none

	// Batch is the most packets that one Read returns; 1 to MaxBatch. No Read returns more
	// than it has been given buffers for.
	Batch int
}

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("wireguard")
	l.Require(c.Overhead >= 0 && c.Overhead <= maxOverhead, "Overhead", c.Overhead, "bytes", "in [0, %d]", maxOverhead)
	c.queues().Require(l)
	l.Require(c.Batch >= 1 && c.Batch <= MaxBatch, "Batch", c.Batch, "packets", "in [1, %d]", MaxBatch)
	return l.Err()
}

func (c Config) queues() egress.Config {
	return egress.Config{Rate: c.Rate, LimitPackets: c.LimitPackets, LimitBytes: c.LimitBytes, AQMs: c.AQMs}
}
