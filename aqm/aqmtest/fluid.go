package aqmtest

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/loop"
)

// fluid has the AQM in the fluid model. It starts with the windows of the equilibrium
// and an empty queue, since the model has no slow start.
func (l *closedLoop) fluid(a aqm.AQM, probability func() float64) (phases []Phase, err error) {
	d := l.domain
	feed := &departures{AQM: a}
	f := loop.Fluid{
		Capacity: pipe(l.point.Rate, time.Second), Base: l.point.RTT.Seconds(), Flows: float64(l.point.Flows),
		AQM: feed, Probability: probability, MeanPacket: packetSize,
		Window: pipe(l.point.Rate, l.point.RTT) / float64(l.point.Flows),
	}
	rate := l.point.Rate
	for _, p := range l.steps(fluid) {
		if p.Rate != rate {
			rate = p.Rate
			if err := l.setRate(a, rate); err != nil {
				return phases, err
			}
		}
		f.Flows, f.Capacity = float64(p.Flows), pipe(rate, time.Second)
		feed.perPacket = 1e9 / f.Capacity
		queue := f.Run(2 * d.Settle)
		for i, q := range queue {
			queue[i] = d.inUnit(q, rate)
		}
		err := l.judge(&p, queue)
		phases = append(phases, p)
		if err != nil {
			return phases, err
		}
	}
	return phases, nil
}

// departures adds to the arrivals of the model, which is all it has, a departure
// before each: of the packet that waited for the queue that is there.
type departures struct {
	aqm.AQM
	perPacket float64 // ns; transmission of one
}

// Enqueue asks about a departure, if there can be one, and the arrival.
func (d *departures) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Packets > 0 {
		out := p
		waited := min(float64(q.Packets)*d.perPacket, math.MaxInt64/4)
		out.EnqueuedAt = now - aqm.Time(waited)
		after := aqm.Occupancy{Packets: q.Packets - 1, Bytes: q.Bytes - packetSize}
		d.AQM.Dequeue(now, out, after)
	}
	return d.AQM.Enqueue(now, p, q)
}
