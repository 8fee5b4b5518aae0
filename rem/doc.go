// Package rem implements Random Exponential Marking: a price moves, at fixed
// intervals, with the queue's distance from a target and with the arrivals beyond
// what the link can carry, and the probability of a signal is exponential in the
// price.
//
// # Source
//
// S. Athuraliya, V. H. Li, S. H. Low, Q. Yin, "REM: Active Queue Management", IEEE
// Network 15(3), 2001.
//
// # Law
//
//	every Interval: price = max(0, price + Gamma*(Alpha*(b - Target) + x - c))
//	at Enqueue:     signal with probability 1 - Phi^-price
//
// with b the backlog, x the arrivals since the last update, refused ones too, and c
// what a link of Rate carries in an Interval: all of them in packets of MeanPacket
// bytes, or all of them in bytes. The probability of a packet is multiplied by
// Size/MeanPacket if ScaleBySize. A signal marks an ECN-capable packet and drops
// another; it drops both where the probability of a packet of average size is MaxECN
// or more.
//
// # Defaults
//
// The constants of ns-2's REM, which its authors wrote: Gamma 0.001, Alpha 0.1, Phi
// 1.001, Target 20 packets of 1000 bytes, Interval 2 ms. ns-2 knows its link's rate.
// Rate is 10 Mb/s here, which is our choice and has to be set. Design computes Gamma
// and Alpha for a link.
//
// # Deviations
//
// None from the paper. ns-2 marks at Dequeue, and never drops for the price where it
// marks; here both happen at Enqueue, as in its mode that drops.
package rem
