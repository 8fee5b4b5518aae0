package loop

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
)

// reference is the design example of Hollot et al.: 60 flows, 246 ms, 15 Mb/s in
// packets of 500 bytes.
var reference = TCP{C: 3750, R: 0.246, N: 60}

func TestReference(t *testing.T) {
	assert.InDelta(t, 0.529, reference.Pole(), 5e-4)
	assert.InDelta(t, 9.781e-6, reference.Gain(reference.Pole()), 5e-10)
	assert.InDelta(t, 15.4, reference.Window(), 0.05)
	assert.InEpsilon(t, 2/(15.375*15.375), reference.Probability(), 1e-12)
}

// TestMargin holds the numeric margin of the continuous controller against the one
// on paper: 90 degrees - w_g*R - atan(w_g*R).
func TestMargin(t *testing.T) {
	for _, loop := range []TCP{reference, {C: 8333, R: 0.1, N: 50}, {C: 1000, R: 0.05, N: 20}} {
		wg := loop.Pole()
		k := loop.Gain(wg)
		controller := func(w float64) complex128 {
			return complex(k, 0) * (complex(0, w/wg) + 1) / complex(0, w)
		}
		w, degrees := loop.Margin(controller, 0)
		assert.InEpsilon(t, wg, w, 1e-9)
		x := wg * loop.R
		assert.InDelta(t, 90-(x+math.Atan(x))*180/math.Pi, degrees, 1e-6)
	}
}

// TestMaxPhase sees the margin end where MaxPhase says that it does.
func TestMaxPhase(t *testing.T) {
	margin := func(x float64) float64 { return math.Pi/2 - x - math.Atan(x) }
	assert.Positive(t, margin(MaxPhase))
	assert.Negative(t, margin(MaxPhase+0.02))
}

func TestDesign(t *testing.T) {
	l := check.For("x")
	assert.Equal(t, reference, Design(l, 15e6, 246*time.Millisecond, 60, 500, "target", 50, 5*time.Millisecond))
	require.NoError(t, l.Err())

	Design(l, 0, 0, 0, 0, "target", math.NaN(), 0)
	for _, part := range []string{"rate = 0 bit/s", "rtt = 0s", "flows = 0 flows", "meanPacket = 0 bytes", "target = NaN packets", "interval = 0s"} {
		assert.ErrorContains(t, l.Err(), part)
	}

	l = check.For("x")
	Design(l, 15e6, 246*time.Millisecond, 393, 500, "target", 923, 200*time.Millisecond)
	require.ErrorIs(t, l.Err(), aqm.ErrConfig)
	assert.ErrorContains(t, l.Err(), "flows = 393 flows, must be < 392.1, so that w_g*rtt = 2*flows/(rtt*C) = 0.852 is < 0.85")
	assert.ErrorContains(t, l.Err(), "target = 923 packets, must be < rtt*C = 922.5 packets")
	assert.ErrorContains(t, l.Err(), "interval = 200ms, must be <= 181.4")
}

// still is an algorithm with a fixed probability.
type still struct{ aqm.TailDrop }

// TestFluid starts the nonlinear model in its equilibrium, where it has to stay:
// R = Tp + q/C, N*W/R = C, W^2*p = 2.
func TestFluid(t *testing.T) {
	f := Fluid{
		Capacity: 3750, Base: 0.2, Flows: 60, AQM: still{}, MeanPacket: 500,
		Probability: func() float64 { return reference.Probability() },
		Window:      reference.Window(), Queue: 0.046 * 3750,
	}
	queue := f.Run(20 * time.Second)
	require.Len(t, queue, 40_000)
	assert.InDelta(t, 172.5, queue[len(queue)-1], 1e-6)
	f.Flows = 61
	queue = f.Run(20 * time.Second)
	assert.Greater(t, queue[len(queue)-1], 172.5)
}
