package tcp

import (
	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// The timers of an end are deadlines. The engine is told of one that is earlier
// than the event it knows, and learns of a later one when that event comes.

func (e *End) arm(at aqm.Time) {
	if at < e.armed {
		e.armed = at
		e.net.Sim().Set(e.id, at)
	}
}

func (e *End) setRTO(now aqm.Time) {
	e.rtoAt = now + min(e.rto<<e.backoff, e.p.maxRTO)
	e.arm(e.rtoAt)
}

// Fire implements sim.Source.
func (e *End) Fire(now aqm.Time) aqm.Time {
	e.armed = -1 // no call of arm until this is settled
	if e.delackAt <= now {
		e.delackAt = sim.Never
		e.sendACK(now)
	}
	if e.rtoAt <= now {
		e.rtoAt = sim.Never
		e.timeout(now)
	}
	if e.sendAt <= now {
		e.sendAt = sim.Never
		e.output(now)
	}
	e.armed = min(e.rtoAt, e.delackAt, e.sendAt)
	return e.armed
}

// sample takes an RTT sample: RFC 6298 section 2, without a clock granularity; with
// LikeNS2, ns-2's ticks of 1 ms.
func (e *End) sample(r aqm.Time) {
	if e.p.LikeNS2 {
		const tick = 1_000_000
		r = max(r/tick, 1) * tick
	}
	if e.srtt == 0 {
		e.srtt, e.rttvar = r, r/2
	} else {
		d := e.srtt - r
		if d < 0 {
			d = -d
		}
		e.rttvar += (d - e.rttvar) / 4
		e.srtt += (r - e.srtt) / 8
	}
	e.rto = min(max(e.srtt+4*e.rttvar, e.p.minRTO), e.p.maxRTO)
}
