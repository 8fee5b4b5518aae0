package pi

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
	"github.com/stretchr/testify/assert"
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
// many packets at an RTT of ms milliseconds, and what Design makes of it.
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
		Band: aqmtest.Range[float64]{Low: .8, High: 1.25}, Swing: 1,
		Settle: 200 * rtt, Utilisation: .95, Points: 2,
	}
	return d, func(src rand.Source) aqm.AQM {
		c := c
		c.Rand = src
		return build(t, c)
	}
}

// TestFarBelowFlows has the limit that Design documents: it is for at least so many
// flows. With an eighth of them the queue oscillates and the link runs idle, where
// what is designed for the few holds it.
func TestFarBelowFlows(t *testing.T) {
	const rate, rtt, many, few = 40_000_000, 100 * time.Millisecond, 80, 10
	designed := func(flows int) aqmtest.MakeAQM {
		return func(src rand.Source) aqm.AQM {
			c, err := Design(rate, rtt*5/4, flows, 1500, 80, 5*time.Millisecond)
			require.NoError(t, err)
			c.Rand = src
			return build(t, c)
		}
	}
	at := func(flows int) aqmtest.Domain {
		return aqmtest.Domain{
			Rate:  aqmtest.Range[uint64]{Low: rate, High: rate},
			RTT:   aqmtest.Range[time.Duration]{Low: rtt, High: rtt},
			Flows: aqmtest.Range[int]{Low: flows, High: flows},
			Unit:  aqm.Packets, Target: 80,
			Band: aqmtest.Range[float64]{Low: .7, High: 1.3}, Swing: 1.15,
			Settle: 20 * time.Second, Utilisation: .98, Points: 1,
		}
	}
	require.NoError(t, aqmtest.CheckStability(designed(many), at(many)))
	require.NoError(t, aqmtest.CheckStability(designed(few), at(few)))
	err := aqmtest.CheckStability(designed(many), at(few))
	t.Log(err)
	var broken []string
	for _, i := range aqmtest.Instabilities(err) {
		broken = append(broken, i.Promise.Name)
	}
	assert.Contains(t, broken, "oscillation")
	assert.Contains(t, broken, "utilisation")
}
