package gvisor

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/internal/egress"
	"github.com/aqmkit/aqmkit/internal/check"
)

const (
	// DefaultBatch is the batch of gVisor's own disciplines: what a segment of 64 KiB is
	// split into.
	DefaultBatch = 47

	// MaxBatch is the largest Config.Batch.
	MaxBatch = 1024

	maxRetryAfter = time.Second
)

// Config is the configuration of a Discipline.
type Config struct {
	Clock tcpip.Clock // the stack's, or tcpip.NewStdClock()

	Rate         uint64    // bit/s; of all that is sent, link headers included; 0 = as fast as the link takes packets
	LimitPackets int       // packets; 1 to aqm.MaxLimitPackets; of each queue
	LimitBytes   int64     // bytes; >= 0; of each queue; 0 = no limit in bytes
	AQMs         []aqm.AQM // one for each queue, instances of their own; aqm.TailDrop{} for none

	// Batch is the most packets that the link is given in one call; 1 to MaxBatch. What
	// it has been given is out of the algorithm's sight: without a Rate, it should be
	// sent within a fraction of the delay that the algorithm aims at.
	Batch int

	// RetryAfter is for a link that refuses what it has no room for: one that takes fewer
	// packets than it was given and returns no error, ErrNoBufferSpace or ErrWouldBlock.
	// They are then offered again, in order, after this time or at a call of Ready. It is
	// at most 1 s; with 0 they are lost, as they are with gVisor's own disciplines.
	RetryAfter time.Duration
}

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("gvisor")
	l.Require(c.Clock != nil, "Clock", c.Clock, "", "a clock, such as that of the stack")
	c.queues().Require(l)
	l.Require(c.Batch >= 1 && c.Batch <= MaxBatch, "Batch", c.Batch, "packets", "in [1, %d]", MaxBatch)
	l.Require(c.RetryAfter >= 0 && c.RetryAfter <= maxRetryAfter, "RetryAfter", c.RetryAfter, "", "in [0s, %v], where 0s means never", maxRetryAfter)
	return l.Err()
}

func (c Config) queues() egress.Config {
	return egress.Config{Rate: c.Rate, LimitPackets: c.LimitPackets, LimitBytes: c.LimitBytes, AQMs: c.AQMs}
}
