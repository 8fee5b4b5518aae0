// Package aqmtest holds an AQM to the laws of the contract of package aqm: any AQM,
// this library's or a stranger's. A test of ten lines is enough:
//
//	func TestLaws(t *testing.T) {
//		aqmtest.TestAQM(t, func(src rand.Source) aqm.AQM {
//			c, err := coin.New(0.1, src)
//			if err != nil {
//				t.Fatal(err)
//			}
//			return c
//		})
//	}
//
// [TestAQM] has a subtest for each law. [Check] is the same without a test: its error
// names every law that is broken. Both take about a second, on a machine that is not
// busy, for an AQM that answers in nanoseconds. [Only] chooses laws by name, and [Skip]
// leaves one out and asks for the reason. A long run has 32 seeds instead of one; it
// is an option, [Long], and a flag of every test that imports this package, in those
// packages:
//
//	go test ./coin -aqmtest.long
//
// # Laws
//
// [Laws] lists them, each a sentence of the contract with a name:
//
//   - no-blocking: no call waits, in a bubble of testing/synctest not for a nanosecond.
//     An AQM that breaks this law is not checked for others.
//   - bounded-work: no call takes more than 10 ms, after gaps that grow up to the
//     end of time; calls do not take ever longer; none draws 10 000 times. A call that
//     has computed for 5 s ends the check.
//   - no-allocation: none in 130 000 calls in a row, and in every regime.
//   - no-goroutine: many instances bring no goroutines.
//   - determinism: equal questions and equal sources give equal verdicts. Beside a
//     random source or a map, it is state that instances share that breaks this law.
//   - no-clock: pauses of wall-clock time change no verdict.
//   - no-shared-state: what another instance is asked changes no verdict, in alternation
//     with it or in another goroutine at the same time, where go test -race sees what
//     they share. A MakeAQM that returns the same pointer twice breaks it.
//   - observer: a method Probability() float64, of the AQM or of what its
//     Unwrap() aqm.AQM returns, that is asked after every call changes no verdict,
//     allocates nothing, and says the same twice in a row.
//   - overflow: Full gives Drop for reason Overflow, and nothing else does.
//   - not-ect: a packet that is NotECT is never marked.
//   - ce: a packet that is CE is not dropped where it would pass or be marked if it
//     were ECT(0). Setting and keeping CE is the queue's part.
//   - ect: whether packets are ECT(0) or ECT(1) changes no verdict. An AQM that tells
//     them apart on purpose, as in RFC 9331, skips this law.
//   - verdict: Pass has reason None, Mark and Drop have another, and there is such an
//     action and such a reason.
//   - early-marks: an AQM that marks for reason Early drops no ECT or CE packet for it.
//     One that never marks for it does without ECN, and may.
//   - forced: nothing is marked for reason Forced, but by a policy, which is an AQM that
//     wraps another and has a method Unwrap() aqm.AQM.
//   - time-origin: adding anything to every instant changes no verdict, and least of all
//     what makes one of the AQM's own instants 0.
//   - time-backwards: steps back of the clock change no verdict against a clock that
//     stands still instead.
//   - saturation: a packet that was queued for longer than the longest Duration is one
//     that was queued for the longest.
//   - unset-fields: EnqueuedAt in Enqueue and Full in Dequeue change no verdict.
//   - zero-class: a packet with Class 0 is one with Class Other.
//   - probability: Probability stays in [0, 1], whatever was asked.
//   - zero: where the AQM's own Probability is 0 before a call and after it, there is
//     no signal for reason Early, also if the source draws 0. It is the probability for
//     arrivals, unless all signals for reason Early are given at Dequeue.
//   - conservation: in an aqm.FIFO every item comes out once, in order and as it went
//     in, Stats adds up after every step, and every verdict is one that the queue can
//     carry out.
//   - alive: of 1000 packets that come one a second, each to an empty queue, one passes
//     at both ends: from the first on, and after an hour of silence or centuries of it,
//     which began with the queue's being emptied, by as many departures in one instant or
//     behind the AQM's back. One that signals them with a probability below 1, or owes a
//     few hundred signals, keeps it.
//   - revival: an AQM that has signalled some traffic does not pass all of it after such
//     an hour, nor where it began with many arrivals in one instant, Sizes of 0 or of
//     2^32-1, or counts that are negative, huge or contradict each other.
//   - silence: after such a silence, or one far longer, what finds the queue empty is
//     not signalled, unless a fresh instance signals the like. Checked with [Forgets] only.
//   - survival: Sizes of 0 and of 2^32-1, counts that are negative, huge or contradict
//     each other, any int64 of time, and sources that give always 0, always 2^64-1 or
//     both in turn: no panic, nor after 2^16 packets and 2^32 bytes. After 64 draws in one call a hostile source gives way
//     to a good one, for rejection sampling to end.
//
// An AQM that uses now has three duties, which time-backwards, time-origin, survival
// and bounded-work see to. It keeps the largest now that it has seen, and takes that
// for the time: clock = max(clock, now), from math.MinInt64 on, at both methods, also if
// one of them has no other use for it, since a step back may come with either.
// It does not assume that time starts at 0: the first now may be any, also negative,
// and no instant can stand for "not set". And it takes differences with
// [aqm.Time.Sub], which saturates, and does in one step what a gap of any length asks
// for.
//
// That no packet is retained follows from the types: an AQM sees none.
//
// The laws on verdicts and on the probability hold with hostile values and sources as
// well. A panic, in whatever law's run, is caught and breaks survival; a law that
// compares two runs counts it as a difference. A law that would only fail because
// another does is not checked, and says so: all comparisons where two equal runs
// differ or two instances are one, and conservation where overflow, not-ect or verdict
// is broken. In TestAQM it is skipped, and in Check the error lists it.
//
// # Failures
//
// A failure says which law is broken, quotes it, says what happened, and shows a
// short run of calls that does it, found by leaving out calls and taking plain values
// as long as the law stays broken:
//
//	--- FAIL: TestLaws/not-ect
//	    aqmtest: law not-ect is broken: "NotECT is never marked."
//	    	Mark/Early for a packet that is NotECT
//	    	seed 1
//	    	a := mk(rand.NewPCG(1, 0))
//	    	for range 20 {
//	    		a.Enqueue(0, aqm.Packet{Size: 1500}, aqm.Occupancy{Packets: 17})
//	    	}
//	    	a.Enqueue(0, aqm.Packet{Size: 1500}, aqm.Occupancy{Packets: 17}) // Mark/Early
//
// The calls are Go code: with the MakeAQM as mk they make a test. A law that compares
// two runs shows both, and the test fails. An error shows the
// last two dozen; TestAQM shows all of them under go test -v, and so does the method
// Program of a [Violation], which Check returns. The first fault is often the cause of
// others; see to the laws in their order.
//
// # Traffic
//
// The traffic is random, and chosen with [Seed]: packets of all codepoints and classes
// at a mean distance of 1 us, of 100 us and of 1.2 ms, and at all three in turn. It
// comes in phases of filling, balance, draining and silence, in a queue of 1000
// packets and then of 64; and, since that keeps an AQM at its limits, from flows that
// heed its signals.
//
// The laws hold of an AQM that signals nothing in such traffic for want of a signal.
// TestAQM logs how many of each verdict it drew, to be seen with go test -v;
// [Periods], [Limit] and [Packets] change the traffic.
//
// # Limits
//
// No law here knows the algorithm. A formula that is wrong, a factor of two, a unit, a
// counter that wraps without a panic, a Probability that is half of what packets face:
// these keep every promise of the contract, and are for an oracle, for the vectors of
// the paper and, some of them, for [CheckStability]. Nor is what an AQM makes of
// congestion that is over, beyond alive: one that signals nine packets in ten for ever
// needs [Forgets] to be found. Only Enqueue, Dequeue and
// Probability are asked: Reconfigure, a Flush that the AQM should learn of, and what
// another goroutine may see are not. What is skipped with Skip is not seen, and neither
// is a state that the traffic does not reach, nor what happens after millions of
// packets.
//
// no-blocking and no-clock have TestAQM ask in a bubble of testing/synctest. No wait is
// too short there, in the ordinary traffic and one stream of it that has more than
// 20 000 calls. no-clock has eight pauses in every stream, of 1.2 s, 2.3 s, 99 s and 76
// min, and one of 1.2 s after every few hundred calls of the long one: it finds what an
// AQM does after up to 76 min by its clock, if a verdict after the pause is another for
// it. Check has no testing.T. Its no-blocking sees a wait of half a millisecond or more
// that comes at the same call each time, and has to wait for it; its no-clock waits for
// 250 ms of real time, once and in the midst of all streams at a time, and is blind to
// what takes longer than that. So is TestAQM where an AQM has goroutines, which a bubble
// would wait for. Half of the pauses, and Check's, are before a signal that is not the
// first, where there is one; the others are spread over what follows the first. Outside
// a bubble an AQM whose clock has a scale of less than some milliseconds may break
// determinism instead, and no-clock is then not checked.
//
// no-shared-state finds a variable that instances share, but in a way that changes no
// verdict, such as a cache, only under the race detector: TestAQM then fails with "race
// detected during execution of test", and Check, which cannot know of it, says nothing.
// What the Go runtime ends a program for, as with two goroutines that write to one map,
// ends the test. MakeAQM itself is called by one goroutine at a time. What forced asks
// of an algorithm it cannot ask of one inside a policy.
//
// bounded-work and no-allocation measure the program that they run in. Both repeat
// what they measure and believe the best, and of times no more than the program's CPU
// time, so that a busy or sleeping machine makes a check slow and breaks no law. On a
// system that does not tell CPU time (this package reads it on Linux, macOS and the
// BSDs) the clock has to do, and a machine that is busy enough may break bounded-work.
// An AQM that allocates once for all its instances passes. no-allocation and observer
// set GOMAXPROCS to 1 for some milliseconds. What a check cannot end, such as a call
// that loops for ever, goes on in its goroutine until the program ends.
//
// # Stability
//
// A law that keeps every promise of the contract may still not control a queue:
// stability is a property of the loop of AQM and TCP. [TestStability] closes that loop
// over points drawn from a [Domain] of capacities, round-trip times and numbers of
// flows, first in a fluid model and then in a simulation of packets. The queue has to
// settle, its mean has to stay in a band around the target that the caller names, its
// oscillation has to be bounded and the link busy: at the start, after the load has
// doubled and halved, after the capacity has, and after ten minutes of silence. An
// algorithm is promised to be stable where it is designed to be, so that the Domain
// says what is promised, and builds the algorithm for each point where it has to be.
//
// Band, Swing and Settle say what a correct algorithm does, with room to spare, and are
// measured rather than guessed: TestStability logs what each phase came to, with -v.
//
//   - Settle is the time of the slowest phase, mostly the start or the load that has
//     doubled. 200 RTTs are a good first value; an integrator, as in PI, needs its own
//     time constant several times.
//   - Band is around Target. A law with an integrator stands at its reference: 0.8 to
//     1.3 is wide. One without, such as RED, CoDel or any that is proportional to the
//     queue, has an error that grows with the load, and the load is also doubled and
//     halved: 0.5 to 2 is usual, and Target is where it stands at the middle of the
//     domain.
//   - Swing is half of the distance between the 5 % and the 95 % quantile, and Reno
//     alone, with few flows, fills and drains a short queue: 1 to 1.2 of the mean is
//     usual where Target is short against RTT.
//
// An example: CoDel's own target of 5 ms is for the least delay in an interval, and the
// mean of the queue is above it. The example of CheckStability therefore has a Target
// of 15 ms, a Band from 0.5 to 2, a Swing of 1.2 and a Settle of 20 s, which is 200
// times its longest RTT. CoDel passes, and a queue without AQM does not.
package aqmtest
