package codel

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
// what Design returns for them. The target is where the queue is to return to within
// an interval, not its mean, which is a few times as much under windows that halve.
func TestStable(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	parameters.MinSuccessfulTests = 4
	properties := gopter.NewProperties(parameters)
	properties.Property("Design is stable in closed loop", prop.ForAll(
		func(mbps, ms, window int) (bool, error) {
			rate, rtt := uint64(mbps)*1_000_000, time.Duration(ms)*time.Millisecond
			pipe := float64(rate) / 8 / 1500 * rtt.Seconds()
			flows := int(pipe) / window
			c, err := Design(rate, rtt, 1514)
			if err != nil {
				return false, err
			}
			err = aqmtest.CheckStability(
				func(rand.Source) aqm.AQM {
					a, err := New(c)
					require.NoError(t, err)
					return a
				},
				aqmtest.Domain{
					Rate:  aqmtest.Range[uint64]{Low: rate, High: rate},
					RTT:   aqmtest.Range[time.Duration]{Low: rtt * 3 / 4, High: rtt},
					Flows: aqmtest.Range[int]{Low: flows, High: flows * 5 / 4},
					Unit:  aqm.Delay, Target: c.Target.Seconds(),
					Band: aqmtest.Range[float64]{Low: 2, High: 6}, Swing: 1.2,
					Settle: 20 * time.Second, Utilisation: .95, Points: 2,
				})
			return err == nil, err
		},
		gen.IntRange(20, 40), gen.IntRange(60, 120), gen.IntRange(10, 14)))
	properties.TestingRun(t)
}
