// Package sim is a discrete-event engine for networks: a virtual clock and a fixed
// set of sources, each of which knows the time of its own next event.
//
// # Model
//
// A link delivers its packets in order, and a connection's timers can be kept as
// one deadline, so that neither needs a queue of events: a [Source] has at most one
// pending event, its earliest. The engine keeps the sources' times in a winner tree,
// where a change costs one comparison without a branch for each level. Time and
// source share a 64-bit word, so that the smallest word is the next event.
//
// Events at one instant happen in the order in which their sources were added. That
// and the single goroutine make a run a function of its input alone. [Each] spreads
// independent runs over goroutines; none of them sees another.
//
// # Limits
//
// Time starts at 0 and ends at [Sim.Horizon]: 2^63 ns divided by the number of
// sources, rounded up to a power of two (over 2 hours with a million of them). What
// is set later than that never happens.
package sim
