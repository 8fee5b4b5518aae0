// Package tunlink is a point-to-point link between two Linux TUN devices, each in a
// network namespace of its own if need be, for real traffic of the kernel, IPv4 and
// IPv6. Each direction has a rate, a propagation delay, a loss, and a FIFO under any
// [aqm.AQM]: so an algorithm meets real TCP senders without a kernel module.
//
// It needs Linux, /dev/net/tun and the capabilities CAP_NET_ADMIN and, for a
// namespace, CAP_SYS_ADMIN: as a rule, root.
//
// # Time
//
// The link is served on a virtual clock. A packet is taken from the queue at the
// instant at which the one before it has left, to the nanosecond, and that instant is
// the now of its Dequeue. When the goroutine is woken late, it catches up: what was
// due is carried out in order, each at its own instant. The now of an Enqueue is the
// instant at which the packet was read from the device. All departures that were due
// by then are carried out first, so that now never goes back within a direction.
//
// What a late goroutine cannot mend is seen from outside: a packet that waited in the
// device before it was read arrives late, and one that is written late leaves late.
// DirectionStats.Lateness has the second. On a busy machine it helps to run the process
// in a real-time class of the scheduler.
//
// # Marks, drops, and what is not IP
//
// A mark sets CE in the IP header and repairs the IPv4 checksum when the packet
// leaves the queue. What package wire cannot parse is passed on as it is, judged as a
// packet that is not ECN-capable, of class Other, and counted as malformed.
//
// # Accounts
//
// No packet goes missing: what arrived is delivered, refused by the far device, dropped
// at the queue, lost behind it, queued or in flight, in every snapshot of
// DirectionStats; see its Balance. What the device itself drops, before the link has read
// it, is in the kernel's counters of the device.
//
// Buffers are used again and never given back: memory is that of the most packets that
// were ever inside at once, which the queue's limit, the rate and the delay bound: where
// the link gets too little of the processor to write in time, it reads no more.
//
// # Changes and the end
//
// Link.Update changes rate, delay, loss and algorithm while packets pass, and
// Link.Inspect reaches the algorithm in force. Link.Drain ends a link when what is in it
// has been delivered; Link.Close, and the end of Run's context, end it at once.
//
// # Recording
//
// An algorithm is an interface: whatever is to see the arrivals and the verdicts goes
// around Direction.AQM. It is called under the direction's lock, with every packet.
package tunlink
