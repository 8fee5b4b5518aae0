package pie

import (
	"math"
	"time"
)

// tier is a range of the drop probability, with what divides the steps in it.
type tier struct{ from, to, divisor float64 }

// The auto-tuning of RFC 8033 section 4.2.
var tiers = []tier{
	{0, 1e-6, 2048},
	{1e-6, 1e-5, 512},
	{1e-5, 1e-4, 128},
	{1e-4, 1e-3, 32},
	{1e-3, 1e-2, 8},
	{1e-2, 0.1, 2},
	{0.1, math.Inf(1), 1},
}

// The auto-tuning of RFC 8034 A.2.
var docsisTiers = []tier{
	{0, 1e-6, 2048},
	{1e-6, 1e-5, 512},
	{1e-5, 1e-4, 128},
	{1e-4, 1e-3, 32},
	{1e-3, 1e-2, 8},
	{1e-2, 0.1, 2},
	{0.1, 1, 0.5},
	{1, 10, 0.125},
	{10, math.Inf(1), 0.03125},
}

const (
	capFrom = 0.1  // p from which a step up is limited [RFC 8033 5.5]
	maxStep = 0.02 // limit of a step up [5.5]
	decay   = 0.98 // factor to p without congestion [4.2]

	latencyLow  = 5 * time.Millisecond   // LATENCY_LOW [RFC 8034 A.1]
	latencyHigh = 200 * time.Millisecond // LATENCY_HIGH [A.1]
	raise       = 0.02                   // added to p above LATENCY_HIGH [A.2]
)

// law is what the updates of p depend on. Times are in seconds.
type law struct {
	alpha, beta float64
	target      float64
	decayBelow  float64 // delay below which p decays
	raiseAbove  float64 // delay above which p is raised
	max         float64 // largest p
	tiers       []tier
}

func newLaw(c Config) law {
	l := law{
		alpha:      c.Alpha,
		beta:       c.Beta,
		target:     seconds(c.Target),
		decayBelow: seconds(c.Target) / 2, // RFC 8033 Appendix B
		raiseAbove: math.Inf(1),
		max:        1,
		tiers:      tiers,
	}
	if c.DOCSIS {
		l.decayBelow = seconds(latencyLow)
		l.raiseAbove = seconds(latencyHigh)
		l.max = probLow * float64(c.MeanPacket) / minPacket // RFC 8034 A.2
		l.tiers = docsisTiers
	}
	return l
}

// next returns p after one update, at which the delay is delay after old [RFC 8033
// 4.2, 5.5; RFC 8034 A.2].
func (l *law) next(p, delay, old float64) float64 {
	d := float64(l.alpha*(delay-l.target)) + float64(l.beta*(delay-old))
	d /= l.tier(p).divisor
	if p >= capFrom {
		d = min(d, maxStep)
	}
	p += d
	if delay < l.decayBelow && old < l.decayBelow {
		p = float64(p * decay)
	} else if delay > l.raiseAbove {
		p += raise
	}
	return min(max(p, 0), l.max)
}

func (l *law) tier(p float64) tier {
	i := 0
	for p >= l.tiers[i].to {
		i++
	}
	return l.tiers[i]
}

// repeat returns p after n updates at a delay that does not change, and how many of
// them were left when p did not change any more.
//
// It takes a bounded number of leaps. Where p decays, by 2 % or more an update, that
// is the number of updates until p is 0, less than 2600 (see the bounds in
// config.go). Elsewhere p is a straight line from tier to tier and from one power of
// 2 to the next, which take a few leaps each.
func (l *law) repeat(p, delay float64, n uint64) (after float64, left uint64) {
	for n > 0 {
		next, used := l.leap(p, delay, n)
		if next == p {
			return p, n
		}
		p, n = next, n-used
	}
	return p, 0
}

// leap returns p after some of n > 0 updates at a delay that does not change, and
// after how many. The result is to the last bit that of running the updates one by
// one: between two powers of 2 a float64 has a constant spacing, so that adding a
// constant is rounded to the same multiple of it every time. (What falls halfway is
// rounded to an even multiple; from the second update on, all start alike.)
func (l *law) leap(p, delay float64, n uint64) (after float64, used uint64) {
	after, used = l.next(p, delay, delay), 1
	if delay < l.decayBelow {
		return after, used
	}
	// The same range of both tier and spacing as p has. Where the next value is out of
	// it, there is no room.
	t, low := l.tier(p), powerBelow(p)
	step := l.next(after, delay, delay) - after // exact where there is room
	var room float64
	switch {
	case step > 0:
		room = (min(t.to, 2*low, l.max) - after) / step
	case step < 0:
		room = (after - max(t.from, low)) / -step
	}
	// Both sides of the quotient are whole numbers of spacings, of at most 53 bits, so
	// that no division rounds it up to a whole number. The last step there is room for
	// stays out: before rounding it may end beyond the edge, where the spacing is another.
	k := min(uint64(max(0, room-1)), n-1)
	return after + float64(float64(k)*step), used + k // exact: less than 2^53 spacings
}

// powerBelow returns the largest power of 2 that is at most p, or 0 where p is too
// small to be a normal number.
func powerBelow(p float64) float64 {
	return math.Float64frombits(math.Float64bits(p) &^ (1<<52 - 1))
}

// seconds returns d in seconds.
func seconds(d time.Duration) float64 { return float64(d) / 1e9 }

// duration returns s seconds, rounded, where s >= 0.
func duration(s float64) time.Duration {
	ns := float64(s*1e9) + 0.5
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
