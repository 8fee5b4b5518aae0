package rem

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

// numbered puts an algorithm on a source whose number is that of the question, so
// that two algorithms draw alike for a packet even where only one of them drew for
// the packets before: where p is 0 in one and the rounding of 0 in the other.
type numbered struct {
	aqm.AQM
	source *source
}

type source struct{ question uint64 }

// Uint64 returns a well-mixed function of the question's number (splitmix64).
func (s *source) Uint64() uint64 {
	x := s.question * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (n numbered) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	n.source.question++
	return n.AQM.Enqueue(now, p, q)
}

// naive returns the oracle of a REM under c, without a source.
func naive(c Config) *oracle.REM {
	return &oracle.REM{
		Gamma: c.Gamma, Alpha: c.Alpha, Phi: c.Phi, Target: c.Target, Interval: c.Interval, Rate: c.Rate, Unit: c.Unit,
		MeanPacket: c.MeanPacket, ScaleBySize: c.ScaleBySize, MaxECN: c.MaxECN,
	}
}

// pair returns a REM and its oracle on equal sources, and a function that compares
// what they know of the price.
func pair(t testing.TB, c Config) (a, b aqm.AQM, differ func() error) {
	t.Helper()
	s, z := new(source), new(source)
	c.Rand = s
	fast, err := New(c)
	require.NoError(t, err)
	slow := naive(c)
	slow.Rand = z
	return numbered{fast, s}, numbered{slow, z}, func() error {
		state := fast.State()
		switch {
		case state.Updates != slow.Ticks:
			return fmt.Errorf("%d updates, and %d ticks of the timer", state.Updates, slow.Ticks)
		case !(math.Abs(state.Prob-slow.Prob) <= 1e-9):
			return fmt.Errorf("p = %v, and %v by the timer", state.Prob, slow.Prob)
		case !(math.Abs(state.Price-slow.Price) <= 1e-8*math.Max(1, slow.Price)): // a million ticks round a million times
			return fmt.Errorf("price = %v, and %v by the timer", state.Price, slow.Price)
		case !(state.Prob >= 0 && state.Prob <= 1):
			return fmt.Errorf("p = %v", state.Prob)
		}
		return nil
	}
}

// TestTimer holds the updates at events against a timer that runs: equal numbers of
// updates, p within 1e-9, equal verdicts, through silences of up to an hour.
func TestTimer(t *testing.T) {
	// A hundred times the gain, so that the price passes through all of its range.
	brisk := DefaultConfig()
	brisk.Gamma *= 100
	scaled := brisk
	scaled.ScaleBySize, scaled.MaxECN = true, 0.1
	for _, tc := range []struct {
		name string
		c    Config
	}{
		{"packets", DefaultConfig()},
		{"brisk", brisk},
		{"bytes, scaled by size", scaled.InBytes()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b, differ := pair(t, tc.c)
			agree, signals := script.Agree(differ), 0
			m := script.Machine{Judged: func(j script.Judgement) error {
				if v := j.Verdicts[0]; v.Reason == aqm.Early || v.Reason == aqm.Forced {
					signals++
				}
				return agree(j)
			}}
			r := rand.New(rand.NewPCG(8, 8))
			left := *events
			silence := time.Duration(0)
			for left > 0 {
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
			t.Logf("%d events, %v of silence, %d signals", *events, silence.Round(time.Minute), signals)
			require.Greater(t, signals, *events/100, "p was not 0 all along")
		})
	}
}
