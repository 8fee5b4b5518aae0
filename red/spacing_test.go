package red

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

// uniform says where distances between signals do not come from a uniform
// distribution on the whole numbers in [from, to]: their mean is more than 5 standard
// deviations off, or their shares up to some distance are further from that
// distribution's than Kolmogorov and Smirnov's test allows, but for one time in
// 130 000.
func uniform(spacings []int, from, to int) error {
	n, width := float64(len(spacings)), float64(to-from+1)
	sum := 0
	for _, s := range spacings {
		sum += s
	}
	want, deviation := float64(from+to)/2, math.Sqrt((width*width-1)/12/n)
	if mean := float64(sum) / n; math.Abs(mean-want) > 5*deviation+1e-9 {
		return fmt.Errorf("%v packets apart on average, want %v", mean, want)
	}
	sorted := slices.Sorted(slices.Values(spacings))
	upTo := 0
	for s := min(from, sorted[0]); s <= max(to, sorted[len(sorted)-1]); s++ {
		for upTo < len(sorted) && sorted[upTo] <= s {
			upTo++
		}
		got, want := float64(upTo)/n, max(0, min(1, float64(s-from+1)/width))
		if math.Abs(got-want) > 2.5/math.Sqrt(n) { // 2 exp(-2*2.5^2)
			return fmt.Errorf("%v are up to %d packets apart, want %v", got, s, want)
		}
	}
	return nil
}

// TestUniform lets uniform find other distributions of the same mean: what p_b gives
// when it is drawn against for every packet, which the law avoids, in all that
// TestProperties draws; and a distance that always is the mean.
func TestUniform(t *testing.T) {
	const n = 2000
	r := rand.New(rand.NewPCG(seed, 6))
	byShape := 0
	for inverse := 2; inverse <= 100; inverse++ {
		for _, from := range []int{1, inverse} {
			to := from + inverse - 1
			flat, geometric, fixed := make([]int, n), make([]int, n), make([]int, n)
			for i := range n {
				flat[i] = from + r.IntN(inverse)
				geometric[i] = from
				for p := 2 / float64(inverse+1); r.Float64() >= p; {
					geometric[i]++
				}
				fixed[i] = (from + to + i%2) / 2
			}
			assert.NoError(t, uniform(flat, from, to))
			err := uniform(geometric, from, to)
			assert.Error(t, err, "geometric, %d to %d", from, to)
			if err != nil && !strings.Contains(err.Error(), "on average") {
				byShape++
			}
			if inverse > 2 { // of two distances, one and the other is what uniform ones are
				assert.ErrorContains(t, uniform(fixed, from, to), "up to", "fixed, %d to %d", from, to)
			}
		}
	}
	assert.Greater(t, byShape, 150, "geometric distances of the right mean")
}
