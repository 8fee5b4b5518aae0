package study

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Study is a set of simulations and what is made of them.
type Study struct {
	Name  string // of the command
	Title string
	// Plan returns the cells of a profile, and all parameters they rest on.
	Plan func(Options) (*Plan, error)
	// Report is made from the data alone: it runs nothing.
	Report func(Options, *Data) (*Report, error)
}

// Options are what a plan depends on.
type Options struct {
	Full  bool   `json:"full"`  // the profile that judges; else the quick one
	Seed  uint64 `json:"seed"`  // the first
	Seeds int    `json:"seeds"` // how many; 0: what the profile says
}

// Profile returns the profile's name.
func (o Options) Profile() string {
	if o.Full {
		return "full"
	}
	return "quick"
}

// SeedsOr returns the number of seeds, or n where it was left to the profile.
func (o Options) SeedsOr(n int) int {
	if o.Seeds > 0 {
		return o.Seeds
	}
	return n
}

// Plan is what is to be run.
type Plan struct {
	Cells []Cell
	// Parameters are all that the cells rest on; they are kept in the output, as JSON,
	// and shards with others do not merge.
	Parameters any
}

// Cell is one simulation: a scheme at a point, with a seed.
type Cell struct {
	Point  string
	Scheme string
	Seed   uint64
	// Run simulates. It depends on nothing but the cell, and uses one goroutine.
	Run func() (*Measures, error)
}

// ID returns the cell's name, which no other cell of its plan has.
func (c Cell) ID() string { return fmt.Sprintf("%s/%s/%d", c.Point, c.Scheme, c.Seed) }

// Measures are all that is kept of a cell.
type Measures struct {
	Values map[string]float64   `json:"values"`           // the name says the unit
	Curves map[string][]float64 `json:"curves,omitempty"` // such as a CDF, at abscissae that the study knows
}

// check returns an error that names what is not a number.
func (m *Measures) check() error {
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	for name, x := range m.Values {
		if !finite(x) {
			return fmt.Errorf("measure %s = %v, must be finite", name, x)
		}
	}
	for name, c := range m.Curves {
		if i := slices.IndexFunc(c, func(x float64) bool { return !finite(x) }); i >= 0 {
			return fmt.Errorf("curve %s[%d] = %v, must be finite", name, i, c[i])
		}
	}
	return nil
}

// Result is a cell and what came of it.
type Result struct {
	Point  string `json:"point"`
	Scheme string `json:"scheme"`
	Seed   uint64 `json:"seed"`
	Measures
}

// Output is what a run leaves: all results, or those of a shard.
type Output struct {
	Study      string          `json:"study"`
	Profile    string          `json:"profile"`
	Options    Options         `json:"options"`
	Shard      string          `json:"shard,omitempty"` // i/n
	Cells      int             `json:"cells"`           // of the plan
	Parameters json.RawMessage `json:"parameters"`
	Results    []*Result       `json:"results"` // in the order of the plan
}
