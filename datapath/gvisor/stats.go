package gvisor

import "github.com/aqmkit/aqmkit/aqm"

// Stats is a snapshot of what a Discipline has done. Of the packets that the queues have
// delivered, all together,
//
//	Delivered = Sent + Lost + Held
type Stats struct {
	Queues []QueueStats // as in Config.AQMs

	Sent    uint64 // packets that the link has taken
	Lost    uint64 // packets that the link refused for good
	Held    int    // packets that the link has been given now, or will be again
	Writes  uint64 // calls of WritePackets
	Retries uint64 // of them, those that took less than they were given, and that are repeated

	NotIP      uint64 // packets that were not IP or could not be parsed, and are treated as NotECT
	Unmarkable uint64 // packets to be marked whose header could not be written
}

// QueueStats is a snapshot of one queue.
type QueueStats struct {
	aqm.Stats
	Queued aqm.Count // in the queue now
}

// Stats returns a snapshot, at any time.
func (d *Discipline) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Queues = make([]QueueStats, d.queues.NumQueues())
	for i := range s.Queues {
		s.Queues[i] = QueueStats{Stats: d.queues.Stats(i), Queued: d.queues.Queued(i)}
	}
	return s
}
