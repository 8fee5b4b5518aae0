package ecnpolicy

import "math"

// window is the number of ECN-capable arrivals over which the share of marks is
// averaged.
const window = 1024

// one is a share of 1 in fixed point. A share is at most the limit and 1/window, and
// fits.
const one = 1 << 62

// share is the moving share of ECN-capable packets that are marked.
type share struct {
	value uint64 // of one
	limit uint64 // of one; 0 = none
}

// set changes the limit. A share that was not measured starts at 0.
func (s *share) set(limit float64) {
	s.limit = uint64(math.Ceil(limit * one)) // exact: one is a power of two; at least 1 for a limit > 0
	if s.limit == 0 {
		s.value = 0
	}
}

// arrival lets the share decay by 1/window. It rounds away from the share, so that
// without marks it ends at 0; rounding takes less than 2^-52 from it altogether.
func (s *share) arrival() { s.value -= (s.value + window - 1) / window }

// mark adds a mark, or reports that the share is at the limit.
func (s *share) mark() bool {
	if s.value >= s.limit {
		return false
	}
	s.value += one / window
	return true
}
