// Package num has the arithmetic that verdicts hang on, written so that it gives
// the same bits on every architecture: no fused multiply-add, which Go may use on
// arm64 unless a product is converted, and no math.Exp, Log or Pow, whose last bit
// differs.
package num

import "math"

// Uniform maps 64 random bits to a float64 in (0, 1]. It is never 0, so that
// p >= Uniform(x) is false for p = 0 and true for p = 1, whatever x is.
func Uniform(x uint64) float64 { return float64(x>>11+1) * 0x1p-53 }

// Power returns x to the power of n by repeated squaring: at most 64 steps.
func Power(x float64, n uint64) float64 {
	y := 1.0
	for ; n > 0 && y != 0; n >>= 1 {
		if n&1 != 0 {
			y = float64(y * x)
		}
		x = float64(x * x)
	}
	return y
}

// Expm1Neg returns 1 - exp(-x) for x >= 0, with a relative error of at most
// 1e-15. It is the weight of a first-order low-pass filter sampled x time
// constants apart.
func Expm1Neg(x float64) float64 {
	if x > 64 {
		return 1 // exp(-64) is below half an ulp of 1
	}
	// Halve x until the series converges quickly, then double back with
	// 1-e(2x) = (1-e(x))(1+e(x)) = d(2-d), which does not cancel.
	halvings := 0
	for x > 0x1p-5 {
		x /= 2
		halvings++
	}
	term, sum := x, x
	for k := 2.0; math.Abs(term) > sum*0x1p-54; k++ {
		term = float64(term*-x) / k
		sum += term
	}
	for ; halvings > 0; halvings-- {
		sum = float64(sum * (2 - sum))
	}
	return sum
}
