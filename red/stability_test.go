package red

import (
	"math"
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

// TestStable draws links, round-trip times, flows and targets, and closes the loop of
// TCP over the Adaptive RED that Design returns for them.
func TestStable(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	parameters.MinSuccessfulTests = 3
	properties := gopter.NewProperties(parameters)
	properties.Property("Design is stable in closed loop", prop.ForAll(
		func(mbps, ms, window int) (bool, error) {
			rate, rtt := uint64(mbps)*1_000_000, time.Duration(ms)*time.Millisecond
			pipe := float64(rate) / 8 / 1500 * rtt.Seconds()
			flows, delay := int(pipe)/window, rtt/4
			c, err := Design(rate, delay, 1500)
			if err != nil {
				return false, err
			}
			err = aqmtest.CheckStability(
				func(src rand.Source) aqm.AQM {
					c := c
					c.Rand = src
					r, err := New(c)
					require.NoError(t, err)
					return r
				},
				aqmtest.Domain{
					Rate:  aqmtest.Range[uint64]{Low: rate, High: rate},
					RTT:   aqmtest.Range[time.Duration]{Low: rtt * 3 / 4, High: rtt},
					Flows: aqmtest.Range[int]{Low: flows, High: flows * 5 / 4},
					Unit:  aqm.Packets, Target: 2 * c.MinTh,
					Band: aqmtest.Range[float64]{Low: .8, High: 1.2}, Swing: 1.1,
					Settle: 20 * time.Second, Utilisation: .95, Points: 2,
				})
			return err == nil, err
		},
		gen.IntRange(20, 40), gen.IntRange(60, 120), gen.IntRange(10, 14)))
	properties.TestingRun(t)
}

// TestOutsideTunedRange has the limit of a RED that does not adapt: it is tuned to a
// least number of flows and a longest round-trip time,
//
//	L (R C)^3/(2N)^2 <= sqrt((w_g/K)^2 + 1),  w_g = min(2N/(R^2 C), 1/R)/10
//	L = MaxP/(MaxTh-MinTh),  K = -C ln(1-Weight)
//
// (C. Hollot, V. Misra, D. Towsley, W. Gong, "A Control Theoretic Analysis of RED",
// INFOCOM 2001, proposition 1), and oscillates with fewer flows and a longer one.
func TestOutsideTunedRange(t *testing.T) {
	const rate, flows, rtt = 20_000_000, 32, 100 * time.Millisecond
	const c, n, r = rate / 8 / 1500., float64(flows), .136 // with 60 packets queued
	config := DefaultConfig()
	config.Rate, config.MeanPacket = rate, 1500
	config.MinTh, config.MaxTh, config.MaxP = 30, 90, .1
	wg := min(2*n/(r*r*c), 1/r) / 10
	slope := config.MaxP / (config.MaxTh - config.MinTh) * math.Pow(r*c, 3) / math.Pow(2*n, 2)
	k := wg / math.Sqrt(slope*slope-1)
	config.Weight = -math.Expm1(-k / c)
	t.Logf("Weight %.3g", config.Weight)
	mk := func(src rand.Source) aqm.AQM {
		c := config
		c.Rand = src
		a, err := New(c)
		require.NoError(t, err)
		return a
	}
	domain := func(rtt time.Duration, flows int) aqmtest.Domain {
		return aqmtest.Domain{
			Rate:  aqmtest.Range[uint64]{Low: rate, High: rate},
			RTT:   aqmtest.Range[time.Duration]{Low: rtt, High: rtt},
			Flows: aqmtest.Range[int]{Low: flows, High: flows},
			Unit:  aqm.Packets, Target: 60,
			Band: aqmtest.Range[float64]{Low: 0, High: 10}, Swing: .8,
			Settle: 40 * time.Second, Points: 1,
		}
	}
	aqmtest.TestStability(t, mk, domain(rtt, flows))
	err := aqmtest.CheckStability(mk, domain(2*rtt, flows/4))
	t.Log(err)
	broken := aqmtest.Instabilities(err)
	require.NotEmpty(t, broken)
	assert.Equal(t, "oscillation", broken[0].Promise.Name)
}
