package pie

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
// what Design returns for them.
func TestStable(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	parameters.MinSuccessfulTests = 3
	properties := gopter.NewProperties(parameters)
	properties.Property("Design is stable in closed loop", prop.ForAll(
		func(mbps, ms, window int) (bool, error) {
			rate, rtt := uint64(mbps)*1_000_000, time.Duration(ms)*time.Millisecond
			pipe := float64(rate) / 8 / 1500 * rtt.Seconds()
			flows := int(pipe) / window
			c, err := Design(rate, rtt, 1500)
			if err != nil {
				return false, err
			}
			err = aqmtest.CheckStability(
				func(src rand.Source) aqm.AQM {
					c := c
					c.Rand = src
					p, err := New(c)
					require.NoError(t, err)
					return p
				},
				aqmtest.Domain{
					Rate:  aqmtest.Range[uint64]{Low: rate, High: rate},
					RTT:   aqmtest.Range[time.Duration]{Low: rtt * 3 / 4, High: rtt},
					Flows: aqmtest.Range[int]{Low: flows, High: flows * 5 / 4},
					Unit:  aqm.Delay, Target: c.Target.Seconds(),
					Band: aqmtest.Range[float64]{Low: .85, High: 1.4}, Swing: .9,
					Settle: 20 * time.Second, Utilisation: .95, Points: 2,
				})
			return err == nil, err
		},
		gen.IntRange(20, 40), gen.IntRange(40, 80), gen.IntRange(8, 10)))
	properties.TestingRun(t)
}
