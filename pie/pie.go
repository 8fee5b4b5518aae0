package pie

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/lazy"
	"github.com/aqmkit/aqmkit/internal/num"
)

// PIE signals congestion at arrivals, with a probability that follows the queuing
// delay. It implements aqm.AQM; use New. It must not be copied.
type PIE struct {
	// What the path of a passing packet touches.
	timer     lazy.Timer
	passUpTo  int64    // backlog in bytes up to which an arrival passes until the next update; see arm
	clock     aqm.Time // largest now
	departed  aqm.Time // when the last packet did, with timestamps
	enqueued  aqm.Time // when that packet was; when it departed, if it left the queue empty or the law started anew since
	estimator estimator
	activity  activity
	docsis    bool

	// What an arrival touches that is judged, and with byRate a departure.
	p           float64       // drop_prob_
	accumulated float64       // accu_prob_
	burst       time.Duration // burst_allowance_
	rate        departureRate

	*cold
}

// cold is what only a signal, an update or a new configuration touches, most of it
// precomputed.
type cold struct {
	old        float64       // qdelay_old_, seconds
	low        float64       // QDELAY_REF/2, seconds
	ecnLimit   float64       // p from which ECN-capable packets are dropped
	bypass     int64         // backlog in bytes up to which p does not matter
	activateAt int64         // backlog in bytes that activates
	quiet      time.Duration // burst_reset_: how long all has been quiet [RFC 8034 A.2]
	bucket     bucket
	rand       num.Rand
	law        law
	config     Config
}

// estimator is a way to know the queuing delay.
type estimator uint8

const (
	timestamps  estimator = iota // sojourn of the last departure
	byRate                       // backlog over the departure rate [RFC 8033 5.2]
	tokenBucket                  // backlog over the rates of the token buckets [RFC 8034 A.2]
)

// activity is the state of the algorithm: RFC 8033 has the first and the last.
type activity uint8

const (
	inactive  activity = iota // no arrival is judged
	quiescent                 // the next signal starts a burst allowance [RFC 8034 A.2]
	active
)

// State is a snapshot of a PIE, as of the last event.
type State struct {
	Prob        float64       // drop probability p; with DOCSIS up to 0.85*MeanPacket/64
	Accumulated float64       // sum of p over the arrivals since the last signal
	Delay       time.Duration // queuing delay: of the last departure, or as estimated at the last update
	Burst       time.Duration // what is left of the burst allowance
	Active      bool          // whether arrivals are judged at all
	Quiescent   bool          // DOCSIS: whether the next signal starts a burst allowance
}

// New returns a PIE. The error lists all that is wrong with c.
func New(c Config) (*PIE, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &PIE{timer: lazy.NewTimer(c.Update), clock: math.MinInt64, cold: new(cold)}
	p.rand.Init(c.Rand)
	p.configure(c)
	p.restart()
	return p, nil
}

// Reconfigure replaces the configuration, but for the source of random numbers. The
// law goes on from where it is, unless DOCSIS changes, which starts it anew, and a
// changed estimate of the delay is measured anew. After an error the old
// configuration stands.
func (p *PIE) Reconfigure(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	docsis, estimator, depth := p.docsis, p.estimator, p.bucket.depth
	p.timer.SetPeriod(c.Update)
	p.configure(c)
	if p.docsis != docsis {
		p.restart()
		return nil
	}
	if p.estimator != estimator {
		p.rate = departureRate{}
		p.enqueued = p.departed
	}
	if p.estimator != estimator || p.bucket.depth != depth {
		p.bucket.fill()
	}
	p.p = min(p.p, p.law.max)
	p.burst = min(p.burst, c.MaxBurst)
	if c.LimitBytes == 0 && p.activity == inactive {
		p.wake()
	}
	p.arm()
	return nil
}

// configure takes over c.
func (p *PIE) configure(c Config) {
	p.config = c
	p.docsis = c.DOCSIS
	p.law = newLaw(c)
	p.low = p.law.target / 2
	p.ecnLimit = c.MaxECN
	if c.MaxECN == 0 && !c.DOCSIS { // RFC 8034 has no ECN
		p.ecnLimit = math.Inf(1)
	}
	p.bypass = 2 * int64(c.MeanPacket)
	p.activateAt = c.LimitBytes/3 + min(c.LimitBytes%3, 1)
	p.bucket.peak, p.bucket.rate, p.bucket.depth = float64(c.PeakRate)/8, float64(c.SustainedRate)/8, float64(c.TrafficBurst)
	switch {
	case c.DepartureRate:
		p.estimator = byRate
	case c.SustainedRate > 0:
		p.estimator = tokenBucket
	default:
		p.estimator = timestamps
	}
}

// restart puts the law in its initial state.
func (p *PIE) restart() {
	p.bucket.fill()
	p.activity = inactive
	p.enqueued = p.departed
	p.p, p.accumulated, p.old, p.burst, p.quiet = 0, 0, 0, 0, 0
	if p.config.LimitBytes == 0 {
		p.wake()
	}
	p.arm()
}

// wake ends inactivity, and arms.
func (p *PIE) wake() {
	if p.docsis {
		p.activity = quiescent // RFC 8034 A.3
	} else { // RFC 8033 5.3, Appendix B
		p.activity = active
		p.old, p.p, p.accumulated = 0, 0, 0
		p.rate = departureRate{}
		p.burst = p.config.MaxBurst
	}
	p.arm()
}

// arm sets passUpTo to what the path of a passing packet may take for granted. It is
// called after every change to what it depends on, none of which an arrival changes
// while it passes.
func (p *PIE) arm() {
	judged := p.p > 0 && p.burst == 0 // else the accumulator stays, and below 0.85 at that
	switch {
	case p.activity == inactive:
		p.passUpTo = p.activateAt - 1
	case !judged:
		p.passUpTo = math.MaxInt64
	case p.docsis:
		p.passUpTo = math.MinInt64 // even a packet that must pass adds to the accumulator
	case p.spared():
		p.passUpTo = math.MaxInt64
	default:
		p.passUpTo = p.bypass
	}
}

// spared reports whether the delay is low enough to signal nothing [RFC 8033 4.1].
func (p *PIE) spared() bool { return p.old < p.low && p.p < spareBelow }

// Probability returns the drop probability, in [0, 1], for a packet of average size.
// A burst allowance, a low delay or a short queue may spare the packet all the same,
// and the accumulator spreads the signals. With DOCSIS it is at most 0.85, and
// State has the value it is limited from.
func (p *PIE) Probability() float64 {
	if p.docsis {
		return min(p.p, probLow)
	}
	return p.p
}

// State returns a snapshot.
func (p *PIE) State() State {
	delay := p.sojourn()
	if p.estimator != timestamps {
		delay = duration(p.old)
	}
	return State{
		Prob:        p.p,
		Accumulated: p.accumulated,
		Delay:       delay,
		Burst:       p.burst,
		Active:      p.activity != inactive,
		Quiescent:   p.activity == quiescent,
	}
}

// Enqueue signals an arrival with the drop probability.
func (p *PIE) Enqueue(now aqm.Time, k aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now <= p.clock {
		now = p.clock
	} else {
		p.clock = now
	}
	if now >= p.timer.Next || q.Full || q.Bytes > p.passUpTo {
		return p.judge(now, k, q)
	}
	return aqm.Verdict{}
}

// Dequeue passes a departure and measures the queuing delay.
func (p *PIE) Dequeue(now aqm.Time, k aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now <= p.clock {
		now = p.clock
	} else {
		p.clock = now
	}
	switch {
	case now >= p.timer.Next:
		p.depart(now, k, q)
	case p.estimator == timestamps:
		p.note(now, k, q)
	case p.estimator == tokenBucket || !p.rate.count(k.Size, q.Bytes):
		p.depart(now, k, q)
	}
	return aqm.Verdict{}
}

// note takes down a departure's timestamps, now being the clock's. One that leaves the queue empty is the
// last for some time, during which the delay is 0.
func (p *PIE) note(now aqm.Time, k aqm.Packet, q aqm.Occupancy) {
	p.departed, p.enqueued = now, k.EnqueuedAt
	if empty(q) {
		p.enqueued = now
	}
}

func empty(q aqm.Occupancy) bool { return q.Packets <= 0 && q.Bytes <= 0 }

// sojourn returns the queuing delay by timestamps.
func (p *PIE) sojourn() time.Duration { return max(0, p.departed.Sub(p.enqueued)) }

// depart is Dequeue where an update is due, or where the estimate of the delay takes
// more than a note.
//
//go:noinline
func (p *PIE) depart(now aqm.Time, k aqm.Packet, q aqm.Occupancy) {
	if now >= p.timer.Next {
		before := q.Bytes + int64(k.Size) // backlog since the last event
		if before < q.Bytes {
			before = math.MaxInt64
		}
		p.update(now, before, false)
	}
	switch p.estimator {
	case timestamps:
		p.note(now, k, q)
	case byRate:
		p.rate.depart(p.clock, k.Size, q.Bytes)
	case tokenBucket:
		p.bucket.depart(p.clock, k.Size)
	}
}

// De-randomization [RFC 8033 5.4; RFC 8034 A.1].
const (
	probLow    = 0.85 // accumulated p below which nothing is signalled; largest p of a packet with DOCSIS
	probHigh   = 8.5  // accumulated p from which all is
	spareBelow = 0.2  // p below which a low delay spares all arrivals [RFC 8033 4.1]
	minPacket  = 64   // bytes, MIN_PKTSIZE [RFC 8034 A.1]
)

// judge is Enqueue where more than the backlog is to be looked at.
//
//go:noinline
func (p *PIE) judge(now aqm.Time, k aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if now >= p.timer.Next {
		p.update(now, q.Bytes, empty(q))
	}
	if q.Full {
		p.accumulated = 0 // RFC 8033 Appendix B
		if !p.docsis && p.activity == inactive && q.Bytes >= p.activateAt {
			p.wake()
		}
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	if q.Bytes <= p.passUpTo {
		return aqm.Verdict{}
	}
	if p.activity == inactive {
		p.wake() // RFC 8033 activates after the packet is judged: there p is 0 now, and it passes
	}
	prob := p.p
	if p.docsis {
		prob = min(float64(prob*float64(k.Size))/float64(p.config.MeanPacket), probLow) // RFC 8034 A.3
	}
	p.accumulated += prob
	if p.docsis && (p.spared() || q.Bytes <= p.bypass) {
		return aqm.Verdict{}
	}
	if p.accumulated < probLow || p.accumulated < probHigh && prob < p.rand.Uniform() {
		return aqm.Verdict{}
	}
	p.accumulated = 0
	if p.activity == quiescent { // RFC 8034 A.3
		p.activity = active
		p.burst = p.config.MaxBurst
		p.arm()
	}
	if p.p < p.ecnLimit {
		return aqm.MarkOrDrop(k.ECN, aqm.Early)
	}
	return aqm.MarkOrDrop(k.ECN, aqm.Forced)
}
