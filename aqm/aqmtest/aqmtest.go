package aqmtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
)

// MakeAQM returns a fresh instance of the AQM under test, the same one each time but
// for src, which is never nil. It is called hundreds of times.
type MakeAQM func(src rand.Source) aqm.AQM

// Check holds the AQM that mk makes to the laws of the contract. The error joins a
// [*Violation] for each law that is broken; see [Violations]. Other errors are about
// the options, about mk, and about laws that could not be checked.
func Check(mk MakeAQM, opts ...Option) error {
	return rounds(mk, opts, func(s *session, _ bool) error { return s.laws() })
}

// rounds calls f with a session for each of the seeds, until it fails.
func rounds(mk MakeAQM, opts []Option, f func(s *session, first bool) error) error {
	first, err := newSession(mk, opts)
	if err != nil {
		return err
	}
	if err := f(first, true); err != nil {
		return err
	}
	for k := 1; k < first.seeds; k++ {
		s, err := newSession(mk, append(slices.Clone(opts), Seed(first.seed+uint64(k))))
		if err != nil {
			return err
		}
		if err := f(s, false); err != nil {
			return err
		}
	}
	return nil
}

// laws checks the laws with one seed.
func (s *session) laws() error {
	var errs []error
	unchecked := map[string][]string{} // laws by reason
	var reasons []string
	leaveOut := func(law, reason string) {
		if unchecked[reason] == nil {
			reasons = append(reasons, reason)
		}
		unchecked[reason] = append(unchecked[reason], law)
	}
	for _, e := range table() {
		if ok, _ := s.chosen(e.Name); !ok {
			continue
		}
		if s.ended != "" {
			leaveOut(e.Name, s.ended)
			continue
		}
		switch o := s.check(e); {
		case o.broken != nil:
			errs = append(errs, o.broken)
		case o.moot:
			leaveOut(e.Name, o.reason)
		}
	}
	for _, v := range s.leftovers() {
		errs = append(errs, v)
	}
	for _, reason := range reasons {
		errs = append(errs, fmt.Errorf("aqmtest: not checked: %s (%s)", strings.Join(unchecked[reason], ", "), reason))
	}
	return errors.Join(errs...)
}

// TestAQM is Check as a test, with a subtest for each law. A law that is left out,
// does not apply, or cannot be judged because another is broken, is a subtest that is
// skipped and says why. A failure shows all the calls that lead to it if the test
// runs with -v.
func TestAQM(t *testing.T, mk MakeAQM, opts ...Option) {
	t.Helper()
	err := rounds(mk, opts, func(s *session, first bool) error {
		if first {
			s.test(t)
			return nil
		}
		t.Run(fmt.Sprintf("seed=%d", s.seed), s.test)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// test has a subtest for each law.
func (s *session) test(t *testing.T) {
	t.Helper()
	report := func(t *testing.T, v *Violation) {
		t.Helper()
		if testing.Verbose() {
			t.Error(v.text(math.MaxInt))
			return
		}
		t.Error(v)
	}
	for _, e := range table() {
		t.Run(e.Name, func(t *testing.T) {
			if ok, reason := s.chosen(e.Name); !ok {
				t.Skip(reason)
			}
			if s.ended != "" {
				t.Skip("not checked: " + s.ended)
			}
			s.bubble = bubbleOf(t)
			switch o := s.check(e); {
			case o.broken != nil:
				report(t, o.broken)
			case o.moot:
				t.Skip("not checked: " + o.reason)
			case o.reason != "":
				t.Skip(o.reason)
			}
		})
	}
	for _, v := range s.leftovers() {
		report(t, v)
	}
	if s.ended == "" {
		t.Logf("aqmtest: seed %d; the traffic drew %v", s.seed, s.census())
	}
}
