// Package netmodel is a network of links under AQM algorithms, on the engine of
// package sim: a dumbbell, a parking lot, racks joined by a core, or what links and
// paths are put together to.
//
// # Model
//
// A [Link] is a queue under an [aqm.AQM] of any kind, a transmission at a rate and a
// delay of propagation. The queue is an [aqm.FIFO]; the packet in transmission is no
// longer part of it. A link without a limit is a wire: lossless, but exact in that
// its packets wait for each other. Packets follow a [Path] that is chosen when they
// are sent, and go to the [Receiver] at its end. Hosts are where paths begin and end;
// they cost nothing and take no time.
//
// A link has at most one event pending. A queue begins its transmissions when someone
// looks, each with the time at which it began; as departures are known ahead, a wire
// behind a single link takes its packets at once, with the times of their arrival in
// the future. That is why a packet through the dumbbell costs three events. The
// figures are those of a simulator with an event for everything, to the nanosecond:
// times of transmission are rounded down to one.
//
// [Stats] counts packets by kind and by flow, integrates the length of the queue
// exactly, and a [Histogram] has the times in the queue. A [Series] samples.
//
// # Not modelled
//
// Corruption, reordering and jitter on a link; queues of more than one class or flow;
// link layers with headers, acknowledgements or pauses; routing that changes; time in
// hosts and switches. A packet whose transmission has begun is not affected by a
// change of the rate.
//
// # Limits
//
// A network is for one goroutine. Packets are pooled: memory follows the number under
// way, and nothing is allocated once that has been reached.
package netmodel
