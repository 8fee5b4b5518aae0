// Package tcp has the senders and receivers of a simulated network: TCP with three
// congestion controls and ECN, and sources that nothing slows down.
//
// # Model
//
// A [Conn] has two equal ends; data goes both ways, with acknowledgements on it. Its
// handshake, loss recovery, timers and FINs are simulated packet by packet:
//
//   - RFC 9293: SYN, SYN-ACK with retransmission, FIN on the last segment. There is no
//     TIME-WAIT, no RST and no simultaneous open; sequence numbers do not wrap.
//   - RFC 5681: slow start, congestion avoidance, fast retransmit, delayed ACKs, the
//     restart after an idle time. RFC 3465 counts bytes, as an option. A window that
//     the application does not use does not grow.
//   - RFC 6675: SACK-based recovery with IsLost, SetPipe and rules 1 to 3 of NextSeg;
//     RFC 6582 without SACK. RFC 3042 as an option. After a timeout, all that is not
//     SACKed is sent again in slow start; the scoreboard is kept.
//   - RFC 6298: one RTT sample at a time, Karn's rule. The back-off ends with the next
//     ACK of new data.
//   - RFC 3168: negotiation, ECE until CWR, one reaction for each window of data,
//     ECT(0) on new data alone. RFC 5562 for the SYN-ACK, as an option: after a marked
//     one the initial window is one segment, and an unmarked one is sent at once.
//   - RFC 9438 (CUBIC), without HyStart++ and the undoing of reductions.
//   - RFC 8257 (DCTCP), both ends.
//
// With SmallQueues a connection has two segments at the most in its host's own queue,
// as Linux's TCP small queues have it at their least.
//
// The receiver's application reads at once, so that the receive window is constant.
// What is left out: timestamps, window scaling (windows are numbers), PRR, RACK and
// tail loss probes, rescue retransmissions, Nagle's algorithm, keep-alive, path MTU.
//
// An [App] writes and reads through callbacks. A [Pool] reuses connections: memory
// follows the number that live at a time. A packet that comes late for one is
// recognised and discarded. Times for thinking are set with sim.Sim.At.
//
// # Like ns-2
//
// Config.LikeNS2 is for comparison with ns-2.35's FullTcp/Sack. There:
//
//   - an ECN reaction may leave less than one segment of window, and the sender waits
//     for the timer; as the wait counts as idleness, it then sends an initial window;
//   - the timer after an ECN reaction does not lower the threshold, and after another
//     timeout ECN may react at once;
//   - retransmissions are ECT(0), and carry CWR;
//   - delayed ACKs are sent when a clock common to all ticks, every DelayedACKTime;
//   - loss and ECN halve the window, not the flight, and round the threshold down to
//     segments; RTT samples are in ticks of 1 ms; a lost SYN does not lower the
//     initial window.
//
// What stays different is the recovery: ns-2 does not count lost packets out of the
// pipe, and forgets what was SACKed at a timeout.
package tcp
