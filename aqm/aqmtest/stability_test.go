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
		Band: Range[float64]{.75, 1.35}, Swing: .9, Settle: 15 * time.Second, Utilisation: .95,
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
	TestStability(t, madeOf(func(*controller) {}), piDomain())
	TestStability(t, madeOf(func(*controller) {}), piDomain(), Seed(7))
}

// TestStabilityOfCUBIC has flows that take back less at a signal.
func TestStabilityOfCUBIC(t *testing.T) {
	d := piDomain()
	d.Sender, d.Points = CUBIC, 1
	TestStability(t, madeOf(func(*controller) {}), d)
}

// simulated hides the probability, so that there is no fluid.
type simulated struct{ c *controller }

func (s simulated) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return s.c.Enqueue(now, p, q)
}

func (s simulated) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }

// unstable are faults in the controller, each with a promise that it breaks in the
// simulation, and whether the fluid has it already.
var unstable = []struct {
	name    string
	change  func(*controller)
	promise string
	fluid   bool
}{
	{"sign error", func(c *controller) { c.a, c.b = -c.a, -c.b }, "settles", true},
	{"gain x50", func(c *controller) { c.a, c.b = 50*c.a, 50*c.b }, "oscillation", true},
	{"gain in bytes, queue in packets", func(c *controller) { c.a, c.b = c.a/packetSize, c.b/packetSize }, "settles", true},
	{"gain in packets, queue in bytes", func(c *controller) {
		c.target *= packetSize
		c.last = c.target
		c.measure = func(_ aqm.Time, q aqm.Occupancy) float64 { return float64(q.Bytes) }
	}, "utilisation", true},
	{"target in packets, queue in bytes", func(c *controller) {
		c.a, c.b = c.a/packetSize, c.b/packetSize
		c.measure = func(_ aqm.Time, q aqm.Occupancy) float64 { return float64(q.Bytes) }
	}, "mean", true},
	{"sampling x100 too slow", func(c *controller) { c.interval *= 100 }, "mean", true},
	{"no anti-windup", func(c *controller) { c.unbounded = true }, "settles", false},
	{"an average over an hour", func(c *controller) {
		avg, last := 0., aqm.Time(0)
		c.measure = func(now aqm.Time, q aqm.Occupancy) float64 {
			avg += (float64(q.Packets) - avg) * -math.Expm1(-float64(now-last)/3600e9)
			last = now
			return avg
		}
	}, "settles", true},
	{"an integrator alone", func(c *controller) { c.a, c.b = 20*(c.a-c.b), 0 }, "oscillation", true},
	{"no control", func(c *controller) { c.a, c.b = 0, 0 }, "settles", true},
	{"a coin", func(c *controller) { c.a, c.b, c.p = 0, 0, .5 }, "utilisation", true},
}

func TestUnstable(t *testing.T) {
	for _, f := range unstable {
		t.Run(f.name, func(t *testing.T) {
			err := CheckStability(madeOf(f.change), piDomain())
			broken := Instabilities(err)
			require.NotEmpty(t, broken, "%v", err)
			assert.Equal(t, f.fluid, broken[0].Phase.Model == "fluid", "%v", err)

			err = CheckStability(func(src rand.Source) aqm.AQM {
				return simulated{madeOf(f.change)(src).(*controller)}
			}, piDomain())
			t.Log(err)
			var names []string
			for _, i := range Instabilities(err) {
				assert.Equal(t, "packets", i.Phase.Model)
				names = append(names, i.Promise.Name)
			}
			assert.Contains(t, names, f.promise)
		})
	}
}

// TestInstability reads an error: it names the promise, what was measured, the step,
// the point and the seed.
func TestInstability(t *testing.T) {
	d := piDomain()
	d.Points = 1
	err := CheckStability(func(rand.Source) aqm.AQM { return aqm.TailDrop{} }, d, Seed(3))
	for _, part := range []string{
		`settles: "A step of load or capacity is over within Domain.Settle."`,
		`mean: "The mean of the queue is in Domain.Band around the target."`,
		"of the target of 60 packets, must be in [0.75, 1.35]",
		"at 20 Mb/s, RTT 120ms, 20 flows (point 0 of seed 3)",
		"packets, start (20 flows, 20 Mb/s): settled after 30s, queue ",
		", utilisation 1.000",
	} {
		assert.ErrorContains(t, err, part)
	}
	assert.Empty(t, Instabilities(nil))
	assert.Empty(t, Instabilities(errors.New("another")))
}

// TestJudge has each promise broken by samples that are made to.
func TestJudge(t *testing.T) {
	d := Domain{Target: 10, Band: Range[float64]{.8, 1.2}, Swing: .5, Settle: 10 * time.Second, Utilisation: .9}
	const half = blocks * perBlock
	steady := func() []float64 {
		x := make([]float64, 2*half)
		for i := range x {
			x[i] = 10 + 4*float64(i%2) - 2
		}
		return x
	}
	// So short that no quantile sees it, and the mean of a block does.
	spike := func(x []float64) {
		for i := range 3 * perBlock / 10 {
			x[i] = 40
		}
	}
	for _, c := range []struct {
		name    string
		change  func(x []float64)
		use     float64
		settled time.Duration
		want    []string
	}{
		{"steady", func([]float64) {}, .9, 0, nil},
		{"settles in time", func(x []float64) { clear(x[:half]) }, 1, 10 * time.Second, nil},
		{"too late", func(x []float64) { clear(x[:half]); spike(x[half:]) }, 1, 11 * time.Second, []string{"settles"}},
		{"a moment near the end", func(x []float64) { spike(x[2*half-2*perBlock:]) }, 1, 19 * time.Second, []string{"settles"}},
		{"a block of nothing", func(x []float64) { clear(x[half : half+perBlock]) }, 1, 11 * time.Second, []string{"settles", "oscillation"}},
		{"a square wave", func(x []float64) {
			for i := range x {
				x[i] = 20 * float64(i/(perBlock/10)%2)
			}
		}, 1, 0, []string{"oscillation"}},
		{"too high", func(x []float64) {
			for i := range x {
				x[i] += 3
			}
		}, 1, 0, []string{"mean"}},
		{"too low", func(x []float64) {
			for i := range x {
				x[i] -= 3
			}
		}, 1, 0, []string{"mean"}},
		{"empty", func(x []float64) { clear(x) }, 0, 20 * time.Second, []string{"settles", "mean", "utilisation"}},
		{"idle", func([]float64) {}, .89, 0, []string{"utilisation"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := steady()
			c.change(x)
			p := Phase{Model: packets, Utilisation: c.use}
			var names []string
			for _, i := range Instabilities((&closedLoop{domain: d}).judge(&p, x)) {
				names = append(names, i.Promise.Name)
			}
			assert.Equal(t, c.want, names)
			assert.Equal(t, c.settled, p.Settled)
		})
	}
	p := Phase{Model: fluid}
	assert.NoError(t, (&closedLoop{domain: d}).judge(&p, steady()), "the fluid has no utilisation")
}

func TestDomainValidate(t *testing.T) {
	require.NoError(t, piDomain().Validate())
	err := Domain{Unit: 9, Sender: 9, Utilisation: math.NaN(), Swing: math.NaN(), Target: math.Inf(1)}.Validate()
	for _, field := range []string{"Rate", "RTT", "Flows", "Unit", "Target", "Band", "Swing", "Settle", "Utilisation", "Sender", "Points"} {
		assert.ErrorContains(t, err, "Domain."+field+" = ")
	}
	d := piDomain()
	d.Flows.High = 45
	assert.ErrorContains(t, d.Validate(), "Domain.Flows = 45 at most, at 18000000 bit/s and 100ms: 1.67 packets are left for the window of each of twice as many, must be >= 2")
	d = piDomain()
	d.Rate.High, d.Flows.High = 1e12, 20
	assert.ErrorContains(t, d.Validate(), "must be < 16777216")
	d = piDomain()
	d.Settle = 2 * time.Second
	assert.ErrorContains(t, d.Validate(), "Settle = 2s, must be in [20 RTT.High, 1h]")
	assert.ErrorContains(t, CheckStability(nil, piDomain()), "mk and Domain.Design are nil")
	assert.ErrorContains(t, CheckStability(nil, Domain{}, Limit(0)), "Limit = 0")
}

// TestPoints sees the corner first, all within the domain, and equal for equal seeds.
func TestPoints(t *testing.T) {
	d := piDomain()
	d.Points = 200
	points := d.points(5)
	assert.Equal(t, points, d.points(5))
	assert.NotEqual(t, points[1:], d.points(6)[1:])
	assert.Equal(t, Point{20e6, 120 * time.Millisecond, 20, 5, 0}, points[0])
	seen := map[int]bool{}
	for i, p := range points {
		assert.Equal(t, i, p.Index)
		assert.True(t, p.Rate >= d.Rate.Low && p.Rate <= d.Rate.High, "%v", p)
		assert.True(t, p.RTT >= d.RTT.Low && p.RTT <= d.RTT.High, "%v", p)
		seen[p.Flows] = true
	}
	assert.Len(t, seen, 6, "20 to 25 flows")
}

// TestStabilityRepeats has equal measurements for equal seeds, to the bit.
func TestStabilityRepeats(t *testing.T) {
	measure := func() (all []Phase) {
		require.NoError(t, eachPoint(madeOf(func(*controller) {}), piDomain(), nil, func(l *closedLoop) error {
			phases, err := l.run()
			all = append(all, phases...)
			return err
		}))
		return all
	}
	all := measure()
	assert.Len(t, all, 3*(5+6))
	assert.Equal(t, all, measure())
}

// TestDesignForPoints has an AQM for each point, which is told of the rate, and is
// wrapped.
func TestDesignForPoints(t *testing.T) {
	var points []Point
	var rates []uint64
	d := piDomain()
	d.Points = 2
	d.Design = func(p Point, src rand.Source) (aqm.AQM, error) {
		points = append(points, p)
		return wrapped{piFor(src)}, nil
	}
	d.SetRate = func(a aqm.AQM, rate uint64) error {
		assert.IsType(t, wrapped{}, a)
		rates = append(rates, rate)
		return nil
	}
	require.NoError(t, CheckStability(nil, d))
	want := d.points(1)
	assert.Equal(t, []Point{want[0], want[0], want[1], want[1]}, points, "one for each model")
	a, b := want[0].Rate, want[1].Rate
	assert.Equal(t, []uint64{a / 2, a, a / 2, a, b / 2, b, b / 2, b}, rates)

	failed := errors.New("failed")
	d.SetRate = func(aqm.AQM, uint64) error { return failed }
	assert.ErrorIs(t, CheckStability(nil, d), failed)
	d.Design = func(Point, rand.Source) (aqm.AQM, error) { return nil, failed }
	assert.ErrorIs(t, CheckStability(nil, d), failed)
	assert.ErrorContains(t, CheckStability(func(rand.Source) aqm.AQM { return nil }, piDomain()), "no AQM at 20 Mb/s, RTT 120ms, 20 flows (point 0 of seed 1): it is nil")
}
