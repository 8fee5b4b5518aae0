package study

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Merge puts the outputs of shards together, in the order of the plan: to the very
// output of a run in one piece.
func (s *Study) Merge(shards []*Output) (*Output, error) {
	if len(shards) == 0 {
		return nil, fmt.Errorf("nothing to merge")
	}
	first := shards[0]
	plan, parameters, err := s.plan(first.Options)
	if err != nil {
		return nil, err
	}
	results := map[string]*Result{}
	for i, o := range shards {
		switch {
		case o.Study != s.Name:
			return nil, fmt.Errorf("output %d is of the study %q, not %q", i+1, o.Study, s.Name)
		case o.Options != first.Options:
			return nil, fmt.Errorf("output %d is of the options %+v, and the first of %+v", i+1, o.Options, first.Options)
		case !sameJSON(o.Parameters, parameters):
			return nil, fmt.Errorf("output %d was run with other parameters than this program's; run it again with the same version", i+1)
		}
		for _, r := range o.Results {
			id := Cell{Point: r.Point, Scheme: r.Scheme, Seed: r.Seed}.ID()
			if results[id] != nil {
				return nil, fmt.Errorf("cell %s is in two outputs", id)
			}
			results[id] = r
		}
	}
	out := &Output{Study: s.Name, Profile: first.Options.Profile(), Options: first.Options, Cells: len(plan.Cells), Parameters: parameters}
	missing := 0
	for _, c := range plan.Cells {
		if r := results[c.ID()]; r != nil {
			out.Results = append(out.Results, r)
			delete(results, c.ID())
		} else {
			missing++
		}
	}
	if missing > 0 {
		return nil, fmt.Errorf("%d of %d cells are in none of the %d outputs; is a shard missing?", missing, len(plan.Cells), len(shards))
	}
	for id := range results {
		return nil, fmt.Errorf("cell %s is not in the plan", id)
	}
	return out, nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
