package num

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// fixed is a source of one number.
type fixed uint64

func (f fixed) Uint64() uint64 { return uint64(f) }

// TestHit holds Hit against the comparison that it stands for, at random and where a
// number has neighbours on both sides of p.
func TestHit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	try := func(p float64, x uint64) {
		var draw Rand
		draw.Init(fixed(x))
		assert.Equal(t, p >= Uniform(x), draw.Hit(NewChance(p)), "p %v, x %#x", p, x)
	}
	for range 100_000 {
		x := r.Uint64()
		u := Uniform(x)
		try(r.Float64(), x)
		try(u, x)
		try(math.Nextafter(u, 0), x)
		try(math.Nextafter(u, 2), x)
		try(math.Ldexp(r.Float64(), -r.IntN(1000)), x>>r.IntN(64))
	}
	for _, x := range []uint64{0, 1, 1<<11 - 1, 1 << 11, 1 << 63, math.MaxUint64} {
		for _, p := range []float64{0, math.SmallestNonzeroFloat64, 0x1p-54, 0x1p-53, 0x1p-52, 0.5, 1, 3, math.MaxFloat64, math.Inf(1)} {
			try(p, x)
		}
	}
	assert.Zero(t, NewChance(math.Nextafter(0x1p-53, 0)))
	assert.Equal(t, Chance(1<<53), NewChance(1))
}
