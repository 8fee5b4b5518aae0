package web

import (
	"math"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Cut-off of Times.TruncatedMean, and where the buckets become wider than 1 ms.
const truncation = 2 * time.Second

const (
	fine   = 2000 // buckets of 1 ms
	coarse = 600  // buckets of 1 %, from 2 s on
)

// Times are the response times of exchanges that began within the measurement.
type Times struct {
	Begun, Ended uint64

	fine   [fine]uint64 // (i, i+1] ms
	coarse [coarse]uint64
	within aqm.Time // sum of min(time, 2 s) of those that ended
	max    aqm.Time
}

func (t *Times) add(d aqm.Time) {
	t.Ended++
	t.within += min(d, aqm.Time(truncation))
	t.max = max(t.max, d)
	ms := max(0, (int64(d)-1)/1e6)
	if ms < fine {
		t.fine[ms]++
		return
	}
	i, _ := slices.BinarySearch(edges[:], time.Duration(d))
	t.coarse[min(i, coarse-1)]++
}

// Merge adds what o has.
func (t *Times) Merge(o *Times) {
	t.Begun += o.Begun
	t.Ended += o.Ended
	t.within += o.within
	t.max = max(t.max, o.max)
	for i := range t.fine {
		t.fine[i] += o.fine[i]
	}
	for i := range t.coarse {
		t.coarse[i] += o.coarse[i]
	}
}

// edges are the upper ends of the coarse buckets.
var edges = func() (e [coarse]time.Duration) {
	x := float64(truncation)
	for i := range e {
		x *= 1.01
		e[i] = time.Duration(x)
	}
	return e
}()

// Share returns the share of all exchanges that ended within d: up to 2 s exactly for
// whole milliseconds, and beyond that to 1 % of d.
func (t *Times) Share(d time.Duration) float64 {
	if t.Begun == 0 {
		return 0
	}
	n := uint64(0)
	for i := range min(fine, int(d/time.Millisecond)) {
		n += t.fine[i]
	}
	for i := 0; i < coarse && edges[i] <= d+d/200; i++ {
		n += t.coarse[i]
	}
	return float64(n) / float64(t.Begun)
}

// TruncatedMean returns the mean of min(time, 2 s), which is 2 s less the area under
// the distribution function up to there. It is exact if the run went on for 2 s after
// the last exchange that counts had begun.
func (t *Times) TruncatedMean() time.Duration {
	if t.Begun == 0 {
		return 0
	}
	sum := float64(t.within) + float64(float64(t.Begun-t.Ended)*float64(truncation))
	return time.Duration(sum / float64(t.Begun))
}

// Quantile returns the time that a share q of all exchanges does not exceed, to a
// millisecond or 1 %; the longest seen if so many have not ended.
func (t *Times) Quantile(q float64) time.Duration {
	rank := uint64(math.Ceil(q * float64(t.Begun)))
	n := uint64(0)
	for i, c := range t.fine {
		if n += c; n >= rank && n > 0 {
			return time.Duration(i+1) * time.Millisecond
		}
	}
	for i, c := range t.coarse {
		if n += c; n >= rank && n > 0 {
			return min(edges[i], time.Duration(t.max))
		}
	}
	return time.Duration(t.max)
}
