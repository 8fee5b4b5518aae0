// Package pi implements the PI controller: the probability of a signal moves, at
// fixed intervals, with the queue's distance from a reference and with the change
// of that distance, until the queue stands at the reference.
//
// # Source
//
// C. Hollot, V. Misra, D. Towsley, W. Gong, "On Designing Improved Controllers for
// AQM Routers Supporting TCP Flows", INFOCOM 2001. PI squared is the base law of K.
// De Schepper, B. Briscoe, G. White, "Dual-Queue Coupled Active Queue Management
// (AQM) for Low Latency, Low Loss, and Scalable Throughput (L4S)", RFC 9332,
// appendix A.
//
// # Law
//
//	every Interval: p = p + A*(q - QRef) - B*(q_old - QRef), within [0, 1]; q_old = q
//	at Enqueue:     signal with probability p, or p^2 if Squared
//
// with q the backlog in packets or bytes, or the queueing delay: that of the last
// departure, and 0 once a departure has left the queue empty or an arrival has found
// it empty. The probability of a packet is multiplied by Size/MeanPacket if
// ScaleBySize. A signal marks an ECN-capable packet and drops another; it drops
// both where the probability of a packet of average size is MaxECN or more.
//
// # Defaults
//
// DefaultConfig is Published: A 1.822e-5, B 1.816e-5, 170 updates per second, QRef 50
// packets of 500 bytes, the constants of ns-2's PI, which belong to the paper's link
// of 15 Mb/s, 60 flows and round-trip times up to 246 ms. Design computes the gains
// for other links; its margin in phase,
//
//	90 degrees - w_g*R - atan(w_g*R)   with w_g*R = 2*flows/(rtt*C)
//
// is 75.1 degrees at the paper's link. PI2 is PI squared as in RFC 9332.
//
// # Deviations
//
// None from the paper. PI2 is the law of a queue of its own: signals are drawn at
// Enqueue as they are for PI, where the RFC spaces them evenly at Dequeue.
package pi
