package regime

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/pi"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/rem"
	"github.com/aqmkit/aqmkit/threshold"
)

// Regime is a state of an algorithm that has a cost of its own, and the load that
// keeps it there.
type Regime struct {
	Name string
	Load *Load

	make func() (aqm.AQM, aqm.Time)
}

// Instance returns an instance of the algorithm in the regime, and the instant from
// which the load goes on. The load has run over it twice, so that averages and
// states are where it takes them.
func (r Regime) Instance() (aqm.AQM, aqm.Time) {
	a, now := r.make()
	now, _ = r.Load.Pairs(a, now, 2*Steps)
	return a, now
}

// rate is what one packet of 1500 bytes per PacketTime comes to, in bit/s.
const rate = 100_000_000

// probability is what the regimes named "marking" and "dropping" hold.
const probability = 0.05

// For returns the regimes of the algorithm that the catalog calls name. Every
// algorithm has below, between, above, walk and idle, as far as they differ for it,
// and marking and dropping where it signals at random.
func For(name string) []Regime {
	switch name {
	case "droptail":
		return []Regime{
			{"queued", NewLoad(Standing(100), aqm.ECT0), ready(func() (aqm.AQM, error) { return aqm.TailDrop{}, nil })},
			{"idle", NewLoad(Steady(0), aqm.ECT0), ready(func() (aqm.AQM, error) { return aqm.TailDrop{}, nil })},
		}
	case "threshold":
		make := ready(func() (aqm.AQM, error) { return threshold.New(threshold.Config{Packets: 100}) })
		sojourn := ready(func() (aqm.AQM, error) { return threshold.New(threshold.Config{Sojourn: 100 * PacketTime}) })
		return append(levels(make, 10, 92, 300), Regime{"sojourn walk", NewLoad(Walk(), aqm.ECT0), sojourn})
	case "red":
		make := ready(func() (aqm.AQM, error) { return red.New(redConfig()) })
		adaptive := ready(func() (aqm.AQM, error) { c := redConfig(); c.Adaptive = true; return red.New(c) })
		return append(levels(make, 10, 92, 300),
			Regime{"dropping", NewLoad(Standing(92), aqm.NotECT), make},
			Regime{"adaptive walk", NewLoad(Walk(), aqm.ECT0), adaptive})
	case "codel":
		make := ready(func() (aqm.AQM, error) { return codel.New(codel.DefaultConfig()) })
		return append(levels(make, 8, 60, 160), Regime{"dropping", NewLoad(Standing(160), aqm.NotECT), make})
	case "pi":
		c := pi.Published()
		return random(func() (aqm.AQM, error) { c.Rand = source(); return pi.New(c) }, 50, 500)
	case "rem":
		c := rem.DefaultConfig()
		c.Rate, c.MeanPacket = rate, 1500
		return random(func() (aqm.AQM, error) { c.Rand = source(); return rem.New(c) }, int(c.Target), 10*int(c.Target))
	case "pie":
		c := pie.DefaultConfig()
		reference := int(c.Target / PacketTime)
		return random(func() (aqm.AQM, error) { c.Rand = source(); return pie.New(c) }, reference, reference*5/4)
	}
	return nil
}

// redConfig is what DPDK's own benchmark of RED uses: thresholds 50 and 150, max_p
// 1/10, a weight of 2^-9; without Gentle and Wait, which it does not have.
func redConfig() red.Config {
	c := red.DefaultConfig()
	c.MinTh, c.MaxTh, c.MaxP, c.Weight = 50, 150, 0.1, 1.0/512
	c.Gentle, c.Wait = false, false
	c.Rate, c.MeanPacket, c.Rand = rate, 1500, source()
	return c
}

func source() rand.Source { return rand.NewPCG(1, 2) }

// levels returns the regimes of a law that follows the queue: with backlogs below,
// between and above its thresholds, on a walk over all of them, and idle.
func levels(make func() (aqm.AQM, aqm.Time), below, between, above int) []Regime {
	return []Regime{
		{"below", NewLoad(Standing(below), aqm.ECT0), make},
		{"between", NewLoad(Standing(between), aqm.ECT0), make},
		{"above", NewLoad(Standing(above), aqm.ECT0), make},
		{"walk", NewLoad(Walk(), aqm.ECT0), make},
		{"idle", NewLoad(Steady(0), aqm.ECT0), make},
	}
}

// random returns the regimes of a law that moves a probability with a timer: at
// p = 0 and, driven there by a higher queue and held by one at its reference, at 5 %.
func random(newAQM func() (aqm.AQM, error), reference, higher int) []Regime {
	rest := ready(newAQM)
	held := func() (aqm.AQM, aqm.Time) {
		a, now := rest()
		at, high := NewLoad(Steady(reference), aqm.ECT0), NewLoad(Steady(higher), aqm.ECT0)
		law := a.(interface{ Probability() float64 })
		// The return to the reference takes some of p away, so that it is left from a
		// little higher each time until p stays near enough.
		for stop := probability; law.Probability() < 0.9*probability; stop += 0.1 * probability {
			for i := 0; law.Probability() < stop && i < 100_000; i++ {
				now, _ = high.Pairs(a, now, 100)
			}
			now, _ = at.Pairs(a, now, Steps/2)
		}
		return a, now
	}
	return []Regime{
		{"p = 0", NewLoad(Steady(reference/8), aqm.ECT0), rest},
		{"marking", NewLoad(Steady(reference), aqm.ECT0), held},
		{"dropping", NewLoad(Steady(reference), aqm.NotECT), held},
		{"walk", NewLoad(Walk(), aqm.ECT0), rest},
		{"idle", NewLoad(Steady(0), aqm.ECT0), rest},
	}
}

// ready returns a function that makes a new instance, and an instant to start from.
func ready(newAQM func() (aqm.AQM, error)) func() (aqm.AQM, aqm.Time) {
	return func() (aqm.AQM, aqm.Time) {
		a, err := newAQM()
		if err != nil {
			panic(fmt.Sprintf("regime: %v", err)) // the configurations are this package's own
		}
		return a, aqm.Time(time.Hour)
	}
}
