package num

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUniform(t *testing.T) {
	assert.Equal(t, 0x1p-53, Uniform(0), "never 0")
	assert.Equal(t, 1.0, Uniform(math.MaxUint64), "1 is reached")
	r := rand.New(rand.NewPCG(1, 1))
	sum := 0.0
	for range 100_000 {
		sum += Uniform(r.Uint64())
	}
	assert.InDelta(t, 0.5, sum/100_000, 5*math.Sqrt(1.0/12/100_000), "five standard errors")
}

// TestPower multiplies with 200 bits of mantissa, one factor at a time.
func TestPower(t *testing.T) {
	for _, x := range []float64{0.998, 1 - 1.0/512, 0.5, 1 - 4e-5} {
		exact := new(big.Float).SetPrec(200).SetInt64(1)
		bx := new(big.Float).SetPrec(200).SetFloat64(x)
		for n := uint64(0); n <= 2000; n++ {
			want, _ := exact.Float64()
			require.InDelta(t, want, Power(x, n), 1e-12*want+1e-300, "%v to the %d", x, n)
			exact.Mul(exact, bx)
		}
	}
	assert.Equal(t, 1.0, Power(0, 0))
	assert.Equal(t, 0.0, Power(0.998, math.MaxUint64))
	assert.Equal(t, 1.0, Power(1, math.MaxUint64))
}

func TestExpm1Neg(t *testing.T) {
	assert.Zero(t, Expm1Neg(0))
	assert.Equal(t, 1.0, Expm1Neg(math.Inf(1)))
	for x := 1e-18; x < 100; x *= 1.01 {
		require.InEpsilon(t, -math.Expm1(-x), Expm1Neg(x), 1e-15, "x = %g", x)
	}
}

func TestRand(t *testing.T) {
	var a, b, c Rand
	a.Init(rand.NewPCG(1, 2))
	b.Init(rand.NewPCG(1, 2))
	c.Init(nil)
	differ := false
	for range 100 {
		x := a.Uniform()
		assert.Equal(t, x, b.Uniform())
		differ = differ || x != c.Uniform()
	}
	assert.True(t, differ, "a source seeded from the system")
}
