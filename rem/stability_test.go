package rem

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/aqmtest"
)

// TestStable draws links, round-trip times and flows, and closes the loop of TCP over
// what Design returns for them: with at least that many flows, and RTTs that are no
// longer once the target's delay is counted in.
func TestStable(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	parameters.MinSuccessfulTests = 3
	properties := gopter.NewProperties(parameters)
	properties.Property("Design is stable in closed loop", prop.ForAll(
		func(mbps, ms, window int) (bool, error) {
			d, mk := loopOf(t, mbps, ms, window)
			err := aqmtest.CheckStability(mk, d)
			return err == nil, err
		},
		gen.IntRange(20, 40), gen.IntRange(60, 120), gen.IntRange(10, 14)))
	properties.TestingRun(t)
}

// loopOf returns the domain of a link of mbps Mb/s under flows whose windows are of so
// many packets at an RTT of ms milliseconds, and what Design makes of it. A REM has
// to be told of a new rate.
func loopOf(t *testing.T, mbps, ms, window int) (aqmtest.Domain, aqmtest.MakeAQM) {
	rate, rtt := uint64(mbps)*1_000_000, time.Duration(ms)*time.Millisecond
	pipe := float64(rate) / 8 / 1500 * rtt.Seconds()
	flows, target := int(pipe)/window, max(30, pipe/4)
	c, err := Design(rate, rtt+time.Duration(target/pipe*float64(rtt)), flows, 1500, target, rtt/20)
	require.NoError(t, err)
	d := aqmtest.Domain{
		Rate:  aqmtest.Range[uint64]{Low: rate, High: rate},
		RTT:   aqmtest.Range[time.Duration]{Low: rtt * 3 / 4, High: rtt},
		Flows: aqmtest.Range[int]{Low: flows, High: flows * 5 / 4},
		Unit:  aqm.Packets, Target: target,
		Band: aqmtest.Range[float64]{Low: .8, High: 1.3}, Swing: 1,
		Settle: 200 * rtt, Utilisation: .95, Points: 2,
		SetRate: func(a aqm.AQM, rate uint64) error {
			c := c
			c.Rate = rate
			return a.(*REM).Reconfigure(c)
		},
	}
	return d, func(src rand.Source) aqm.AQM {
		c := c
		c.Rand = src
		return build(t, c)
	}
}
