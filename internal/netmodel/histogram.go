package netmodel

import (
	"math"
	"math/bits"
	"time"
)

// subBits is the resolution of a Histogram: 2^subBits buckets for each power of
// two, a relative error of at most 1/64 at a bucket's middle.
const subBits = 5

// Histogram counts durations in buckets that are narrow where they are short. Its
// size is fixed, and its quantiles are right to 1.6 %.
type Histogram struct {
	counts [64 << subBits]uint64 // more than bucket returns, so that a mask keeps in range
	n      uint64
	sum    float64
	max    time.Duration
}

func bucket(d uint64) int {
	if d < 1<<subBits {
		return int(d)
	}
	e := bits.Len64(d) - subBits - 1
	return e<<subBits + int(d>>e)
}

// middle returns the duration in the middle of a bucket.
func middle(b int) float64 {
	if b < 2<<subBits {
		return float64(b)
	}
	e := b>>subBits - 1
	low := uint64(b-e<<subBits) << e
	return float64(low) + float64(uint64(1)<<e-1)/2
}

// Add counts d; a negative one as 0.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(uint64(d))&(len(h.counts)-1)]++
	h.n++
	h.sum += float64(d)
	h.max = max(h.max, d)
}

// Count returns how many were added.
func (h *Histogram) Count() uint64 { return h.n }

// Mean returns their mean, or 0 if there are none.
func (h *Histogram) Mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.n))
}

// Max returns the longest, exactly.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns the duration that a share q, in [0, 1], is not longer than; 0 if
// there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 || math.IsNaN(q) {
		return 0
	}
	rank := uint64(math.Ceil(min(max(q, 0), 1) * float64(h.n)))
	seen := uint64(0)
	for b, c := range h.counts {
		if seen += c; seen >= max(rank, 1) {
			return min(time.Duration(middle(b)), h.max)
		}
	}
	return h.max
}

// Merge adds what o has counted.
func (h *Histogram) Merge(o *Histogram) {
	for b, c := range o.counts {
		h.counts[b] += c
	}
	h.n += o.n
	h.sum += o.sum
	h.max = max(h.max, o.max)
}
