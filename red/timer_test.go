package red

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
)

var events = flag.Int("events", 1_000_000, "random events in the comparison with a timer")

// naive returns the oracle of a RED under c.
func naive(c Config, seed uint64) *oracle.RED {
	bottom, top := c.bounds()
	return &oracle.RED{
		Bytes: c.Unit == aqm.Bytes, MinTh: c.MinTh, MaxTh: c.MaxTh, MaxP: c.MaxP, Weight: c.Weight,
		Gentle: c.Gentle, Wait: c.Wait, MeanPacket: c.MeanPacket, ScaleBySize: c.ScaleBySize, Rate: c.Rate, MaxECN: c.MaxECN,
		Adaptive: c.Adaptive, Interval: c.AdaptInterval, Bottom: bottom, Top: top, Rand: rand.NewPCG(seed, 1),
	}
}

// pair returns a RED and its oracle on equal sources, and a function that compares
// what they know: the next tick, max_p within 1e-9, and p_b within tolerance. The average is
// equal to the last bit until an idle time, which one takes to a power and the other
// packet by packet: a power of m loses up to m half bits.
func pair(t testing.TB, c Config, seed uint64, tolerance float64) (*RED, *oracle.RED, func() error) {
	t.Helper()
	c.Rand = rand.NewPCG(seed, 1)
	fast, slow := newRED(t, c), naive(c, seed)
	return fast, slow, func() error {
		s := fast.State()
		switch {
		case fast.config.Adaptive && fast.timer.Next != slow.Next():
			return fmt.Errorf("next tick at %d, and the timer's at %d", fast.timer.Next, slow.Next())
		case !(math.Abs(s.MaxP-slow.MaximumP()) <= 1e-9):
			return fmt.Errorf("max_p = %v, and %v by the timer", s.MaxP, slow.MaximumP())
		case !(math.Abs(s.Avg-slow.Avg) <= 1e-9*slow.Avg) && slow.Avg > 1e-100:
			return fmt.Errorf("average %v, and %v packet by packet", s.Avg, slow.Avg)
		case !(math.Abs(s.Prob-slow.Probability()) <= tolerance):
			return fmt.Errorf("p_b = %v, and %v", s.Prob, slow.Probability())
		case s.Prob != fast.Probability():
			return fmt.Errorf("State has p_b = %v, and Probability %v", s.Prob, fast.Probability())
		}
		return nil
	}
}

// TestTimer holds the ticks at events against a timer that runs: equal numbers of
// ticks, max_p within 1e-9, equal verdicts, through silences of up to an hour.
func TestTimer(t *testing.T) {
	ared, err := Design(10_000_000, 10*ms, 1000)
	require.NoError(t, err)
	scaled := ared.InBytes()
	scaled.ScaleBySize, scaled.MaxECN = true, 0.1
	often := ared
	often.AdaptInterval = 7 * time.Millisecond // the decay of one silence crosses the band over many ticks
	for _, tc := range []struct {
		name string
		c    Config
	}{
		{"packets", ared},
		{"bytes, scaled by size", scaled},
		{"adapting often", often},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b, differ := pair(t, tc.c, 7, 1e-11)
			signals, up, down, last := 0, 0, 0, a.State().MaxP
			agree := script.Agree(func() error {
				switch p := a.State().MaxP; {
				case p > last:
					up++
				case p < last:
					down++
				}
				last = a.State().MaxP
				return differ()
			})
			m := script.Machine{LimitPackets: 100, Judged: func(j script.Judgement) error {
				if v := j.Verdicts[0]; v.Reason == aqm.Early || v.Reason == aqm.Forced {
					signals++
				}
				return agree(j)
			}}
			r := rand.New(rand.NewPCG(8, 8))
			silence := time.Duration(0)
			for left := *events; left > 0; {
				s := script.Random(r, min(left, 10_000), 800*time.Microsecond)
				left -= len(s)
				longest := time.Minute
				if r.IntN(10) == 0 {
					longest = time.Hour
				}
				s[0].Wait = time.Duration(r.Int64N(int64(longest)))
				silence += s[0].Wait
				require.NoError(t, m.Run(s, a, b))
			}
			t.Logf("%d events, %v of silence, %d ticks, %d signals; max_p rose at %d events and fell at %d",
				*events, silence.Round(time.Minute), b.Ticks, signals, up, down)
			require.Greater(t, signals, *events/100)
			require.Greater(t, up, *events/100_000)
			require.Greater(t, down, *events/100_000)
		})
	}
}
