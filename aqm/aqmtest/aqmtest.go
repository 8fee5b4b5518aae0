package aqmtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
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
	s, err := newSession(mk, opts)
	if err != nil {
		return err
	}
	var errs []error
	var unchecked []string
	for _, e := range table() {
		if ok, _ := s.chosen(e.Name); !ok {
			continue
		}
		if s.ended != "" {
			unchecked = append(unchecked, e.Name)
			continue
		}
		if v, _ := s.check(e); v != nil {
			errs = append(errs, v)
		}
	}
	for _, v := range s.leftovers() {
		errs = append(errs, v)
	}
	if len(unchecked) > 0 {
		errs = append(errs, fmt.Errorf("aqmtest: not checked, because %s: %s", s.ended, strings.Join(unchecked, ", ")))
	}
	return errors.Join(errs...)
}

// TestAQM is Check as a test, with a subtest for each law. A law that is left out or
// does not apply is a subtest that is skipped and says why.
func TestAQM(t *testing.T, mk MakeAQM, opts ...Option) {
	t.Helper()
	s, err := newSession(mk, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range table() {
		t.Run(e.Name, func(t *testing.T) {
			if ok, reason := s.chosen(e.Name); !ok {
				t.Skip(reason)
			}
			if s.ended != "" {
				t.Skip("not checked, because " + s.ended)
			}
			switch v, reason := s.check(e); {
			case v != nil:
				t.Error(v)
			case reason != "":
				t.Skip(reason)
			}
		})
	}
	for _, v := range s.leftovers() {
		t.Error(v)
	}
	if s.ended == "" {
		t.Logf("aqmtest: seed %d; the traffic drew %v", s.seed, s.census())
	}
}
