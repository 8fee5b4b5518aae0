package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aqmkit/aqmkit/internal/sim"
)

// Shard is a part of a plan: every Of-th cell from the Index-th on, counted from 1.
type Shard struct{ Index, Of int }

// UnmarshalText reads i/n.
func (s *Shard) UnmarshalText(text []byte) error {
	i, n, ok := strings.Cut(string(text), "/")
	index, err1 := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || index < 1 || index > of {
		return fmt.Errorf("%q is not a shard such as 1/4, the first of four", text)
	}
	*s = Shard{index, of}
	return nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// whole reports whether the shard is all there is; so is that of no value.
func (s Shard) whole() bool { return s.Of <= 1 }

// Progress is told how many parts of a whole are done, and what is being done.
type Progress func(done, of int, what string)

// Run runs a study's cells, or those of a shard, or those whose names match only, on up
// to workers goroutines. The output does not depend on how many. progress may be nil.
func (s *Study) Run(o Options, shard Shard, only *regexp.Regexp, workers int, progress Progress) (*Output, error) {
	plan, parameters, err := s.plan(o)
	if err != nil {
		return nil, err
	}
	out := &Output{Study: s.Name, Profile: o.Profile(), Options: o, Cells: len(plan.Cells), Parameters: parameters}
	cells := plan.Cells
	if !shard.whole() {
		out.Shard = shard.String()
		cells = nil
		for i := shard.Index - 1; i < len(plan.Cells); i += shard.Of {
			cells = append(cells, plan.Cells[i])
		}
	}
	if only != nil {
		cells = slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return !only.MatchString(c.ID()) })
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("none of the %d cells of %s is left to run", len(plan.Cells), s.Name)
	}

	out.Results = make([]*Result, len(cells))
	errs := make([]error, len(cells))
	var failed atomic.Bool
	var mu sync.Mutex
	done := 0
	sim.Each(len(cells), workers, func(i int) {
		if failed.Load() {
			return
		}
		c := cells[i]
		m, err := c.Run()
		if err == nil {
			err = m.check()
		}
		if err != nil {
			errs[i] = fmt.Errorf("%s: %w", c.ID(), err)
			failed.Store(true)
			return
		}
		out.Results[i] = &Result{Point: c.Point, Scheme: c.Scheme, Seed: c.Seed, Measures: *m}
		mu.Lock()
		defer mu.Unlock()
		if progress != nil {
			progress(done, len(cells), c.ID())
		}
		done++
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// plan returns the plan, checked, and its parameters as JSON.
func (s *Study) plan(o Options) (*Plan, json.RawMessage, error) {
	plan, err := s.Plan(o)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, c := range plan.Cells {
		if seen[c.ID()] {
			return nil, nil, fmt.Errorf("%s: cell %s is there twice", s.Name, c.ID())
		}
		seen[c.ID()] = true
	}
	parameters, err := json.Marshal(plan.Parameters)
	return plan, parameters, err
}
