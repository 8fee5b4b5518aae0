// Package threshold implements marking at a plain threshold: an ECN-capable packet
// that finds more than K in the queue is marked, and nothing is dropped but by a
// full buffer.
//
// # Source
//
// M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1; RFC
// 8257 section 3.1. It is the "simple marking threshold" of R. Fischer e Silva and
// P. M. Carpenter, "TCP Proactive Congestion Control for East-West Traffic: the
// Marking Threshold".
//
// # Law
//
//	at Enqueue: signal if backlog > Packets, or backlog > Bytes
//	at Dequeue: signal if now - EnqueuedAt > Sojourn
//
// with the instantaneous backlog, the arriving packet not included. A signal marks
// an ECN-capable packet. A packet that is not ECN-capable passes, unless DropNotECT
// is set.
//
// # Defaults
//
// Packets 20, the K that the DCTCP paper uses at 1 Gb/s. Design computes K for other
// links.
//
// # Deviations
//
// None.
package threshold
