package aqmtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Repeat returns a source that repeats draws for ever. The kit's hostile sources,
// which give always 0, always 2^64-1, and both in turn, are Repeat(0),
// Repeat(math.MaxUint64) and Repeat(0, math.MaxUint64). Without draws it repeats 0.
func Repeat(draws ...uint64) rand.Source {
	if len(draws) == 0 {
		draws = []uint64{0}
	}
	return &repeat{draws: draws}
}

type repeat struct {
	draws []uint64
	next  int
}

// Uint64 returns the next draw.
func (r *repeat) Uint64() uint64 {
	d := r.draws[r.next]
	if r.next++; r.next == len(r.draws) {
		r.next = 0
	}
	return d
}

// source makes equal random sources, and says how in Go.
type source struct {
	code string
	make func() rand.Source
}

func seeded(seed, stream uint64) source {
	return source{
		fmt.Sprintf("rand.NewPCG(%d, %d)", seed, stream),
		func() rand.Source { return rand.NewPCG(seed, stream) },
	}
}

func repeated(draws ...uint64) source {
	code := make([]string, len(draws))
	for i, d := range draws {
		code[i] = fmt.Sprint(d)
		if d == math.MaxUint64 {
			code[i] = "math.MaxUint64"
		}
	}
	return source{
		"aqmtest.Repeat(" + strings.Join(code, ", ") + ")",
		func() rand.Source { return Repeat(draws...) },
	}
}

func hostileSources() []source {
	return []source{repeated(0), repeated(math.MaxUint64), repeated(0, math.MaxUint64)}
}

const (
	// fewDraws is how often one call may draw from a hostile source. An algorithm needs
	// one draw or two; rejection sampling, as in rand.IntN, would go on for ever.
	fewDraws = 64

	// maxDraws is how often one call may draw at all.
	maxDraws = 10_000
)

var errDraws = errors.New("more than 10000 draws in one call")

// guard is the source that an AQM under test sees: after a few draws in one call it
// gives good numbers in any case, and after many it ends the call with a panic, which
// the kit takes for what it is.
type guard struct {
	src   rand.Source
	good  rand.PCG
	draws *int // in this call, by anyone
}

// Uint64 draws.
func (g *guard) Uint64() uint64 {
	switch *g.draws++; {
	case *g.draws > maxDraws:
		panic(errDraws)
	case *g.draws > fewDraws:
		return g.good.Uint64()
	}
	return g.src.Uint64()
}
