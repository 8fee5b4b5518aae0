package aqm

// Count is a number of packets and their bytes.
type Count struct {
	Packets, Bytes uint64
}

func (c Count) minus(d Count) Count { return Count{c.Packets - d.Packets, c.Bytes - d.Bytes} }
func (c *Count) add(size uint32)    { c.Packets++; c.Bytes += uint64(size) }

// Stats is a snapshot of what a [FIFO] has done, for its owner to take under
// whatever guards the queue. In packets and in bytes, at all times,
//
//	Arrived = Refused + Delivered + Dropped + Flushed + queued
//
// where queued is the queue's Len and Bytes.
type Stats struct {
	Arrived   Count // offered to Enqueue
	Refused   Count // dropped at Enqueue, by the algorithm or for want of space
	Delivered Count // returned by Dequeue
	Dropped   Count // dropped at Dequeue
	Flushed   Count // handed back by Flush
	Marked    Count // turned from ECT to CE, once each

	// Verdicts by action and reason, as the queue carried them out.
	AtEnqueue, AtDequeue [NumActions][NumReasons]uint64
}
