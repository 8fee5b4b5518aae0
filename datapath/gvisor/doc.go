// Package gvisor puts an [aqm.AQM] in front of a link of gVisor's network stack
// (netstack): a [Discipline] is the stack.QueueingDiscipline of a NIC.
//
//	qdisc, err := gvisor.New(link, gvisor.Config{...})
//	s.CreateNICWithOptions(1, link, stack.NICOptions{QDisc: qdisc})
//
// # Who says how fast
//
// With a Rate the discipline paces: packets leave at that rate, and the queue, with
// the algorithm that keeps it short, is here as long as the Rate is below what the
// link carries. Without, the link says when: the next batch is taken from the queue
// when WritePackets returns. That needs a link whose WritePackets blocks while the
// link is busy, or one that refuses what it has no room for, together with
// Config.RetryAfter; what the link has taken is out of the algorithm's sight, so its
// own buffer and Config.Batch should be small. In front of a link that takes
// everything at once and without Rate no queue ever builds, and no AQM is needed.
//
// Timers of the Go runtime fire up to a millisecond late. The discipline then catches
// up, so that the rate is kept, in batches of what has become due.
//
// # Queues
//
// One queue for each algorithm in Config.AQMs, chosen by the packet's flow: its Hash
// where the stack has set one, which it does for TCP of its own, and else a hash of
// addresses, protocol and ports. The queues are served in turn, a frame's worth of
// bytes each (deficit round robin), so that a flow that fills its queue does not delay
// those in others.
//
// # Marks and drops
//
// A mark sets CE in the packet's IP header when it leaves the queue. A packet that
// anyone but the caller of WritePacket holds a reference to is cloned first, and a
// header whose memory is shared is copied before it is written: netstack's own
// copy-on-write. Packets that are not IP, such as ARP, and those that package wire cannot
// parse, are judged as not ECN-capable and of class Other.
//
// A packet that is dropped on its way in is answered by ErrNoBufferSpace, which netstack
// counts in the NIC's TxPacketsDroppedNoBufferSpace and hides from a UDP socket that
// has not asked for errors; one that is dropped on its way out was long accepted. The
// stack's own TCP does not take ErrNoBufferSpace for congestion: it finds the loss
// like any other. Nor does it negotiate ECN (gvisor.dev/issue/995), so that it is
// always dropped; marks are for UDP with a TOS, such as QUIC, and for packets that are
// forwarded.
//
// # References
//
// The discipline holds one reference to each packet that it queues, and gives it up
// when the packet is dropped, when the link has taken or refused it, or at Close.
package gvisor
