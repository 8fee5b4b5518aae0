package num

import "math"

// Log returns the natural logarithm of a finite x >= 1, with a relative error of
// at most 1e-15.
func Log(x float64) float64 {
	m, e := math.Frexp(x) // exact: x = m*2^e
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	// ln m = 2 atanh(s) for s = (m-1)/(m+1), here at most 0.172 in magnitude:
	// 2 (s + s^3/3 + s^5/5 + ...). m-1 is exact, so that x close to 1 loses nothing.
	s := (m - 1) / (m + 1)
	square := float64(s * s)
	sum, power := 0.0, 1.0
	for k := 1.0; power > 0x1p-56; k += 2 {
		sum += power / k
		power = float64(power * square)
	}
	return float64(float64(e)*math.Ln2) + float64(2*float64(s*sum))
}
