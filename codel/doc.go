// Package codel implements CoDel, Controlled Delay: it tracks the time packets
// stay in the queue, and once that has not been below Target for an Interval it
// signals at a rate that grows with the square root of the number of signals,
// until a packet is below Target again.
//
// # Source
//
// K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue
// Management", RFC 8289, section 5. The RFC leaves ECN open; marking and the CE
// threshold do what Linux (sch_codel) does.
//
// # Law
//
//	ok to drop:  sojourn >= Target, and more than MTU bytes left, for an Interval
//	not dropping, and ok: signal; enter the dropping state with
//	    count = count - lastcount if that is > 1 and now - drop_next < 16*Interval, else 1
//	    drop_next = now + Interval/sqrt(count)
//	dropping, and not ok: leave the dropping state
//	dropping, and now >= drop_next: signal; count = count + 1;
//	    drop_next = drop_next + Interval/sqrt(count); look at the next packet
//
// all of it at Dequeue. The RFC's dequeue routine takes packets from the queue
// until it has one to deliver. Here it is cut at the packets: a Drop is the middle
// of it, and the next call to Dequeue goes on from there.
//
// A signal drops a packet that is not ECN-capable. It marks one that is: the packet
// is delivered, which ends the dequeue, and count and drop_next advance at once.
// Apart from that, CEThreshold marks every ECN-capable packet that stayed for
// longer; a packet due for both is marked once.
//
// The RFC's dequeue routine also sees an empty queue, and then forgets that it was
// above Target. This one is not called for an empty queue: it takes the packet that
// found no other at its arrival for a sign of it. So where several queues share a
// link, Packets is this queue's and Bytes may be those of all of them, which RFC
// 8289 section 4.4 wants for the test against MTU.
//
// # Defaults
//
// Target 5 ms, Interval 100 ms (RFC 8289 section 5.3). MTU 1514 bytes, an Ethernet
// frame's 1500 bytes and its header: the RFC says that maxpacket should be the
// interface's MTU, and this is what Linux uses on Ethernet. CEThreshold and
// MaxDropsPerDequeue are off. Design computes Target and Interval for other links.
//
// # Deviations
//
// MaxDropsPerDequeue, off by default, is not in the RFC. count saturates. "No time
// set" is a flag beside the time and not the time 0, which is an ordinary instant.
package codel
