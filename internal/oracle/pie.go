package oracle

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// PIE is RFC 8033's pseudo-code, or RFC 8034's, under a timer that ticks one update
// at a time. Times are in seconds but for those of events.
type PIE struct {
	Target, Update, MaxBurst time.Duration
	Alpha, Beta, MaxECN      float64
	MeanPacket               uint32
	LimitBytes               int64
	DepartureRate            bool
	DOCSIS                   bool
	PeakRate, SustainedRate  uint64 // bit/s
	TrafficBurst             uint32
	Rand                     rand.Source

	PIEVars

	Updates uint64 // ticks of the timer

	started bool
	clock   aqm.Time // largest now
	next    aqm.Time // instant of the next tick
	over    bool     // which is beyond the end of time
}

// PIEVars are the variables of the pseudo-code.
type PIEVars struct {
	State           string // "INACTIVE", "QUIESCENT", "ACTIVE"
	DropProb        float64
	AccuProb        float64
	QDelay          float64 // current_qdelay
	QDelayOld       float64
	BurstAllowance  time.Duration
	BurstReset      time.Duration
	InMeasurement   bool
	MeasureStart    aqm.Time
	DQCount         int64
	AvgDQTime       float64
	Tokens          float64 // of the MSR bucket
	TokensAt        aqm.Time
	TokensUntouched bool // no departure yet: the bucket is full
}

// Next returns the instant of the next tick.
func (o *PIE) Next() aqm.Time {
	if o.over {
		return math.MaxInt64
	}
	return o.next
}

// initial is RFC 8033 Appendix A's initialization, with 5.3, and RFC 8034 A.2's.
func (o *PIE) initial() {
	o.PIEVars = PIEVars{State: "INACTIVE", TokensUntouched: true}
	switch {
	case o.LimitBytes != 0:
	case o.DOCSIS:
		o.State = "QUIESCENT"
	default:
		o.State, o.BurstAllowance = "ACTIVE", o.MaxBurst
	}
}

// Reconfigure goes on with the parameters of c, but for its Rand.
func (o *PIE) Reconfigure(c *PIE) {
	if o.State == "" {
		o.initial()
	}
	old := *o
	random, vars, updates, started, clock := o.Rand, o.PIEVars, o.Updates, o.started, o.clock
	next, over := o.next, o.over
	*o = *c
	o.Rand, o.PIEVars, o.Updates, o.started, o.clock, o.next, o.over = random, vars, updates, started, clock, next, over
	if o.started && !o.over { // the next tick is one new period after the last
		o.plusPeriod(old.next - aqm.Time(old.Update))
	}

	if o.DOCSIS != old.DOCSIS {
		o.initial()
		return
	}
	if o.DepartureRate != old.DepartureRate || (o.SustainedRate != 0) != (old.SustainedRate != 0) {
		// The delay is measured anew.
		o.QDelay = 0
		o.InMeasurement, o.AvgDQTime, o.DQCount, o.MeasureStart = false, 0, 0, 0
		o.TokensUntouched = true
	}
	if o.TrafficBurst != old.TrafficBurst {
		o.TokensUntouched = true
	}
	if most := 0.85 * float64(o.MeanPacket) / 64; o.DOCSIS && o.DropProb > most {
		o.DropProb = most
	}
	if o.BurstAllowance > o.MaxBurst {
		o.BurstAllowance = o.MaxBurst
	}
	if o.LimitBytes == 0 && o.State == "INACTIVE" { // it never is
		if o.DOCSIS {
			o.State = "QUIESCENT"
		} else {
			o.activate()
		}
	}
}

// Enqueue judges an arrival.
func (o *PIE) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	o.timer(now, float64(q.Bytes), q.Packets <= 0 && q.Bytes <= 0)
	if o.DOCSIS {
		return o.enqueueDOCSIS(p, q)
	}
	return o.enqueue(p, q)
}

// Dequeue passes a departure.
func (o *PIE) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	o.timer(now, float64(q.Bytes)+float64(p.Size), false)
	switch {
	case o.DepartureRate:
		o.measure(p, q)
	case o.SustainedRate != 0:
		o.Tokens = math.Max(0, o.msrTokens(o.clock)-float64(p.Size))
		o.TokensAt, o.TokensUntouched = o.clock, false
	default: // timestamps
		o.QDelay = math.Max(0, float64(o.clock.Sub(p.EnqueuedAt))/1e9)
		if q.Packets <= 0 && q.Bytes <= 0 {
			o.QDelay = 0
		}
	}
	return aqm.Verdict{}
}

// timer runs the ticks until now, with the occupancy since the last event.
func (o *PIE) timer(now aqm.Time, bytes float64, empty bool) {
	if !o.started {
		o.started, o.clock = true, now
		if o.State == "" {
			o.initial()
		}
		o.plusPeriod(now)
		return
	}
	if now > o.clock {
		o.clock = now
	}
	now = o.clock
	for !o.over && o.next <= now {
		before := o.PIEVars
		o.tick(o.next, bytes, empty)
		o.Updates++
		o.plusPeriod(o.next)
		if o.PIEVars == before && !o.tokensRise(bytes) && !o.over && o.next <= now {
			// Nothing changed, so nothing will: the other ticks but one are only counted.
			n := (uint64(now) - uint64(o.next)) / uint64(o.Update)
			o.Updates += n
			o.next += aqm.Time(n * uint64(o.Update))
		}
	}
}

func (o *PIE) tokensRise(bytes float64) bool {
	return o.SustainedRate != 0 && o.msrTokens(o.next) < math.Min(bytes, float64(o.TrafficBurst))
}

func (o *PIE) plusPeriod(t aqm.Time) {
	if t > math.MaxInt64-aqm.Time(o.Update) {
		o.over = true
		return
	}
	o.next = t + aqm.Time(o.Update)
}

// tick is one update at the instant t.
func (o *PIE) tick(t aqm.Time, bytes float64, empty bool) {
	switch {
	case o.DepartureRate && o.State != "ACTIVE": // RFC 8033 5.3
	case o.DepartureRate:
		// RFC 8033 5.2: current_qdelay = queue_.byte_length() * avg_dq_time / DQ_THRESHOLD
		o.QDelay = math.Max(bytes, 0) * o.AvgDQTime / 16384
	case o.SustainedRate != 0:
		// RFC 8034 A.2
		b, tokens := math.Max(bytes, 0), o.msrTokens(t)
		peak, msr := float64(o.PeakRate)/8, float64(o.SustainedRate)/8
		if b <= tokens {
			o.QDelay = b / peak
		} else {
			o.QDelay = (b-tokens)/msr + tokens/peak
		}
	case empty:
		o.QDelay = 0
	}
	if o.DOCSIS {
		o.tickDOCSIS()
	} else if o.State == "ACTIVE" {
		o.tickPIE()
	}
}

// msrTokens is the level of the MSR token bucket at t.
func (o *PIE) msrTokens(t aqm.Time) float64 {
	if o.TokensUntouched {
		return float64(o.TrafficBurst)
	}
	elapsed := math.Max(0, float64(t.Sub(o.TokensAt))/1e9) // a tick of a shorter period may be due before the last departure
	arrived := float64(o.SustainedRate) / 8 * elapsed
	return math.Min(float64(o.TrafficBurst), o.Tokens+float64(arrived))
}

// tickPIE is RFC 8033 4.2, with 4.4, 5.3 and 5.5.
func (o *PIE) tickPIE() {
	ref := float64(o.Target) / 1e9
	p := float64(o.Alpha*(o.QDelay-ref)) + float64(o.Beta*(o.QDelay-o.QDelayOld))
	if o.DropProb < 0.000001 {
		p /= 2048
	} else if o.DropProb < 0.00001 {
		p /= 512
	} else if o.DropProb < 0.0001 {
		p /= 128
	} else if o.DropProb < 0.001 {
		p /= 32
	} else if o.DropProb < 0.01 {
		p /= 8
	} else if o.DropProb < 0.1 {
		p /= 2
	}
	if o.DropProb >= 0.1 && p > 0.02 {
		p = 0.02
	}
	o.DropProb += p
	low := o.QDelay < ref/2 && o.QDelayOld < ref/2
	if low {
		o.DropProb *= 0.98
	}
	if o.DropProb < 0 {
		o.DropProb = 0
	}
	if o.DropProb > 1 {
		o.DropProb = 1
	}
	if o.DropProb == 0 {
		o.AccuProb = 0
	}
	o.QDelayOld = o.QDelay
	o.BurstAllowance -= o.Update
	if o.BurstAllowance < 0 {
		o.BurstAllowance = 0
	}
	if o.DropProb == 0 && low {
		o.BurstAllowance = o.MaxBurst
		if o.LimitBytes != 0 {
			o.State = "INACTIVE"
		}
	}
}

// enqueue is RFC 8033 Appendix B with Appendix A's order of tests.
func (o *PIE) enqueue(p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	v := aqm.Verdict{}
	if q.Full {
		v = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
		o.AccuProb = 0
	} else if o.State == "ACTIVE" && o.BurstAllowance == 0 && o.dropEarly(q) {
		o.AccuProb = 0
		switch {
		case o.MaxECN != 0 && o.DropProb >= o.MaxECN: // 5.1
			v = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
		case p.ECN == aqm.NotECT:
			v = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
		default:
			v = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
		}
	}
	third := o.LimitBytes / 3
	if o.LimitBytes%3 != 0 {
		third++
	}
	if o.State == "INACTIVE" && q.Bytes >= third {
		o.activate()
	}
	return v
}

// activate is RFC 8033 5.3.
func (o *PIE) activate() {
	o.State = "ACTIVE"
	o.QDelayOld, o.DropProb, o.AccuProb = 0, 0, 0
	o.InMeasurement, o.AvgDQTime, o.DQCount, o.MeasureStart = false, 0, 0, 0
	o.BurstAllowance = o.MaxBurst
}

// dropEarly is RFC 8033 4.1 and 5.4.
func (o *PIE) dropEarly(q aqm.Occupancy) bool {
	ref := float64(o.Target) / 1e9
	if o.QDelayOld < ref/2 && o.DropProb < 0.2 || q.Bytes <= 2*int64(o.MeanPacket) {
		return false
	}
	if o.DropProb == 0 {
		o.AccuProb = 0
	}
	o.AccuProb += o.DropProb
	if o.AccuProb < 0.85 {
		return false
	}
	if o.AccuProb >= 8.5 {
		return true
	}
	return o.random() <= o.DropProb
}

// random draws from (0, 1].
func (o *PIE) random() float64 { return float64(o.Rand.Uint64()>>11+1) / (1 << 53) }

// measure is RFC 8033 5.2 in the order of Appendix B.
func (o *PIE) measure(p aqm.Packet, q aqm.Occupancy) {
	if o.InMeasurement {
		o.DQCount += int64(p.Size)
		if o.DQCount >= 16384 {
			t := float64(o.clock.Sub(o.MeasureStart)) / 1e9
			if o.AvgDQTime == 0 {
				o.AvgDQTime = t
			} else {
				const weight = 16384.0 / 65536
				o.AvgDQTime = float64(weight*t) + float64((1-weight)*o.AvgDQTime)
			}
			o.InMeasurement = false
		}
	}
	if q.Bytes >= 16384 && !o.InMeasurement {
		o.InMeasurement = true
		o.MeasureStart = o.clock
		o.DQCount = 0
	}
}

// tickDOCSIS is RFC 8034 A.2.
func (o *PIE) tickDOCSIS() {
	target := float64(o.Target) / 1e9
	if o.BurstAllowance > 0 {
		o.DropProb = 0
		o.BurstAllowance -= o.Update
		if o.BurstAllowance < 0 {
			o.BurstAllowance = 0
		}
	} else {
		p := float64(o.Alpha*(o.QDelay-target)) + float64(o.Beta*(o.QDelay-o.QDelayOld))
		if o.DropProb < 0.000001 {
			p /= 2048
		} else if o.DropProb < 0.00001 {
			p /= 512
		} else if o.DropProb < 0.0001 {
			p /= 128
		} else if o.DropProb < 0.001 {
			p /= 32
		} else if o.DropProb < 0.01 {
			p /= 8
		} else if o.DropProb < 0.1 {
			p /= 2
		} else if o.DropProb < 1 {
			p /= 0.5
		} else if o.DropProb < 10 {
			p /= 0.125
		} else {
			p /= 0.03125
		}
		if o.DropProb >= 0.1 && p > 0.02 {
			p = 0.02
		}
		o.DropProb += p
		if o.QDelay < 0.005 && o.QDelayOld < 0.005 {
			o.DropProb *= 0.98
		} else if o.QDelay > 0.2 {
			o.DropProb += 0.02
		}
		o.DropProb = math.Max(0, o.DropProb)
		o.DropProb = math.Min(o.DropProb, 0.85*float64(o.MeanPacket)/64)
	}
	if o.DropProb == 0 {
		o.AccuProb = 0
	}
	quiet := o.QDelay < 0.5*target && o.QDelayOld < 0.5*target && o.DropProb == 0 && o.BurstAllowance == 0
	if o.State == "ACTIVE" && quiet {
		o.State = "QUIESCENT"
		o.BurstReset = 0
	} else if o.State == "QUIESCENT" {
		if quiet {
			if o.LimitBytes != 0 { // else it is never inactive
				o.BurstReset += o.Update
			}
			if o.BurstReset > time.Second {
				o.BurstReset = 0
				o.State = "INACTIVE"
			}
		} else {
			o.BurstReset = 0
		}
	}
	o.QDelayOld = o.QDelay
}

// enqueueDOCSIS is RFC 8034 A.3.
func (o *PIE) enqueueDOCSIS(p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Full {
		o.AccuProb = 0
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	if o.BurstAllowance > 0 {
		return aqm.Verdict{}
	}
	if o.DropProb == 0 {
		o.AccuProb = 0
	}
	if o.State == "INACTIVE" {
		third := o.LimitBytes / 3
		if o.LimitBytes%3 != 0 {
			third++
		}
		if q.Bytes < third {
			return aqm.Verdict{}
		}
		o.State = "QUIESCENT"
	}
	p1 := o.DropProb * float64(p.Size) / float64(o.MeanPacket)
	p1 = math.Min(p1, 0.85)
	o.AccuProb += p1
	target := float64(o.Target) / 1e9
	if o.QDelayOld < 0.5*target && o.DropProb < 0.2 || q.Bytes <= 2*int64(o.MeanPacket) {
		return aqm.Verdict{}
	}
	if o.AccuProb < 0.85 {
		return aqm.Verdict{}
	}
	if o.AccuProb < 8.5 && o.random() > p1 {
		return aqm.Verdict{}
	}
	o.AccuProb = 0
	if o.State == "QUIESCENT" {
		o.State = "ACTIVE"
		o.BurstAllowance = o.MaxBurst
	}
	return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced} // no ECN
}
