package num

// Chance is a probability, made for drawing many times: how many of the 2^53 values
// of Uniform do not exceed it.
type Chance uint64

// NewChance returns the Chance of p >= 0; above 1 is as good as 1. It is 0 where no
// value of Uniform is as small as p.
func NewChance(p float64) Chance { return Chance(min(p, 1) * 0x1p53) }

// Hit draws, and reports whether p >= Uniform(x): never for a Chance of 0, always for
// that of 1.
func (r *Rand) Hit(c Chance) bool { return Chance(r.src.Uint64()>>11) < c }
