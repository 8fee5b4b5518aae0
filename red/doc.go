// Package red implements Random Early Detection: signal with a probability that
// grows with the average queue, evenly spaced. Adaptive RED, which moves that
// probability to hold the average in place, is an option.
//
// # Source
//
//   - RED: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion
//     Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993.
//   - gentle: S. Floyd, "Recommendation on using the gentle_ variant of RED", 2000.
//   - ARED: S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED: An Algorithm for
//     Increasing the Robustness of RED's Active Queue Management", 2001.
//   - ns-2's queue/red.cc, by the first author of all three, where they are silent.
//   - RFC 3168 section 7: above the upper threshold routers should drop.
//
// # Law
//
// At each arrival, a refused one included, with the queue q before it and w = Weight:
//
//	q > 0:  avg = (1-w) avg + w q
//	q = 0:  avg = (1-w)^m avg
//
// where m is the whole number of packets of MeanPacket bytes that the link could have
// sent while the queue was empty. The probability of a signal is
//
//	avg < MinTh             p_b = 0
//	MinTh <= avg < MaxTh    p_b = max_p (avg-MinTh)/(MaxTh-MinTh)
//	MaxTh <= avg < 2 MaxTh  p_b = max_p + (1-max_p) (avg-MaxTh)/MaxTh if Gentle, else 1
//	2 MaxTh <= avg          p_b = 1
//
// With n packets since the last signal, or since the average rose to MinTh, and u
// uniform on (0, 1], drawn for each signal, the next one is due when
//
//	n p_b >= u            without Wait: 1 to 1/p_b packets apart, all alike
//	(n+1) p_b >= 1 + u    with Wait: 1/p_b to 2/p_b packets apart
//
// which is what comes of the source's p_a = p_b/(1-(n-1) p_b) for each packet. With
// ScaleBySize n counts bytes/MeanPacket. A full queue restarts n, as a signal does,
// and so does an average below MinTh.
//
// A signal is Forced, which drops an ECN-capable packet too, if avg >= MaxTh; with
// MaxECN > 0 if p_b >= MaxECN instead. Otherwise it is Early.
//
// Adaptive moves max_p, which starts at MaxP and stays between Bottom and Top, every
// AdaptInterval:
//
//	avg > MinTh + 0.6 (MaxTh-MinTh)    max_p += min(0.01, max_p/4)
//	avg < MinTh + 0.4 (MaxTh-MinTh)    max_p *= 0.9
//
// Each tick sees the average as it is at that instant, idle decay included.
//
// # Defaults
//
// Those of ns-3: MinTh 5 and MaxTh 15 packets, MaxP 1/50, Weight 0.002, Gentle, Wait,
// MeanPacket 500 bytes, Rate 1.5 Mb/s; for Adaptive, AdaptInterval 500 ms and
// TargetDelay 5 ms, with Bottom 0.01 and Top 0.5 from the ARED paper. Design computes
// the parameters of Adaptive RED for other links.
//
// # Deviations
//
//   - One draw for each signal, where the RED paper compares p_a with a draw for each
//     packet. The spacing has the same distribution while p_b stays, and costs less.
//   - n is 1 for the first packet after a signal, as in the paper's text. Its
//     pseudo-code, whose count is then 1 too, has n = 2.
//   - ScaleBySize spaces signals evenly in bytes. The paper scales p_b by the size of
//     the packet at hand before it takes the packets since the last signal times
//     p_b: count then jumps with every size, and a large packet after many small ones
//     answers for bytes that never came. RFC 7141 section 2.2 advises against any
//     such scaling.
//   - With Wait and a 1/p_b that is not whole, the smallest distance is the whole
//     number below it. In ns-2 it is the one above.
//   - Idle time that is less than a packet's counts for the next idle period. Else
//     the average would stand still under packets smaller than MeanPacket that each
//     find the queue empty, but never for long.
//   - p_b above MaxTh follows the max_p of Adaptive RED. In ns-2 and ns-3 its slope
//     stays that of the first max_p, and p_b jumps at MaxTh.
//   - max_p does not leave [Bottom, Top]. By the letter of the ARED paper, whose
//     conditions are max_p <= 0.5 and max_p >= 0.01, a last step may.
//   - Adaptation ticks by the clock. ns-2 adapts at the first arrival that is more
//     than an interval after the last adaptation, to the average it has then.
//   - No signal is suppressed for a short instantaneous queue (ns-2 spares arrivals
//     that find at most one packet), and there is no cautious mode.
package red
