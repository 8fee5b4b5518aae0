package red

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aqmkit/aqmkit/aqm"
)

// pa is the probability that the n-th packet after a signal is the next one, given
// that none before it was, as the sources compute it for every packet. The RED
// paper, "Calculating the packet-marking probability": p_b/(1 - count p_b), count
// being the packets since the last signal that passed. ns-2's red.cc with wait_, which
// counts the packet at hand: nothing up to 1/p_b packets, then p_b/(2 - count p_b).
func pa(n int, pb float64, wait bool) float64 {
	if wait {
		switch c := float64(n) * pb; {
		case c < 1-1e-9:
			return 0
		case c < 2-pb:
			return pb / (2 - c)
		}
		return 1
	}
	if c := float64(n-1) * pb; c < 1-pb {
		return pb / (1 - c)
	}
	return 1
}

// TestSpacing holds the distances between signals, for which the law draws once,
// against the distribution that p_a gives when it is drawn against for every packet:
// by chi-square, with the critical value of a probability of 1 in 1000.
func TestSpacing(t *testing.T) {
	// Chi-square's 0.999 quantiles by degrees of freedom.
	critical := map[int]float64{3: 16.27, 14: 36.12, 19: 43.82}
	for _, tc := range []struct {
		maxP float64 // p_b is half of it
		wait bool
		from,
		to, freedom int
	}{
		{0.1, false, 1, 20, 19},
		{0.1, true, 20, 39, 19},
		{0.5, false, 1, 4, 3},
		{0.5, true, 4, 7, 3},
		{0.14, false, 1, 15, 14}, // 1/p_b is not whole: the last one has what is left
	} {
		t.Run(fmt.Sprintf("p_b %v, wait %v", tc.maxP/2, tc.wait), func(t *testing.T) {
			const draws = 200_000
			c := Config{
				MinTh: 10, MaxTh: 20, MaxP: tc.maxP, Weight: 1, Wait: tc.wait,
				MeanPacket: 500, Rate: 1e6, Rand: rand.NewPCG(5, 5),
			}
			r := newRED(t, c)
			seen := map[int]int{}
			n := 0
			for signals := 0; signals < draws; {
				n++
				if r.Enqueue(0, ect0(), packets(15)).Action == aqm.Mark {
					signals++
					seen[n]++
					n = 0
				}
			}
			chi, left, cells := 0.0, 1.0, 0
			total := 0
			for n := 1; n <= 2*tc.to; n++ {
				p := left * pa(n, tc.maxP/2, tc.wait)
				left -= p
				if p < 1e-12 {
					assert.Zero(t, seen[n], "%d packets apart", n)
					continue
				}
				d := float64(seen[n]) - p*draws
				chi += d * d / (p * draws)
				cells++
				total += seen[n]
				assert.True(t, n >= tc.from && n <= tc.to, "%d packets apart", n)
			}
			assert.Equal(t, draws, total)
			assert.Equal(t, tc.freedom, cells-1)
			t.Logf("chi-square %.1f for %d degrees of freedom", chi, cells-1)
			assert.Less(t, chi, critical[tc.freedom])
		})
	}
}
