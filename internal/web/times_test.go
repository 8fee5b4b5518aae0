package web

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aqmkit/aqmkit/aqm"
)

// TestTimes compares shares, mean and quantiles with those of the sorted times.
func TestTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var x Times
	var all []time.Duration
	const n = 5000
	for range n {
		d := time.Duration(r.ExpFloat64() * 8e8)
		if r.IntN(20) == 0 {
			d += 3 * time.Second
		}
		all = append(all, d)
		x.Begun++
		x.add(aqm.Time(d))
	}
	const unfinished = 50 // these have not ended
	x.Begun += unfinished
	for range unfinished {
		all = append(all, time.Hour)
	}
	slices.Sort(all)
	for _, at := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second} {
		k, _ := slices.BinarySearch(all, at+1)
		assert.Equal(t, float64(k)/float64(len(all)), x.Share(at), "%v", at)
	}
	k, _ := slices.BinarySearch(all, 5*time.Second)
	assert.InDelta(t, float64(k)/float64(len(all)), x.Share(5*time.Second), .003)
	sum := time.Duration(0)
	for _, d := range all {
		sum += min(d, 2*time.Second)
	}
	assert.InDelta(t, float64(sum)/float64(len(all)), float64(x.TruncatedMean()), 2)
	for _, q := range []float64{.1, .5, .9, .98} {
		want := all[int(q*float64(len(all)))-1]
		assert.InDelta(t, want.Seconds(), x.Quantile(q).Seconds(), .001+.011*want.Seconds(), "%v", q)
	}
	assert.Equal(t, time.Duration(x.max), x.Quantile(.999), "more have not ended")

	var none Times
	assert.Zero(t, none.Share(time.Second))
	assert.Zero(t, none.TruncatedMean())

	var y Times
	y.Merge(&x)
	y.Merge(&x)
	assert.Equal(t, x.Share(time.Second), y.Share(time.Second))
	assert.Equal(t, 2*x.Begun, y.Begun)
}

// TestShareEdges: a time of exactly a millisecond's end is within it.
func TestShareEdges(t *testing.T) {
	var x Times
	for _, d := range []time.Duration{100 * time.Millisecond, 100*time.Millisecond + 1, 2 * time.Second, 2*time.Second + 1} {
		x.Begun++
		x.add(aqm.Time(d))
	}
	assert.Equal(t, .25, x.Share(100*time.Millisecond))
	assert.Equal(t, .5, x.Share(101*time.Millisecond))
	assert.Equal(t, .75, x.Share(2*time.Second))
	assert.Equal(t, 1., x.Share(3*time.Second))
}
