package scripttest

import (
	"slices"
	"time"

	"github.com/leanovate/gopter"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
)

// edit makes a script simpler, or leaves it and returns false.
type edit func(script.Script) (script.Script, bool)

// Shrinker returns the scripts that are a step simpler than the script v: first
// those without a half of its operations, without a quarter, and so on, the end of
// the script first; then those with plainer values in all operations, or in one.
func Shrinker(v any) gopter.Shrink {
	s, ok := v.(script.Script)
	if !ok {
		return gopter.NoShrink
	}
	var edits []edit
	for size := (len(s) + 1) / 2; size > 0; size /= 2 {
		for end := len(s); end > 0; end -= size {
			start := max(0, end-size)
			edits = append(edits, without(start, end), skipping(start, end))
		}
	}
	for _, plain := range plainer {
		edits = append(edits, inAll(plain))
	}
	for i := range s {
		for _, plain := range plainer {
			edits = append(edits, inOne(i, plain))
		}
	}
	return func() (any, bool) {
		for len(edits) > 0 {
			e := edits[0]
			edits = edits[1:]
			if simpler, ok := e(s); ok {
				return simpler, true
			}
		}
		return nil, false
	}
}

// without leaves operations out, and their waits with them.
func without(start, end int) edit {
	return func(s script.Script) (script.Script, bool) {
		return slices.Concat(s[:start], s[end:]), true
	}
}

// skipping leaves operations out and waits all the same, where something follows.
func skipping(start, end int) edit {
	return func(s script.Script) (script.Script, bool) {
		wait := time.Duration(0)
		for _, op := range s[start:end] {
			wait += op.Wait
		}
		if wait == 0 || end == len(s) {
			return nil, false
		}
		simpler := slices.Concat(s[:start], s[end:])
		simpler[start].Wait += wait
		return simpler, true
	}
}

// plainer gives an operation a plainer value, if there is one. None undoes another.
var plainer = []func(*script.Op){
	func(op *script.Op) { op.Wait = 0 },
	func(op *script.Op) { op.Wait = op.Wait.Round(time.Second) },
	func(op *script.Op) { op.Wait = op.Wait.Round(time.Millisecond) },
	func(op *script.Op) { op.Wait = op.Wait.Round(time.Microsecond) },
	func(op *script.Op) {
		if op.Kind == script.Arrive {
			op.Size = 1500
		}
	},
	func(op *script.Op) { op.ECN = aqm.NotECT },
	func(op *script.Op) { op.Class = 0 },
}

func inOne(i int, plain func(*script.Op)) edit {
	return func(s script.Script) (script.Script, bool) {
		op := s[i]
		if plain(&op); op == s[i] {
			return nil, false
		}
		simpler := slices.Clone(s)
		simpler[i] = op
		return simpler, true
	}
}

func inAll(plain func(*script.Op)) edit {
	return func(s script.Script) (script.Script, bool) {
		simpler := slices.Clone(s)
		for i := range simpler {
			plain(&simpler[i])
		}
		return simpler, !slices.Equal(simpler, s)
	}
}
