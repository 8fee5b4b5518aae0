package num

import (
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
)

// Rand draws 64-bit numbers from a source, or from a PCG that it holds by value.
// It must not be copied after Init.
type Rand struct {
	src rand.Source
	pcg rand.PCG
}

// Init sets the source; nil stands for a PCG seeded from the system.
func (r *Rand) Init(src rand.Source) {
	if src == nil {
		var seed [16]byte
		crand.Read(seed[:]) // never fails: it ends the program where the system has no randomness
		r.pcg.Seed(binary.NativeEndian.Uint64(seed[:8]), binary.NativeEndian.Uint64(seed[8:]))
		src = &r.pcg
	}
	r.src = src
}

// Uniform draws from (0, 1]; see the function Uniform.
func (r *Rand) Uniform() float64 { return Uniform(r.src.Uint64()) }
