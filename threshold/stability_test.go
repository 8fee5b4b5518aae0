package threshold

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

// TestStable draws links, round-trip times, flows and senders, and closes the loop
// over what Design returns for them. A threshold in packets makes for twice the delay
// at half the rate.
func TestStable(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	parameters.MinSuccessfulTests = 4
	properties := gopter.NewProperties(parameters)
	properties.Property("Design is stable in closed loop", prop.ForAll(
		func(mbps, ms, window int, dctcp bool) (bool, error) {
			rate, rtt := uint64(mbps)*1_000_000, time.Duration(ms)*time.Millisecond
			pipe := float64(rate) / 8 / 1500 * rtt.Seconds()
			flows := int(pipe) / window
			sender, tcp := TCPECN, aqmtest.Reno
			if dctcp {
				sender, tcp = DCTCP, aqmtest.DCTCP
			}
			c, err := Design(sender, rate, rtt, 1, 1500, 0)
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
					Unit:  aqm.Packets, Target: float64(c.Packets),
					Band: aqmtest.Range[float64]{Low: .5, High: 1.25}, Swing: .9,
					Settle: 40 * rtt, Utilisation: .95, Points: 2,
					Sender: tcp,
				})
			return err == nil, err
		},
		gen.IntRange(10, 40), gen.IntRange(50, 120), gen.IntRange(10, 14), gen.Bool()))
	properties.TestingRun(t)
}
