package scripttest

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/internal/script"
)

// patience is how long Check looks for a shorter script.
const patience = 2 * time.Second

// Check runs s and returns nil if that does. Otherwise it leaves out of s, for two
// seconds at the most, what run fails without, and returns that failure with the
// script that is left, as Go code. A panic is a failure too.
//
// run must start anew each time. It is what a fuzz target does with a script that it
// has decoded:
//
//	err := scripttest.Check(s, func(s script.Script) error { ... })
func Check(s script.Script, run func(script.Script) error) error {
	err := guarded(s, run)
	if err == nil {
		return nil
	}
	patient, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	short, shortErr := shorten(patient, s, err, run)
	return fmt.Errorf("%w\n%d operations, shrunk from %d: %v", shortErr, len(short), len(s), short)
}

// guarded is run, but for panics.
func guarded(s script.Script, run func(script.Script) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return run(s)
}

// shorten makes the edits of Shrinker to s, which fails with err, and keeps those
// after which it still fails, until none is left to make or ctx is done. Unlike gopter
// it goes on where it kept one, and so looks at thousands of operations in a few passes.
func shorten(ctx context.Context, s script.Script, err error, run func(script.Script) error) (script.Script, error) {
	try := func(e edit) bool {
		simpler, ok := e(s)
		if !ok || ctx.Err() != nil {
			return false
		}
		simplerErr := guarded(simpler, run)
		if simplerErr == nil {
			return false
		}
		s, err = simpler, simplerErr
		return true
	}
	for before := script.Script(nil); !slices.Equal(before, s) && ctx.Err() == nil; {
		before = s
		for size := (len(s) + 1) / 2; size > 0; size /= 2 {
			for end := len(s); end > 0; end -= size {
				start := max(0, end-size)
				_ = try(without(start, end)) || try(skipping(start, end))
			}
		}
		for _, plain := range plainer {
			try(inAll(plain))
			for i := range s {
				try(inOne(i, plain))
			}
		}
	}
	return s, err
}
