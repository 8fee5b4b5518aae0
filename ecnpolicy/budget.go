package ecnpolicy

import (
	"math/bits"

	"github.com/aqmkit/aqmkit/aqm"
)

// nanobits is a byte in the unit of a budget: bit/s times nanoseconds gives 1e-9
// bits without rounding. MaxBudgetBurst bytes of it fit a uint64.
const nanobits = 8e9

// budget is a token bucket. The zero budget holds nothing and gets nothing.
type budget struct {
	tokens, burst uint64 // nanobits
	rate          uint64 // bit/s
	filled        aqm.Time
}

// set changes rate and burst as of now. A budget that was off starts full.
func (b *budget) set(rate uint64, burst uint32, now aqm.Time) {
	b.fill(now)
	was := b.rate
	b.rate, b.burst = rate, uint64(burst)*nanobits
	if was == 0 {
		b.tokens = b.burst
	}
	b.tokens = min(b.tokens, b.burst)
}

// covers reports whether there are tokens for size bytes at now.
func (b *budget) covers(size uint32, now aqm.Time) bool {
	if b.tokens/nanobits < uint64(size) {
		b.fill(now) // only now: without a charge in between, one fill is as good as many
	}
	return b.tokens/nanobits >= uint64(size)
}

// charge takes the tokens for size bytes, which covers has found there, as of the
// last fill.
func (b *budget) charge(size uint32) { b.tokens -= uint64(size) * nanobits }

// fill adds what accrued until now, which does not decrease.
func (b *budget) fill(now aqm.Time) {
	hi, lo := bits.Mul64(b.rate, uint64(now.Sub(b.filled)))
	if room := b.burst - b.tokens; hi != 0 || lo > room {
		lo = room
	}
	b.tokens += lo
	b.filled = now
}
