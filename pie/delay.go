package pie

import (
	"math"

	"github.com/aqmkit/aqmkit/aqm"
)

const (
	rateThreshold = 1 << 14                 // bytes of a measurement, DQ_THRESHOLD [RFC 8033 5.2]
	rateWeight    = rateThreshold / 65536.0 // weight of a measurement [5.2]
)

// departureRate measures how fast packets depart [RFC 8033 5.2, Appendix B].
type departureRate struct {
	average   float64  // seconds that rateThreshold bytes take to depart; 0 before the first measurement
	start     aqm.Time // of a measurement
	bytes     int64    // departed since
	measuring bool
}

// count is depart where that only counts, and otherwise does nothing and returns
// false.
func (r *departureRate) count(size uint32, backlog int64) bool {
	if !r.measuring {
		return backlog < rateThreshold
	}
	bytes := r.bytes + int64(size)
	if bytes >= rateThreshold {
		return false
	}
	r.bytes = bytes
	return true
}

// depart notes a departure of size bytes that leaves backlog bytes.
func (r *departureRate) depart(now aqm.Time, size uint32, backlog int64) {
	if r.measuring {
		r.bytes += int64(size)
		if r.bytes >= rateThreshold {
			took := seconds(now.Sub(r.start))
			if r.average == 0 {
				r.average = took
			} else {
				r.average = float64(rateWeight*took) + float64((1-rateWeight)*r.average)
			}
			r.measuring = false
		}
	}
	if !r.measuring && backlog >= rateThreshold {
		r.measuring, r.start, r.bytes = true, now, 0
	}
}

// delay returns what the backlog takes to depart.
func (r *departureRate) delay(backlog int64) float64 {
	return float64(float64(max(backlog, 0))*r.average) / rateThreshold
}

// bucket is the pair of token buckets that shape a DOCSIS service flow. Rates are in
// bytes per second.
type bucket struct {
	peak, rate float64
	depth      float64  // bytes
	tokens     float64  // bytes as of at
	at         aqm.Time // of the last departure
}

func (b *bucket) fill() { b.tokens, b.at = b.depth, math.MinInt64 }

// tokensAt returns the tokens in the bucket, msrtokens(). An update may be due before
// the last departure, where Reconfigure has made the period shorter.
func (b *bucket) tokensAt(now aqm.Time) float64 {
	return min(b.depth, b.tokens+float64(b.rate*seconds(max(0, now.Sub(b.at)))))
}

func (b *bucket) depart(now aqm.Time, size uint32) {
	b.tokens = max(0, b.tokensAt(now)-float64(size))
	b.at = now
}

// delay returns what the backlog takes to depart, at the peak rate while there are
// tokens and at the sustained rate after them [RFC 8034 A.2], and whether that
// changes as tokens arrive.
func (b *bucket) delay(now aqm.Time, backlog int64) (delay float64, changing bool) {
	bytes, tokens := float64(max(backlog, 0)), b.tokensAt(now)
	if bytes <= tokens {
		return bytes / b.peak, false
	}
	return (bytes-tokens)/b.rate + tokens/b.peak, tokens < b.depth
}
