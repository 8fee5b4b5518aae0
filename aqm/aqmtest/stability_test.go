package aqmtest

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// controller is a PI controller with the gains of C. Hollot et al., INFOCOM 2001, in
// packets, or in whatever units a fault makes of them.
type controller struct {
	a, b, target float64
	interval     aqm.Time
	unbounded    bool // the integrator is not held in [0, 1]
	measure      func(now aqm.Time, q aqm.Occupancy) float64

	src     rand.Source
	next    aqm.Time
	p, last float64
}

// piFor returns the controller for 20 Mb/s, 120 ms and 20 flows or more, with a target
// of 60 packets: R*C = 200 + 60 packets and w_g = 2N/(R^2*C), at which the gain is 1.
func piFor(src rand.Source) *controller {
	const c, n = 20e6 / 8 / packetSize, 20.
	r := .12 + 60/c
	wg := 2 * n / (r * r * c)
	k := wg * math.Hypot(wg*r, 1) * math.Pow(2*n, 2) / math.Pow(r*c, 3)
	const interval = .01
	return &controller{
		a: k/wg + k*interval/2, b: k/wg - k*interval/2, target: 60, interval: 10_000_000, src: src, last: 60,
		measure: func(_ aqm.Time, q aqm.Occupancy) float64 { return float64(q.Packets) },
	}
}

func (c *controller) Probability() float64 { return min(1, max(0, c.p)) }

func (c *controller) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	for ; c.next <= now; c.next += c.interval {
		x := c.measure(now, q)
		c.p += c.a*(x-c.target) - c.b*(c.last-c.target)
		c.last = x
		if !c.unbounded {
			c.p = c.Probability()
		}
	}
	switch {
	case q.Full:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	case float64(c.src.Uint64()>>11)/(1<<53) < c.Probability():
		return aqm.MarkOrDrop(p.ECN, aqm.Early)
	}
	return aqm.Verdict{}
}

func (c *controller) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }

// piDomain is what piFor promises.
func piDomain() Domain {
	return Domain{
		Rate: Range[uint64]{18e6, 20e6}, RTT: Range[time.Duration]{100 * time.Millisecond, 120 * time.Millisecond}, Flows: Range[int]{20, 25},
		Unit: aqm.Packets, Target: 60,
		Band: Range[float64]{.75, 1.35}, Swing: .9, Settle: 10 * time.Second, Utilisation: .95,
		Points: 3,
	}
}

func madeOf(change func(*controller)) MakeAQM {
	return func(src rand.Source) aqm.AQM {
		c := piFor(src)
		change(c)
		return c
	}
}

func TestStabilityOfPI(t *testing.T) {
	TestStability(t, madeOf(func(*controller) {}), piDomain(), Seed(1))
}

// simulated hides the probability, so that there is no fluid.
type simulated struct{ c *controller }

func (s simulated) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict { return s.c.Enqueue(now, p, q) }
func (s simulated) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict { return s.c.Dequeue(now, p, q) }

// unstable are faults in the controller.
var unstable = []struct {
	name   string
	change func(*controller)
}{
	{"sign error", func(c *controller) { c.a, c.b = -c.a, -c.b }},
	{"gain x50", func(c *controller) { c.a, c.b = 50*c.a, 50*c.b }},
	{"bytes for packets", func(c *controller) {
		c.measure = func(_ aqm.Time, q aqm.Occupancy) float64 { return float64(q.Bytes) }
	}},
	{"bits for bytes in the target", func(c *controller) { c.target *= 8 }},
	{"sampling x100 too slow", func(c *controller) { c.interval *= 100 }},
	{"no anti-windup", func(c *controller) { c.unbounded = true }},
	{"an average over an hour", func(c *controller) {
		avg, last := 0., aqm.Time(0)
		c.measure = func(now aqm.Time, q aqm.Occupancy) float64 {
			avg += (float64(q.Packets) - avg) * -math.Expm1(-float64(now-last)/3600e9)
			last = now
			return avg
		}
	}},
	{"an integrator alone", func(c *controller) { c.a, c.b = 20*(c.a-c.b), 0 }},
	{"no control", func(c *controller) { c.a, c.b = 0, 0 }},
	{"full throttle", func(c *controller) { c.a, c.b, c.p = 0, 0, .5 }},
}

func TestUnstable(t *testing.T) {
	for _, f := range unstable {
		t.Run(f.name, func(t *testing.T) {
			err := CheckStability(madeOf(f.change), piDomain())
			t.Log("both models:", err)
			var i *Instability
			assert.ErrorAs(t, err, &i)
			err = CheckStability(func(src rand.Source) aqm.AQM { return simulated{madeOf(f.change)(src).(*controller)} }, piDomain())
			t.Log("simulation alone:", err)
			assert.ErrorAs(t, err, &i)
		})
	}
	_ = errors.New
	_ = require.Error
}
