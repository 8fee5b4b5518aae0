package red

import (
	"math"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/lazy"
	"github.com/aqmkit/aqmkit/internal/num"
)

// RED is Random Early Detection, Adaptive RED included. It implements aqm.AQM; use
// New, and do not copy it.
type RED struct {
	// What a passing packet needs comes first.
	wake   aqm.Time // instant from which an event takes the rare path: of the next tick, or of the first event
	clock  aqm.Time // largest now
	avg    float64
	keep   float64 // 1 - Weight
	weight float64
	minTh  float64
	maxTh  float64
	sure   float64 // average from which p_b is 1: MaxTh, or 2 MaxTh if gentle
	credit float64 // packets since the last signal, or their bytes where scaled, plus start
	limit  float64 // need/slope: what credit*(avg-MinTh) has to reach; 0 where nothing is drawn
	bytes  bool    // Unit is Bytes
	scaled bool    // ScaleBySize

	*cold
}

// cold is what only a signal, an idle time, a tick or a new configuration touches.
type cold struct {
	need     float64 // what credit*p_b has to reach for a signal
	maxP     float64 // as adapted
	slope    float64 // of p_b from MinTh to MaxTh
	gentle   float64 // of p_b from MaxTh to 2 MaxTh
	unit     float64 // of credit: a packet, or the bytes of a mean one
	start    float64 // credit right after a signal
	idle     idleClock
	timer    lazy.Timer
	started  bool    // there was an event
	bandLow  float64 // the averages that need no adaptation
	bandHigh float64
	rand     num.Rand
	config   Config
}

// State is a snapshot of a RED, as of the last event.
type State struct {
	Avg  float64 // average queue, in Unit
	MaxP float64 // max_p, as adapted
	Prob float64 // p_b of a packet of MeanPacket bytes

	// Count is the number of packets since the last signal, 0 right after one, and
	// -1 while the average is below MinTh. Under ScaleBySize it counts their bytes,
	// in whole MeanPackets.
	Count int64
}

// New returns a RED that has seen an empty queue. The error lists all that is wrong
// with c.
func New(c Config) (*RED, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &RED{clock: math.MinInt64, cold: new(cold)}
	r.rand.Init(c.Rand)
	r.maxP = c.MaxP
	r.timer = lazy.NewTimer(c.AdaptInterval)
	r.set(c)
	return r, nil
}

// Reconfigure replaces the configuration. After an error the old one stands. The
// average stays, in the new unit, and so does the random source. An adapted max_p
// stays within the new range unless c.MaxP is new. The count since the last signal
// starts afresh where what it counts has changed.
func (r *RED) Reconfigure(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	old := r.config
	if c.Unit != old.Unit {
		if c.Unit == aqm.Bytes {
			r.avg *= float64(c.MeanPacket)
		} else {
			r.avg /= float64(old.MeanPacket)
		}
	}
	if c.Wait != old.Wait || c.ScaleBySize != old.ScaleBySize || c.ScaleBySize && c.MeanPacket != old.MeanPacket {
		r.limit = 0
	}
	if c.Adaptive && old.Adaptive && c.MaxP == old.MaxP {
		bottom, top := c.bounds()
		r.maxP = max(bottom, min(top, r.maxP))
	} else {
		r.maxP = c.MaxP
	}
	switch {
	case c.Adaptive && !old.Adaptive:
		r.timer = lazy.NewTimer(c.AdaptInterval)
	case c.Adaptive && c.AdaptInterval != old.AdaptInterval:
		r.timer.SetPeriod(c.AdaptInterval)
	}
	r.set(c)
	return nil
}

// set derives from a valid c what the law needs.
func (r *RED) set(c Config) {
	r.config = c
	r.keep, r.weight = 1-c.Weight, c.Weight
	r.minTh, r.maxTh = c.MinTh, c.MaxTh
	r.bytes, r.scaled = c.Unit == aqm.Bytes, c.ScaleBySize
	r.unit = 1
	if c.ScaleBySize {
		r.unit = float64(c.MeanPacket)
	}
	r.start = 0
	if c.Wait {
		r.start = r.unit
	}
	r.idle = newIdleClock(c.Rate, c.MeanPacket)
	r.bandLow = c.MinTh + float64(0.4*(c.MaxTh-c.MinTh)) // ARED 4
	r.bandHigh = c.MinTh + float64(0.6*(c.MaxTh-c.MinTh))
	r.setMaxP(r.maxP)
	r.setWake()
}

// setMaxP makes all that depends on max_p follow it.
func (r *RED) setMaxP(p float64) {
	r.maxP = p
	r.slope = p / (r.maxTh - r.minTh)
	r.gentle = (1 - p) / r.maxTh
	r.sure = r.maxTh
	if r.config.Gentle && p < 1 {
		r.sure = 2 * r.maxTh
	}
	if r.limit > 0 {
		r.limit = r.need / r.slope
	}
}

func (r *RED) setWake() {
	switch {
	case !r.started, r.config.Adaptive && r.timer.Next <= r.clock: // at the next event, even if now steps back
		r.wake = math.MinInt64
	case r.config.Adaptive:
		r.wake = r.timer.Next
	default:
		r.wake = math.MaxInt64
	}
}

// State returns a snapshot.
func (r *RED) State() State {
	s := State{Avg: r.avg, MaxP: r.maxP, Prob: r.Probability()}
	switch {
	case r.avg < r.minTh:
		s.Count = -1
	case r.limit > 0:
		s.Count = int64(min((r.credit-r.start)/r.unit, 1<<62))
	}
	return s
}

// Probability returns p_b as of the last event: what a packet of MeanPacket bytes
// is signalled with on average.
func (r *RED) Probability() float64 { return r.prob(r.avg) }

// prob returns p_b [RED Fig. 2; gentle].
func (r *RED) prob(avg float64) float64 {
	switch {
	case avg < r.minTh:
		return 0
	case avg < r.maxTh:
		return min(float64(r.slope*(avg-r.minTh)), r.maxP) // a rounded slope must not lift it above p_b at MaxTh
	case avg < r.sure:
		return min(r.maxP+float64(r.gentle*(avg-r.maxTh)), 1)
	}
	return 1
}

// Enqueue averages the queue and signals with the probability that follows.
func (r *RED) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Packets <= 0 || q.Full || now >= r.wake {
		return r.rare(now, p, q)
	}
	if now > r.clock {
		r.clock = now
	}
	n := int64(q.Packets)
	if r.bytes {
		n = max(q.Bytes, 0)
	}
	avg := math.FMA(r.keep, r.avg, float64(r.weight*float64(n))) // RED Fig. 2; rounded once, the same everywhere
	r.avg = avg
	if avg < r.minTh {
		r.limit = 0
		return aqm.Verdict{}
	}
	if avg >= r.maxTh {
		if avg >= r.sure {
			r.limit = 0
			return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
		}
		return r.judge(p)
	}
	credit := r.credit + 1
	if r.scaled {
		credit = r.credit + float64(p.Size)
	}
	r.credit = credit
	if float64(credit*(avg-r.minTh)) >= r.limit {
		return r.due(p)
	}
	return aqm.Verdict{}
}

// Dequeue keeps the time and passes the packet.
func (r *RED) Dequeue(now aqm.Time, _ aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	if now >= r.wake {
		r.elapse(now, false)
	}
	if now > r.clock {
		r.clock = now
	}
	return aqm.Verdict{}
}

// rare is Enqueue where the queue is empty or full, or a tick is due.
//
//go:noinline
func (r *RED) rare(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	now = max(now, r.clock)
	empty := q.Packets <= 0
	if now >= r.wake {
		r.elapse(now, empty)
	}
	switch {
	case empty:
		r.avg *= num.Power(r.keep, r.idle.advance(uint64(now)-uint64(r.clock))) // RED Fig. 2
	case r.bytes:
		r.avg = math.FMA(r.keep, r.avg, float64(r.weight*float64(max(q.Bytes, 0))))
	default:
		r.avg = math.FMA(r.keep, r.avg, float64(r.weight*float64(q.Packets)))
	}
	r.clock = now
	if q.Full {
		r.limit = 0 // a loss is a signal too: what ns-2 does on a forced drop
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	return r.judge(p)
}

// judge decides about a packet, once the average has it.
//
//go:noinline
func (r *RED) judge(p aqm.Packet) aqm.Verdict {
	switch {
	case r.avg < r.minTh:
		r.limit = 0
		return aqm.Verdict{}
	case r.avg >= r.sure:
		r.limit = 0
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	}
	r.credit += r.step(p)
	if r.limit == 0 || float64(r.credit*r.prob(r.avg)) >= r.need {
		return r.due(p)
	}
	return aqm.Verdict{}
}

// due is reached where a signal is due, or the first packet of a count for which
// nothing is drawn.
//
//go:noinline
func (r *RED) due(p aqm.Packet) aqm.Verdict {
	if r.limit == 0 {
		r.draw()
		r.credit += r.step(p)
		if float64(r.credit*r.prob(r.avg)) < r.need {
			return aqm.Verdict{}
		}
	}
	r.draw()
	forced := r.avg >= r.maxTh // RFC 3168 7
	if limit := r.config.MaxECN; limit > 0 {
		forced = r.prob(r.avg) >= limit // ns-2 mark_p_
	}
	if forced {
		return aqm.MarkOrDrop(p.ECN, aqm.Forced)
	}
	return aqm.MarkOrDrop(p.ECN, aqm.Early)
}

// draw starts the count of packets to the next signal and draws its length. With n
// packets since the last signal and u uniform on (0, 1], the next is due once
//
//	n*p_b >= u           without Wait
//	(n+1)*p_b >= 1 + u   with Wait
//
// which is what p_a comes to, drawn against for every packet [RED, "Calculating the
// packet-marking probability"; ns-2 wait_]. n counts in units: of packets, or of the
// bytes of a mean packet.
func (r *RED) draw() {
	r.credit = r.start
	r.need = float64(r.rand.Uniform()*r.unit) + r.start
	r.limit = r.need / r.slope
}

// step returns what a packet adds to credit.
func (r *RED) step(p aqm.Packet) float64 {
	if r.scaled {
		return float64(p.Size)
	}
	return 1
}
