// Package ecnpolicy decides what an AQM algorithm's signals do to packets that are
// ECN-capable and to packets that are not. A [Policy] is a decorator around any
// aqm.AQM, another Policy included: it chooses the codepoint that the algorithm is
// shown, and rewrites what the algorithm says.
//
// # Source
//
// Protect: R. Fischer e Silva and P. M. Carpenter, "TCP Proactive Congestion
// Control for East-West Traffic: the Marking Threshold". Their observation is that
// pure ACKs, SYNs and SYN-ACKs are not ECN-capable (RFC 3168 sections 6.1.1 and
// 6.1.4), so that an algorithm that marks the data drops them instead. Protect =
// [ECEBit] and Protect = [ACKSYN] are their two protecting modes, no Protect is
// their default mode, and [All] is what tc-red calls nodrop: no early drop of
// anything that is not ECN-capable.
//
// MarkForced, IgnoreECN: L. Le, J. Aikat, K. Jeffay and F. D. Smith, "The Effects of
// Active Queue Management and Explicit Congestion Notification on Web Performance",
// IEEE/ACM Transactions on Networking 15(6), 2007. MarkForced reverses the guideline
// of RFC 3168 section 7, under which a queue above its upper threshold drops
// ECN-capable packets, as they did with ARED. IgnoreECN is an algorithm run without
// ECN.
//
// MarkLimit: RFC 7567 section 4.2.1, where an algorithm that marks should go over to
// drops at some level, so that ECN-capable traffic that does not respond gains
// nothing by its codepoint.
//
// # Law
//
// For each packet, at Enqueue and at Dequeue alike, in this order:
//
//	IgnoreECN    show every packet to the algorithm as NotECT, and do nothing else
//	budget       tokens < Size: the next line does not apply to this packet
//	Protect      NotECT in Protect: show ECT(0); Mark, or Drop but for Overflow, becomes Pass
//	Carry        Pass of ECT(0) or ECT(1) while a signal is pending: becomes Mark/Early
//	MarkForced   Drop/Forced of ECT(0), ECT(1) or CE: becomes Mark/Forced
//	MarkLimit    Mark while the share of marks is at the limit: becomes Drop/Forced
//
// Size and Class are shown as they are, and an Overflow is never changed. A mark on
// a packet that was shown as NotECT, which the contract forbids, becomes a pass.
//
// A signal on a protected packet is consumed: the algorithm believes that it was
// given. Protecting half of the traffic therefore halves the signals that anyone
// responds to. With Carry each consumed signal is kept pending, [MaxPending] at most,
// and given to the next packet that can carry it; one that is CE already says nothing
// new. A pending signal does not age: after a silence, however long, the first packets
// that can carry them are marked. A carried mark is a signal like any other, so
// MarkLimit turns it into a drop too; that it stayed pending would hold signals back
// when congestion is worst.
//
// The budget is a token bucket of BudgetBurst bytes that starts full and fills at
// BudgetRate, with the largest now seen. A packet's Size is charged when a signal is
// suppressed, at either end, and not when the packet passes by itself. What
// protection admits within any time t is then at most BudgetBurst + BudgetRate*t/8
// bytes, exactly: the arithmetic is in integers. A packet larger than BudgetBurst is
// never protected.
//
// The share of marks is an exponential average with a window of N = 1024 arrivals,
//
//	at each ECN-capable arrival:             share = share * (1 - 1/N)
//	at each Mark verdict left, either end:   share = share + 1/N
//
// where ECN-capable includes CE: a packet that arrives as CE and is marked counts,
// so that setting CE beforehand is no way around the limit. A packet that is marked
// at both ends counts twice. A mark is left standing only while share < MarkLimit.
// Hence share <= MarkLimit + 1/N, and of any A arrivals in a row at most
//
//	A*(MarkLimit + 1/N) + N*MarkLimit + 1
//
// marks are given. The share starts at 0, as if the N packets before the first had
// gone unmarked. The limit thus takes hold late: where every packet is marked from
// the first on, after about N*ln(1/(1-MarkLimit)) packets, which is 108 for 0.1 and
// 710 for 0.5.
//
// Policies compose. The outer one rewrites what the inner one has decided; an outer
// MarkForced, for one, makes marks again of the drops of an inner MarkLimit.
//
// # Forged headers
//
// A packet's Class is what its sender wrote. Whoever sets the ACK flag on a flood of
// packets without payload, or ECE on anything, is protected by [ACKSYN], [ECEBit] or
// [All], and is then held back by nothing but a full buffer. Set a budget wherever
// senders are not trusted: it leaves protection to about the rate at which the honest
// control traffic draws signals, and judges the rest as NotECT. An attacker can still
// spend that budget, and the honest control packets are then as they were without
// Protect. Carry lets such a flood mark other senders' packets, one for each signal
// that the budget lets it suppress.
//
// Protection by the ECE flag is meaningful where ECE is the echo of RFC 3168 section
// 6.1.3: set on every ACK from a mark until the sender's CWR, and on the SYN and
// SYN-ACK that negotiate ECN. It is not with Accurate ECN feedback (RFC 9768), where
// the flag is one bit of a counter and means nothing by itself.
//
// # Defaults
//
// Protect = ACKSYN, the mode of Fischer e Silva and Carpenter that covers every pure
// ACK, SYN and SYN-ACK; all else is off.
//
// # Deviations
//
// Protect is against RFC 7567 recommendation 5 (section 4.5), that an AQM should not
// interpret transport protocols, and is an explicit policy for that reason. It goes
// by what a packet is and never by its size: small is not control (RFC 7141 section
// 3.2). MarkForced is against the guideline of RFC 3168 section 7. The budget and
// Carry are in none of the sources.
package ecnpolicy
