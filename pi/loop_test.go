package pi

import (
	"math"
	"math/cmplx"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/loop"
)

// links are what the margin is measured at; the first is the paper's.
var links = []struct {
	rate       uint64
	rtt        time.Duration
	flows      int
	meanPacket uint32
	interval   time.Duration
}{
	{15_000_000, 246 * time.Millisecond, 60, 500, time.Second / 160},
	{100_000_000, 100 * time.Millisecond, 50, 1500, 5 * time.Millisecond},
	{10_000_000, 100 * time.Millisecond, 10, 1500, 10 * time.Millisecond},
	{1_000_000_000, 20 * time.Millisecond, 200, 1500, time.Millisecond},
}

// promised returns the crossover frequency in rad/s and the margin in degrees that
// Design's documentation promises.
func promised(tcp loop.TCP) (w, margin float64) {
	x := 2 * tcp.N / (tcp.R * tcp.C)
	return x / tcp.R, 90 - (x+math.Atan(x))*180/math.Pi
}

// TestMargin computes the open loop from A, B and Interval, which have the frequency
// response (A - B e^{-jwT})/(1 - e^{-jwT}), and finds the promised crossover and
// margin, less the lag of half an interval.
func TestMargin(t *testing.T) {
	for _, l := range links {
		c, err := Design(l.rate, l.rtt, l.flows, l.meanPacket, 20, l.interval)
		require.NoError(t, err)
		tcp := loop.TCP{C: float64(l.rate) / 8 / float64(l.meanPacket), R: l.rtt.Seconds(), N: float64(l.flows)}
		controller := func(w float64) complex128 {
			delay := cmplx.Exp(complex(0, -w*l.interval.Seconds()))
			return (complex(c.A, 0) - complex(c.B, 0)*delay) / (1 - delay)
		}
		w, margin := tcp.Margin(controller, l.interval)
		wantW, want := promised(tcp)
		lag := wantW * l.interval.Seconds() / 2 * 180 / math.Pi
		t.Logf("%d bit/s: w_g %.4f rad/s, margin %.2f degrees, promised %.2f less %.2f", l.rate, w, margin, want, lag)
		assert.InEpsilon(t, wantW, w, 1e-3)
		assert.InDelta(t, want-lag, margin, 0.05)
	}
}

// TestSineWave measures the controller instead of computing it: a queue that swings
// about QRef at the crossover frequency, and what p makes of it.
func TestSineWave(t *testing.T) {
	for _, l := range links {
		c, err := Design(l.rate, l.rtt, l.flows, l.meanPacket, 20, l.interval)
		require.NoError(t, err)
		amplitude := 0.3 / (math.Sqrt2 * c.A) // packets; p stays within 0.2 and 0.8
		c.QRef = math.Round(amplitude)
		a := build(t, c)
		a.setProb(0.5)
		tcp := loop.TCP{C: float64(l.rate) / 8 / float64(l.meanPacket), R: l.rtt.Seconds(), N: float64(l.flows)}
		wantW, want := promised(tcp)
		period := int(2 * math.Pi / (wantW * l.interval.Seconds())) // in updates
		w := 2 * math.Pi / (float64(period) * l.interval.Seconds())
		var in, out complex128
		a.Dequeue(0, data(1), aqm.Occupancy{Packets: int(c.QRef) - 1})
		for k := 1; k <= 2*period; k++ {
			angle := 2 * math.Pi * float64(k) / float64(period)
			q := int(math.Round(c.QRef + amplitude*math.Sin(angle)))
			a.Dequeue(aqm.Time(k)*aqm.Time(l.interval), data(1), aqm.Occupancy{Packets: q - 1})
			if k > period { // the transient of an integrator is a constant, which a period cancels
				back := cmplx.Exp(complex(0, -angle))
				in += complex(float64(q), 0) * back
				out += complex(a.Probability(), 0) * back
			}
		}
		require.Equal(t, uint64(2*period), a.State().Updates)
		measured := out / in
		wg, margin := tcp.Margin(func(float64) complex128 { return measured }, l.interval)
		t.Logf("%d bit/s: response %.4g to 1 packet at %.4f rad/s, margin %.2f degrees, promised %.2f", l.rate, cmplx.Abs(measured), w, margin, want)
		// The controller was measured at one frequency, and is flat about it.
		assert.InEpsilon(t, wantW, wg, 0.02)
		assert.InDelta(t, want-wantW*l.interval.Seconds()/2*180/math.Pi, margin, 1)
	}
}

// TestClosedLoop closes the loop over the nonlinear model of TCP at the paper's link:
// the queue settles at QRef, and does so again after half of the flows have left,
// and after twice as many have come.
func TestClosedLoop(t *testing.T) {
	designed, err := Design(15_000_000, 246*time.Millisecond, 60, 500, 100, time.Second/160)
	require.NoError(t, err)
	published := Published()
	published.QRef = 100
	for name, c := range map[string]Config{"designed": designed, "published": published, "in bytes": designed.InBytes()} {
		a := build(t, c)
		f := loop.Fluid{Capacity: 3750, Base: 0.2, Flows: 60, AQM: a, Probability: a.Probability, MeanPacket: 500, Window: 1}
		for _, flows := range []float64{60, 120, 60, 45} {
			f.Flows = flows
			queue := f.Run(100 * time.Second)
			tail := queue[len(queue)*9/10:]
			low, high := tail[0], tail[0]
			for _, q := range tail {
				low, high = min(low, q), max(high, q)
			}
			t.Logf("%s, %v flows: queue from %.2f to %.2f packets in the last 10 s, p %.4f", name, flows, low, high, a.Probability())
			assert.InDelta(t, 100, low, 2, "%s, %v flows", name, flows)
			assert.InDelta(t, 100, high, 2, "%s, %v flows", name, flows)
			window := (0.2 + 100.0/3750) * 3750 / flows
			assert.InEpsilon(t, 2/(window*window), a.Probability(), 0.02, "the equilibrium of the model, W^2*p = 2")
		}
	}
}
