// Package scripttest draws scripts for property tests with gopter. A script that
// fails is shrunk to a few operations and printed as Go code:
//
//	properties.Property("idle: an empty queue is not signalled", scripttest.ForAll(
//		func(s script.Script, seed uint64) bool { ... },
//		scripttest.Random(3000, time.Millisecond), gen.UInt64()))
//
// It is for tests alone, and the only package besides them that needs gopter.
package scripttest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"

	"github.com/aqmkit/aqmkit/internal/script"
)

// Random draws scripts of n operations as script.Random does, at a mean distance of
// period between two packets.
func Random(n int, period time.Duration) gopter.Gen {
	return generator(func(r *rand.Rand) script.Script { return script.Random(r, n, period) })
}

// Hostile is Random with one operation in 16 disturbed as script.Disturb does.
func Hostile(n int, period time.Duration) gopter.Gen {
	return generator(func(r *rand.Rand) script.Script {
		s := script.Random(r, n, period)
		script.Disturb(r, s, 16)
		return s
	})
}

func generator(draw func(*rand.Rand) script.Script) gopter.Gen {
	return func(p *gopter.GenParameters) *gopter.GenResult {
		s := draw(rand.New(rand.NewPCG(p.NextUint64(), 0)))
		return gopter.NewGenResult(s, Shrinker)
	}
}

// ForAll is prop.ForAll, but that a failure shows the shrunk script alone: the one
// that was drawn has thousands of lines.
func ForAll(condition any, gens ...gopter.Gen) gopter.Prop {
	all := prop.ForAll(condition, gens...)
	return func(p *gopter.GenParameters) *gopter.PropResult {
		result := all(p)
		for _, arg := range result.Args {
			if s, ok := arg.OrigArg.(script.Script); ok {
				arg.OrigArgFormatted = fmt.Sprintf("%d operations", len(s))
			}
		}
		return result
	}
}
