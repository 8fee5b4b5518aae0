package aqmtest

// Law is a sentence of the contract that an AQM can be checked against.
type Law struct {
	Name     string // for Only and Skip, and the subtest's name
	Sentence string // as the documentation of package aqm has it, or the RFC that is named
}

// The laws.
var (
	boundedWork   = Law{"bounded-work", "work per call that is bounded whatever the gap since the last one"}
	noBlocking    = Law{"no-blocking", "no blocking"}
	noAllocation  = Law{"no-allocation", "No allocation"}
	noClock       = Law{"no-clock", "It owns no packet, no buffer, no clock, no lock, no goroutine and no timer."}
	noGoroutine   = Law{"no-goroutine", "It owns no packet, no buffer, no clock, no lock, no goroutine and no timer."}
	noSharedState = Law{"no-shared-state", "no state shared between instances"}
	determinism   = Law{"determinism", "random numbers come from a source named in the algorithm's Config, so that every run can be replayed ... no state shared between instances"}
	observer      = Law{"observer", "Asking for it changes nothing."}
	overflow      = Law{"overflow", "Full always gives Drop for reason Overflow, and nothing else does."}
	notECT        = Law{"not-ect", "NotECT is never marked."}
	ceStays       = Law{"ce", "CE stays CE."}
	ectAlike      = Law{"ect", "Routers treat the ECT(0) and ECT(1) codepoints as equivalent. (RFC 3168 section 5)"}
	consistent    = Law{"verdict", "Pass has reason None; Mark and Drop have another."}
	earlyMarks    = Law{"early-marks", "An algorithm's own answer to an ECN-capable packet is to mark for Early and to drop for Forced"}
	forced        = Law{"forced", "Forced says that the algorithm is past a hard limit of its own, where RFC 3168 section 7 and RFC 7567 section 4.2.1 want drops."}
	timeOrigin    = Law{"time-origin", "The origin is the caller's choice; zero is an ordinary instant."}
	timeBackwards = Law{"time-backwards", "A step back of time counts as no elapsed time: the AQM's clock is the largest now it has seen."}
	saturation    = Law{"saturation", "Sub returns t-u. It saturates at the ends of the range."}
	unsetFields   = Law{"unset-fields", "set by the queue on admission; meaningless in Enqueue"}
	zeroClass     = Law{"zero-class", "The zero Class is treated as Other."}
	probability   = Law{"probability", "what a packet of average size now faces, in [0, 1]"}
	zero          = Law{"zero", "Probability() float64: what a packet of average size now faces"}
	conservation  = Law{"conservation", "Arrived = Refused + Delivered + Dropped + Flushed + queued"}
	alive         = Law{"alive", "When to signal congestion: the algorithm."}
	revival       = Law{"revival", "When to signal congestion: the algorithm."}
	forgetting    = Law{"silence", "the occupancy between two events is what the later one reports"}
	survival      = Law{"survival", "Occupancy that contradicts itself, a Size of 0 and any int64 of time are survived without a panic."}
)

// entry is a law with its check.
type entry struct {
	Law
	check func(*session) outcome
}

// outcome is what a check found: a violation, or why the law does not apply, or
// neither.
type outcome struct {
	broken *Violation
	reason string
	moot   bool // the law does apply, but cannot be judged while another is broken
}

// table lists the laws in the order in which they are checked. no-blocking comes
// first, since an AQM that breaks it keeps everyone waiting, then bounded-work, since
// one that breaks it is spared the hostile instants later, and determinism before the
// laws that compare runs.
func table() []entry {
	return []entry{
		{noBlocking, (*session).noBlocking},
		{boundedWork, (*session).boundedWork},
		{noAllocation, (*session).noAllocation},
		{noGoroutine, (*session).noGoroutine},
		{determinism, (*session).determinism},
		{noClock, (*session).noClock},
		{noSharedState, (*session).noSharedState},
		{observer, (*session).observer},
		{overflow, (*session).overflow},
		{notECT, (*session).notECT},
		{ceStays, (*session).ceStays},
		{ectAlike, (*session).ectAlike},
		{consistent, (*session).consistent},
		{earlyMarks, (*session).earlyMarks},
		{forced, (*session).forced},
		{timeOrigin, (*session).timeOrigin},
		{timeBackwards, (*session).timeBackwards},
		{saturation, (*session).saturation},
		{unsetFields, (*session).unsetFields},
		{zeroClass, (*session).zeroClass},
		{probability, (*session).probability},
		{zero, (*session).zero},
		{conservation, (*session).conservation},
		{alive, (*session).alive},
		{revival, (*session).revival},
		{forgetting, (*session).silence},
		{survival, (*session).survival},
	}
}

// Laws returns the laws in the order in which they are checked.
func Laws() []Law {
	var laws []Law
	for _, e := range table() {
		laws = append(laws, e.Law)
	}
	return laws
}
