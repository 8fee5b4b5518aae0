package check

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

func TestNothingWrong(t *testing.T) {
	l := For("pkg")
	require.NoError(t, l.Err(), "an empty list")
	l.Require(true, "Field", 1, "packets", "> 0")
	assert.NoError(t, l.Err())
}

// TestMessage sees field, value, unit and bound in the message of one violation.
func TestMessage(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		value      any
		unit       string
		bound      string
		args       []any
	}{
		{"with a unit", "pkg: Field = -3 packets, must be > 0: ", -3, "packets", "> 0", nil},
		{"without a unit", "pkg: Field = 1.5, must be in [0, 1]: ", 1.5, "", "in [0, 1]", nil},
		{"a duration has its own", "pkg: Field = 20ms, must be <= Max = 5ms: ", 20 * time.Millisecond, "", "<= Max = %v", []any{5 * time.Millisecond}},
		{"NaN", "pkg: Field = NaN Hz, must be > 0: ", math.NaN(), "Hz", "> 0", nil},
		{"two arguments", "pkg: Field = 7 bytes, must be in [1, 5]: ", 7, "bytes", "in [%d, %d]", []any{1, 5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := For("pkg")
			l.Require(false, "Field", tc.value, tc.unit, tc.bound, tc.args...)
			assert.EqualError(t, l.Err(), tc.want+aqm.ErrConfig.Error())
			assert.ErrorIs(t, l.Err(), aqm.ErrConfig)
		})
	}
}

// TestEveryViolation sees them all, each a line of its own, in the order of the
// checks, and none for what is right.
func TestEveryViolation(t *testing.T) {
	l := For("pkg")
	l.Require(false, "B", 2, "", "1")
	l.Require(true, "Right", 0, "", "0")
	l.Require(false, "A", 3, "", "1")
	l.Require(false, "B", 2, "", "< A")
	suffix := ": " + aqm.ErrConfig.Error()
	assert.EqualError(t, l.Err(), "pkg: B = 2, must be 1"+suffix+"\npkg: A = 3, must be 1"+suffix+"\npkg: B = 2, must be < A"+suffix)
	joined, ok := l.Err().(interface{ Unwrap() []error })
	require.True(t, ok)
	for _, err := range joined.Unwrap() {
		assert.ErrorIs(t, err, aqm.ErrConfig)
	}
	assert.NotErrorIs(t, l.Err(), errors.ErrUnsupported)

	first := l.Err()
	l.Require(false, "C", 4, "", "1")
	assert.NotContains(t, first.Error(), "C =", "an error that was returned stays as it is")
	assert.ErrorContains(t, l.Err(), "C = 4")
}

// TestListsAreSeparate holds two packages' lists apart.
func TestListsAreSeparate(t *testing.T) {
	a, b := For("a"), For("b")
	a.Require(false, "F", 0, "", "> 0")
	require.NoError(t, b.Err())
	assert.ErrorContains(t, a.Err(), "a: F = 0")
}

func TestFinite(t *testing.T) {
	for _, x := range []float64{0, math.Copysign(0, -1), -1, math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64} {
		assert.True(t, Finite(x), "%v", x)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.False(t, Finite(x), "%v", x)
	}
}
