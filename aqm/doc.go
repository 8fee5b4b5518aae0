// Package aqm is the contract of aqmkit: what a datapath tells an Active Queue
// Management (AQM) algorithm, and what the algorithm answers.
//
// An [AQM] is a small state machine that is asked twice per packet, on its way
// into the queue and on its way out: pass, mark or drop? It owns no packet, no
// buffer, no clock, no lock, no goroutine and no timer. Time comes in as an
// argument, packet metadata and queue occupancy come in by value, and random
// numbers come from a source named in the algorithm's Config, so that every run
// can be replayed, simulated, fuzzed and compared.
//
// Three questions have three places. When to signal congestion: the algorithm.
// What a signal does to an ECN-capable packet, and to one that is not: package
// ecnpolicy, a decorator around any algorithm. What happens when the buffer is
// full: the queue, such as [FIFO].
//
// # Duties of the caller
//
//   - now does not decrease from one call to the next.
//   - Enqueue is called for every arrival, Dequeue for every removal, in the
//     order in which they happen. An instance is used by one goroutine at a time.
//   - The verdict is obeyed. On Drop at Enqueue the packet is not stored. On Drop
//     at Dequeue that packet is released and the next one is offered with the
//     same now. On Mark the codepoint CE is set on the real packet.
//   - EnqueuedAt is the now of the packet's Enqueue.
//   - Size is set. With sizes of 0, limits in bytes and CoDel never act.
//
// # Duties of the AQM
//
//   - No allocation, no blocking, no clock, no retained packet, no state shared
//     between instances, and work per call that is bounded whatever the gap since
//     the last one.
//   - Full always gives Drop for reason Overflow, and nothing else does.
//   - NotECT is never marked. CE stays CE.
//   - Pass has reason None; Mark and Drop have another.
//   - A step back of time counts as no elapsed time: the AQM's clock is the
//     largest now it has seen.
//   - Occupancy that contradicts itself, a Size of 0 and any int64 of time are
//     survived without a panic.
//   - An algorithm that signals with a probability has a method
//     Probability() float64: what a packet of average size now faces, in [0, 1].
//     Asking for it changes nothing.
//
// Package aqmtest turns these sentences into laws that any implementation can be
// checked against.
//
// # Reasons
//
// Early says that the control law asked for a signal. Forced says that the
// algorithm is past a hard limit of its own, where RFC 3168 section 7 and RFC 7567
// section 4.2.1 want drops. Overflow says that the buffer is full. An algorithm's
// own answer to an ECN-capable packet is to mark for Early and to drop for Forced;
// see [MarkOrDrop].
//
// # Timer-driven laws
//
// PI, PIE, REM and Adaptive RED are specified with a timer. Here they have no Tick
// method: they are sampled lazily, at the events they see, and agree with a timer.
// The first tick is one period after the first event; a tick that falls on the
// instant of an event runs before the event; the occupancy between two events is
// what the later one reports (q on Enqueue, q plus the packet on Dequeue). What
// changes the occupancy outside Enqueue and Dequeue (a flush, a new limit, a head
// drop) is seen at the next event.
//
// # Super-packets
//
// A packet that segmentation offload (GSO) will split counts as one packet: bytes
// and sojourn time are right, packet counts are not, and one CE becomes many. Split
// it before the AQM at low rates, or measure in bytes or delay.
package aqm
