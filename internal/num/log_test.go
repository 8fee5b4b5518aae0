package num

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLog(t *testing.T) {
	assert.Zero(t, Log(1))
	r := rand.New(rand.NewPCG(1, 1))
	worst, at := 0.0, 0.0
	try := func(x float64) {
		want := math.Log1p(x - 1) // x-1 is exact up to 2
		if x > 2 {
			want = math.Log(x)
		}
		if e := math.Abs(Log(x)/want - 1); e > worst {
			worst, at = e, x
		}
	}
	for range 100_000 {
		try(1 + math.Ldexp(r.Float64()+0x1p-3, -r.IntN(49))) // close to 1
		try(math.Ldexp(1+r.Float64(), 1+r.IntN(1020)))       // and far from it
	}
	for _, x := range []float64{math.Nextafter(1, 2), math.Sqrt2, math.Nextafter(math.Sqrt2, 2), 2, math.MaxFloat64} {
		try(x)
	}
	t.Logf("largest relative error %.2g, at %v", worst, at)
	assert.LessOrEqual(t, worst, 1e-15)
}

// TestNegativePower takes Expm1Neg and Log together to 1 - x^-y, the law of REM.
func TestNegativePower(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	worst := 0.0
	for range 100_000 {
		x, y := 1+math.Ldexp(r.Float64()+0x1p-3, 2-r.IntN(20)), math.Ldexp(r.Float64(), 12-r.IntN(20))
		want := -math.Expm1(-y * math.Log1p(x-1))
		worst = max(worst, math.Abs(Expm1Neg(float64(y*Log(x)))/want-1))
	}
	t.Logf("largest relative error %.2g", worst)
	assert.LessOrEqual(t, worst, 2e-15)
}
