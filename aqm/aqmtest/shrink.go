package aqmtest

import (
	"cmp"
	"slices"

	"github.com/aqmkit/aqmkit/aqm"
)

// breach is what breaks a law in a run, at step number at of it.
type breach struct {
	at     int
	detail string
	stack  []string
	twin   *twin // the other run, of a law that compares two
}

// maxTries bounds how often a failing run is tried again on the way to a short one.
const maxTries = 4000

// shrink returns a short run that fails in the manner of steps, which fails with b:
// delta debugging that keeps the last step, where it fails.
func shrink[S ~[]T, T any](steps S, b *breach, tries int, test func(S) *breach) (S, *breach) {
	best := steps[:min(b.at+1, len(steps))]
	try := func(candidate S) bool {
		tries--
		failed := test(candidate)
		if failed == nil {
			return false
		}
		best, b = candidate[:min(failed.at+1, len(candidate))], failed
		return true
	}
	// Often the last few steps are enough.
	for n := 1; n < len(best) && tries > 0; n *= 2 {
		if try(slices.Clone(best[len(best)-n:])) {
			break
		}
	}
	for chunk := len(best) / 2; chunk >= 1 && tries > 0; {
		before := len(best)
		for end := len(best) - 1; end > 0 && tries > 0; {
			start := max(0, end-chunk)
			try(slices.Concat(best[:start], best[end:]))
			end = min(start, len(best)-1)
		}
		if chunk > 1 || len(best) == before {
			chunk /= 2
		}
	}
	return best, b
}

// uniform makes all calls but the last alike where the run then still fails, for what
// led there to be a loop: as the last one, or as the one that finds most in the queue.
func uniform(calls []Call, b *breach, test func([]Call) *breach) ([]Call, *breach) {
	if len(calls) < 3 {
		return calls, b
	}
	last := len(calls) - 1
	deepest := slices.MaxFunc(calls[:last], func(a, b Call) int { return cmp.Compare(a.Occupancy.Packets, b.Occupancy.Packets) })
	for _, model := range []Call{calls[last], deepest} {
		for _, timed := range []bool{false, true} {
			candidate := slices.Repeat([]Call{model}, len(calls))
			for i, c := range calls[:last] {
				now, at := min(model.Now, calls[last].Now), model.Packet.EnqueuedAt
				if timed {
					now, at = c.Now, c.Packet.EnqueuedAt
				}
				candidate[i].Now, candidate[i].Packet.EnqueuedAt = now, at
			}
			candidate[last] = calls[last]
			if failed := test(candidate); failed != nil {
				return candidate[:min(failed.at+1, len(candidate))], failed
			}
		}
	}
	return calls, b
}

// simplify gives the calls plain values where the run then still fails.
func simplify(calls []Call, b *breach, tries int, test func([]Call) *breach) ([]Call, *breach) {
	try := func(change func([]Call)) {
		candidate := slices.Clone(calls)
		change(candidate)
		if tries <= 0 || slices.Equal(candidate, calls) {
			return
		}
		tries--
		if failed := test(candidate); failed != nil {
			calls, b = candidate[:min(failed.at+1, len(candidate))], failed
		}
	}
	try(func(c []Call) { // time starts at 0
		start := c[0].Now
		for i := range c {
			c[i].Now = aqm.Time(c[i].Now.Sub(start))
			c[i].Packet.EnqueuedAt = aqm.Time(c[i].Packet.EnqueuedAt.Sub(start))
		}
	})
	try(func(c []Call) { // time stands
		for i := range c {
			c[i].Now, c[i].Packet.EnqueuedAt = 0, 0
		}
	})
	changes := []func(*Call){
		func(c *Call) { c.Packet.EnqueuedAt = 0 },
		func(c *Call) { c.Packet.Class = 0 },
		func(c *Call) { c.Packet.ECN = aqm.NotECT },
		func(c *Call) { c.Packet.Size = 1500 },
		func(c *Call) { c.Occupancy.Packets = 0 },
		func(c *Call) { c.Occupancy.Bytes = 0 },
	}
	for _, change := range changes {
		try(func(c []Call) {
			for i := range c {
				change(&c[i])
			}
		})
	}
	const few = 50
	for i := 0; i < len(calls) && len(calls) <= few; i++ {
		for _, change := range changes {
			try(func(c []Call) {
				if i < len(c) {
					change(&c[i])
				}
			})
		}
	}
	return calls, b
}

// broken returns the outcome of a run over calls that fails with b: a violation with
// few calls. test repeats the run with other calls; cost is about how many times it
// asks them.
func (s *session) broken(law Law, src source, calls []Call, b *breach, cost int, test func([]Call) *breach) outcome {
	calls, b = s.shrunk(calls, b, cost, test)
	return outcome{broken: s.violation(law, src, calls, b)}
}

// shrunk returns few and plain calls that fail in the manner of calls, which fail with b.
func (s *session) shrunk(calls []Call, b *breach, cost int, test func([]Call) *breach) ([]Call, *breach) {
	tries := func() int { return min(maxTries, 20_000_000/cost/(len(calls)+100)) }
	calls, b = uniform(calls[:min(b.at+1, len(calls))], b, test)
	calls, b = shrink(calls, b, tries(), test)
	calls, b = uniform(calls, b, test)
	calls, b = shrink(calls, b, tries(), test)
	if len(calls) > 0 {
		calls, b = simplify(calls, b, tries(), test)
	}
	return calls, b
}

func (s *session) violation(law Law, src source, calls []Call, b *breach) *Violation {
	v := &Violation{Law: law, Detail: b.detail, Seed: s.seed, Source: src.code, Calls: calls, Stack: b.stack, twin: b.twin}
	if law != noBlocking { // which may wait for hours
		v.Verdicts, _ = s.answers(src, calls)
	}
	return v
}
