package main

import (
	"encoding/json"

	"github.com/aqmkit/aqmkit/bench/dumbbell"
	"github.com/aqmkit/aqmkit/internal/catalog"
)

type compareCommand struct {
	Algorithms []string `placeholder:"NAME,..." help:"Compare only these: ${algorithms}."`
	scenarioFlags

	scenarios []dumbbell.Scenario
}

// Validate is called by kong.
func (c *compareCommand) Validate() error {
	names := c.Algorithms
	if len(names) == 0 {
		names = catalog.Names()
	}
	c.scenarios = nil
	for _, name := range names {
		s, err := c.scenario(name)
		if err != nil {
			return err
		}
		if err := s.Validate(); err != nil {
			return err
		}
		c.scenarios = append(c.scenarios, s)
	}
	return nil
}

// Run is called by kong.
func (c *compareCommand) Run(out *output) error {
	reports, err := c.run(out, c.scenarios)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		e := json.NewEncoder(out.results)
		e.SetIndent("", "  ")
		return e.Encode(reports)
	case c.CSV:
		return dumbbell.WriteCSV(out.results, reports)
	}
	if err := dumbbell.WriteTable(out.results, reports); err != nil {
		return err
	}
	speed(out, reports)
	return nil
}
