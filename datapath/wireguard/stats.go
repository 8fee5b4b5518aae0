package wireguard

import "github.com/aqmkit/aqmkit/aqm"

// Stats is a snapshot of what a Device has done. Of the packets that the queues have
// delivered, all together,
//
//	Delivered = Read + TooLong
type Stats struct {
	Queues []QueueStats // as in Config.AQMs

	Read    uint64 // packets that WireGuard has read
	TooLong uint64 // packets that did not fit its buffers

	NotIP      uint64 // packets that could not be parsed, and are treated as NotECT
	ReadErrors uint64 // times that the inner device had more segments of a super-packet than buffers
}

// QueueStats is a snapshot of one queue. Sizes include Config.Overhead.
type QueueStats struct {
	aqm.Stats
	Queued aqm.Count // in the queue now
}

// Stats returns a snapshot, at any time.
func (d *Device) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Queues = make([]QueueStats, d.queues.NumQueues())
	for i := range s.Queues {
		s.Queues[i] = QueueStats{Stats: d.queues.Stats(i), Queued: d.queues.Queued(i)}
	}
	return s
}
