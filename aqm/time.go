package aqm

import (
	"math"
	"time"
)

// Time is an instant on the caller's monotonic clock, in nanoseconds. The origin
// is the caller's choice; zero is an ordinary instant.
type Time int64

// Add returns t+d. It saturates at the ends of the range.
func (t Time) Add(d time.Duration) Time {
	s := t + Time(d)
	if (s^t)&(s^Time(d)) < 0 { // the sum's sign differs from both operands' signs
		return Time(saturated(int64(t)))
	}
	return s
}

// Sub returns t-u. It saturates at the ends of the range.
func (t Time) Sub(u Time) time.Duration {
	d := t - u
	if (t^u)&(t^d) < 0 { // operands of unlike sign, and the difference took u's
		return time.Duration(saturated(int64(t)))
	}
	return time.Duration(d)
}

// saturated returns the end of the int64 range on the side of sign.
func saturated(sign int64) int64 {
	if sign < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}
