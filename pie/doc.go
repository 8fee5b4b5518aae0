// Package pie implements PIE, Proportional Integral controller Enhanced, and
// DOCSIS-PIE: a drop probability that is adjusted periodically from the queuing
// delay, and applied to arrivals.
//
// # Source
//
// R. Pan et al., RFC 8033, the basic algorithm (section 4) and all of its optional
// enhancements (section 5); G. White and R. Pan, RFC 8034, with Config.DOCSIS.
//
// # Law
//
// Every Update, with delay the queuing delay now and old that of the last update,
//
//	p += (Alpha*(delay-Target) + Beta*(delay-old)) / tier(p)  [RFC 8033 4.2]
//
// where tier(p) makes the steps small where p is, from 2048 below p = 1e-6 to 1
// from p = 0.1 on, where a step up is at most 0.02 [5.5]. p decays by 2 % an update
// while both delays are below Target/2, and stays in [0, 1].
//
// An arrival passes while a burst allowance lasts [4.4], and where old < Target/2
// and p < 0.2, or the backlog is at most 2*MeanPacket bytes [4.1]. Of the others,
// the probabilities accumulate: less than 0.85 passes, 8.5 or more is a signal, and
// between the two the packet is signalled with probability p [5.4]. A signal clears
// the accumulator. It marks an ECN-capable packet and drops another while
// p < MaxECN, and drops any packet above, for reason Forced [5.1].
//
// The delay is that of the last departure, and 0 once the queue is empty; or, with
// Config.DepartureRate, the backlog times the average time that 2^14 bytes take to
// depart [5.2]. With a LimitBytes, the algorithm sleeps until the backlog is a third
// of it, and again when p is 0 and the delays are low [5.3].
//
// DOCSIS-PIE scales p by packet size, continues the tiers above p = 1, adds 0.02
// where the delay is above 200 ms, starts the burst allowance at the first drop
// after a quiet time, and knows the delay from the token buckets that shape the
// queue. RFC 8034 has no ECN, which is a MaxECN that p is never below: all of its
// signals are drops for reason Forced.
//
// The update timer is sampled at Enqueue and Dequeue, see package aqm. What the
// updates since the last event lead to is found without running each of them, and
// is the same to the last bit.
//
// # Defaults
//
// DefaultConfig has RFC 8033's, and MeanPacket 1024 bytes, which only RFC 8034 gives
// a value. DOCSIS has RFC 8034's.
//
// Alpha and Beta are gains for the configured Target and Update, and are taken as
// they are. RFC 8033 section 4.2 says how they go with the other two: for a Target k
// times shorter, both are k times larger; for an Update k times shorter, Alpha is k
// times smaller and Beta larger by half of what Alpha lost. DataCenter is section
// 8's Target and MaxBurst, the defaults' divided by 1000, with Update divided and the
// gains multiplied by 1000: the default loop on a clock 1000 times as fast. Design
// does the same by the factor that a round-trip time below 15 ms asks for.
//
// # Deviations
//
// Where RFC 8033's text, its Appendix A and its Appendix B differ, this package does
// as follows.
//
//   - The burst allowance is tested before anything else [4.4, Appendix A], so that
//     the accumulator does not grow while it lasts. Appendix B judges the packet
//     first and lets it pass afterwards.
//   - The allowance is restored at the update that finds p = 0 and both delays below
//     Target/2, not at the next arrival: no verdict depends on which.
//   - A mark clears the accumulator as a drop does. Appendix B can be read either
//     way; without the reset every packet after the accumulator reached 8.5 is
//     marked.
//   - The accumulator is cleared by the update that brings p to 0, not by the next
//     arrival. The two differ only if no packet arrives until p has risen again.
//   - p decays while both delays are below Target/2 [Appendix B], not only while
//     they are 0 [4.2, Appendix A], which no queue with packets in it attains.
//   - PIE is deactivated when p = 0 and both delays are below Target/2 [5.3], not only
//     when they are 0 [Appendix B]; at an update, where these change. The timer keeps
//     its phase, so that the first update after an activation may come early.
//   - A departure is counted before a measurement of the departure rate ends or
//     starts [Appendix B], so that the departures counted are those of the time
//     measured. In the order of section 5.2 there is one more.
//   - A packet is signalled in the random range if u <= p for u in (0, 1], the same
//     probability as u < p for u in [0, 1).
//
// In DOCSIS-PIE, which leaves the token bucket to the modem, the bucket is filled at
// the sustained rate and emptied by the departures that are seen. Without rates in the
// Config, the delay is measured as in RFC 8033. Packet sizes are not quantized.
package pie
