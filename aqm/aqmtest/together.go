package aqmtest

import (
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// together asks two instances the same at the same time, each in a goroutine of its
// own, which nothing synchronizes: where they share state, the race detector sees it,
// in a test that is built with it, and a verdict may show it in any.
func (s *session) together() *Violation {
	st := slices.MaxFunc(s.ordinaryStreams(), func(a, b *stream) int { return signals(a.verdicts) - signals(b.verdicts) })
	var other aqm.AQM
	draws := 0
	if c := catch(func() { other = s.makeDrawing(st.src, &draws) }); c != nil {
		return nil // survival's business
	}
	got := make([]aqm.Verdict, 0, len(st.calls))
	var c *caught
	done := make(chan struct{})
	go func() {
		defer close(done)
		c = catch(func() {
			for i := 0; i < len(st.calls) && !s.abandoned.Load(); i++ {
				draws = 0
				got = append(got, st.calls[i].Ask(other))
			}
		})
	}()
	mine, crashed := s.answers(st.src, st.calls)
	select {
	case <-done:
	case <-time.After(s.patience): // it has returned from each of these calls before
		return nil
	}
	const as = "while another instance is asked in another goroutine"
	b := differ(st.verdicts, mine, crashed, as)
	if b == nil {
		b = differ(st.verdicts, got, c, as)
	}
	if b == nil {
		return nil
	}
	return s.violation(noSharedState, st.src, st.calls[:b.at+1], b)
}
