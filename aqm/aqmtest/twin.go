package aqmtest

import (
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// twin is the second of two runs that a law compares. It ends with the call that is
// answered otherwise than the first run's.
type twin struct {
	src   source
	calls []Call
	as    string // how it differs from the first, in words

	foil       []Call // another instance is asked, each before the call of the same number
	foilSource source
	pause      time.Duration // before the last call
	observed   bool          // Probability is asked after every call, twice
}

// with adds the second run to a breach, if there is one.
func (b *breach) with(t *twin) *breach {
	if b != nil {
		cut := *t
		cut.calls = t.calls[:min(b.at+1, len(t.calls))]
		b.twin = &cut
	}
	return b
}

// lines returns the run as Go code that ends with a failure of t.
func (w *twin) lines() []string {
	lines := []string{fmt.Sprintf("b := mk(%s)", w.src.code)}
	last := len(w.calls) - 1
	probability := "p.Probability()"
	if w.observed {
		lines = append(lines, "p := b.(interface{ Probability() float64 })")
	}
	switch {
	case len(w.foil) > 0:
		lines = append(lines, fmt.Sprintf("c := mk(%s)", w.foilSource.code))
		for i, call := range w.calls {
			if i < len(w.foil) {
				lines = append(lines, "c."+w.foil[i].String())
			}
			if i < last {
				lines = append(lines, "b."+call.String())
			}
		}
	case w.observed:
		for _, call := range w.calls[:last] {
			lines = append(lines, "b."+call.String(), probability)
		}
	default:
		lines = append(lines, folded("b", w.calls[:last], nil)...)
	}
	if w.pause > 0 {
		lines = append(lines, fmt.Sprintf("time.Sleep(%d) // %v; in a bubble of testing/synctest it takes no time", w.pause, w.pause))
	}
	return append(lines, fmt.Sprintf("if got := b.%v; got != want {\n\tt.Errorf(\"%%v, but %%v %s\", want, got)\n}", w.calls[last], w.as))
}

// folded returns a line for each call, and a loop for calls that follow each other in
// a pattern and at a constant distance. The last call stands for itself. comment, if
// not nil, returns what to write behind a call.
func folded(receiver string, calls []Call, comment func(i int) string) (lines []string) {
	for i := 0; i < len(calls); {
		p, n := pattern(calls[i:max(i, len(calls)-1)])
		if n > 1 {
			lines = append(lines, looped(receiver, calls[i:], p, n))
			i += p * n
			continue
		}
		line := fmt.Sprintf("%s.%v", receiver, calls[i])
		if comment != nil {
			line += comment(i)
		}
		lines = append(lines, line)
		i++
	}
	return lines
}

// pattern returns how many calls make a pattern that is repeated at the start of
// calls, and how often it is there.
func pattern(calls []Call) (length, times int) {
	const longest = 4
	length, times = 1, 1
	for p := 1; p <= longest && 2*p <= len(calls); p++ {
		n := 1
		for ; (n+1)*p <= len(calls); n++ {
			alike := true
			for k := range p {
				now, at := steps(calls, k, p)
				alike = alike && moved(calls[k], aqm.Time(n)*now, aqm.Time(n)*at) == calls[n*p+k]
			}
			if !alike {
				break
			}
		}
		now, at := steps(calls, 0, p)
		enough := n >= 3 || n == 2 && p == 1 && now == 0 && at == 0
		if enough && n*p > length*times {
			length, times = p, n
		}
	}
	return length, times
}

// steps returns by how much the instants of the call number k of a pattern grow from
// one time to the next.
func steps(calls []Call, k, p int) (now, enqueuedAt aqm.Time) {
	return calls[p+k].Now - calls[k].Now, calls[p+k].Packet.EnqueuedAt - calls[k].Packet.EnqueuedAt
}

func moved(c Call, now, enqueuedAt aqm.Time) Call {
	c.Now += now
	c.Packet.EnqueuedAt += enqueuedAt
	return c
}

// looped returns a loop over a pattern.
func looped(receiver string, calls []Call, p, n int) string {
	body, counted := "", false
	instant := func(start, step aqm.Time) string {
		switch {
		case step == 0:
			return fmt.Sprint(int64(start))
		case start == 0:
			counted = true
			return fmt.Sprintf("i*%d", int64(step))
		}
		counted = true
		return fmt.Sprintf("%d+i*%d", int64(start), int64(step))
	}
	for k := range p {
		now, at := steps(calls, k, p)
		c := calls[k]
		body += fmt.Sprintf("\t%s.%s\n", receiver, c.code(instant(c.Now, now), instant(c.Packet.EnqueuedAt, at)))
	}
	if counted {
		return fmt.Sprintf("for i := range aqm.Time(%d) {\n%s}", n, body)
	}
	return fmt.Sprintf("for range %d {\n%s}", n, body)
}
