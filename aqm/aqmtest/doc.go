// Package aqmtest holds an AQM to the laws of the contract of package aqm: any AQM,
// this library's or a stranger's. A test of ten lines is enough:
//
//	func TestLaws(t *testing.T) {
//		aqmtest.TestAQM(t, func(src rand.Source) aqm.AQM {
//			a, err := coin.New(coin.Config{P: 0.1, Rand: src})
//			if err != nil {
//				t.Fatal(err)
//			}
//			return a
//		})
//	}
//
// [TestAQM] has a subtest for each law. [Check] is the same without a test: its error
// names every law that is broken. Both take less than a second for an AQM that
// answers in nanoseconds. [Only] chooses laws by name, and [Skip] leaves one out and
// asks for the reason. A long run has 32 seeds instead of one; it is an option,
// [Long], and a flag of every test that imports this package, in those packages:
//
//	go test ./coin -aqmtest.long
//
// # Laws
//
// [Laws] lists them, each a sentence of the contract with a name:
//
//   - bounded-work: no call takes more than 10 ms, after gaps that grow up to the
//     end of time; calls do not take ever longer; none draws 10 000 times. A call that
//     does not return in 5 s ends the check.
//   - no-allocation: none in more than 20 000 calls in every regime.
//   - no-goroutine: many instances bring no goroutines.
//   - determinism: equal questions and equal sources give equal verdicts.
//   - no-clock: pauses of wall-clock time change no verdict.
//   - no-shared-state: what another instance is asked changes no verdict. A MakeAQM
//     that returns the same pointer twice breaks it.
//   - overflow: Full gives Drop for reason Overflow, and nothing else does.
//   - not-ect: a packet that is NotECT is never marked.
//   - ce: a packet that is CE is not dropped where it would pass or be marked if it
//     were ECT(0). Setting and keeping CE is the queue's part.
//   - ect: whether packets are ECT(0) or ECT(1) changes no verdict. An AQM that tells
//     them apart on purpose, as in RFC 9331, skips this law.
//   - verdict: Pass has reason None, Mark and Drop have another, and there is such an
//     action and such a reason.
//   - time-origin: adding anything to every instant changes no verdict.
//   - time-backwards: steps back of the clock change no verdict against a clock that
//     stands still instead.
//   - unset-fields: EnqueuedAt in Enqueue and Full in Dequeue change no verdict.
//   - zero-class: a packet with Class 0 is one with Class Other.
//   - probability: a method Probability() float64, of the AQM or of what its
//     Unwrap() aqm.AQM returns, stays in [0, 1], whatever was asked.
//   - conservation: in an aqm.FIFO every item comes out once, in order and as it went
//     in, Stats adds up after every step, and every verdict is one that the queue can
//     carry out.
//   - survival: Sizes of 0 and of 2^32-1, counts that are negative, huge or contradict
//     each other, any int64 of time, and sources that give always 0, always 2^64-1 or
//     both in turn: no panic. After 64 draws in one call a hostile source gives way
//     to a good one, for rejection sampling to end.
//
// An AQM that uses now has three duties, which time-backwards, time-origin, survival
// and bounded-work see to. It keeps the largest now that it has seen, at either
// method, and takes that for the time: clock = max(clock, now), from math.MinInt64 on.
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
// The calls are Go code: with the MakeAQM as mk they make a test. An error shows the
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
// no-clock has TestAQM ask in a bubble of testing/synctest, with eight pauses in every
// stream, of 1.2 s, 2.3 s, 99 s and 76 min: it finds what an AQM does after up to 76
// min by its clock, if a verdict after the pause is another for it. Check has no
// testing.T, and waits for 250 ms of real time, once and in the midst of all streams
// at a time: it is blind to what takes longer than that. So is TestAQM where an AQM has
// goroutines, which a bubble would wait for. Half of the pauses, and Check's, are
// before a signal that is not the first, where there is one; the others are spread
// over what follows the first. Outside a bubble an AQM whose clock has a scale of less
// than some milliseconds may break determinism instead, and no-clock is then not
// checked.
//
// bounded-work and no-allocation measure the program that they run in. Both repeat
// what they measure and believe the best, so a busy machine does not break them; an
// AQM that allocates once for all its instances passes. no-allocation sets GOMAXPROCS
// to 1 for some milliseconds. What a check cannot end, such as a call that loops for
// ever, goes on in its goroutine until the program ends.
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
package aqmtest
