// Package record writes what one or more queues were asked and answered into a file,
// and replays such a file through any algorithm. It is the one recording format that
// every command shares, be the queue a kernel's, a simulated one or a tunnel's.
//
// [Writer.Queue] puts a tap between a queue and its algorithm: it notes the instant
// and the packet of every Enqueue and Dequeue, and the verdict. So a recording holds
// the arrivals, the opportunities to depart, and the whole sequence of verdicts.
// [Replay] runs them through a queue under another instance, either at the recorded
// opportunities, where the same algorithm with the same seed gives the same verdicts,
// or through a link that is served anew, where another algorithm delays other packets.
//
// # File format, version 1
//
//	file     = "AQMREC" version "\n" gzip        version is the octet 1; gzip is RFC 1952
//	gzip     = frame ... end                     what is compressed
//	frame    = queue | events | end
//	queue    = 1 length JSON                     a Header; queues are numbered 0, 1, ... as they come
//	events   = 2 length number event ...         of the queue with that number
//	end      = 3 length queues count ...         number of queues, and of each queue's events
//
// length is that of what follows in the frame, in octets: at most 1 MiB. It, number,
// queues, count and size below are unsigned varints, and wait is a signed (zigzag) one,
// as in package encoding/binary. The events of a queue continue in its next frame. The
// queues' frames may come in any order that keeps each queue's own.
//
//	event     = op [wait] [shape]
//	op        = bits 0-1 kind: 0 arrival, 1 departure
//	            bits 2-3 action, bits 4-5 reason: the verdict, numbered as in package aqm
//	            bit 6    shape follows
//	            bit 7    wait follows
//	wait      = nanoseconds since the queue's event before, modulo 2^64; the first counts from 0
//	shape     = size ecn class                   size in octets; ecn and class are an octet each, as in package aqm
//
// Where there is no wait, the instant is that of the event before. Where there is no
// shape, an arrival is like the arrival before in size, ECN field and class. A departure
// has none: it is the judgement of the packet at the head. After one that says Drop the
// next departure belongs to the same call of Dequeue, unless an arrival comes first.
//
// A file without its end, with anything behind it, or whose counts or checksum do not
// fit is refused.
package record
