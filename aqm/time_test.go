package aqm

import (
	"math"
	"math/big"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clamp is saturation by an independent path: arithmetic without a word size.
func clamp(x *big.Int) int64 {
	switch {
	case x.IsInt64():
		return x.Int64()
	case x.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func TestTimeSaturates(t *testing.T) {
	check := func(a, b int64) bool {
		x, y := big.NewInt(a), big.NewInt(b)
		return Time(a).Add(time.Duration(b)) == Time(clamp(new(big.Int).Add(x, y))) &&
			Time(a).Sub(Time(b)) == time.Duration(clamp(new(big.Int).Sub(x, y)))
	}
	const third = 0x5555555555555555 // an overflow in which every bit of the test for one is set
	corners := []int64{math.MinInt64, math.MinInt64 + 1, ^third, -1, 0, 1, third, math.MaxInt64 - 1, math.MaxInt64}
	for _, a := range corners {
		for _, b := range corners {
			assert.True(t, check(a, b), "%d, %d", a, b)
		}
	}
	require.NoError(t, quick.Check(check, nil))
}
