package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aqmkit/aqmkit/bench/dumbbell"
)

type dumbbellCommand struct {
	Algorithm string `default:"red" placeholder:"NAME" help:"One of ${algorithms} (${default})."`
	scenarioFlags

	LikeNS2  bool `name:"like-ns2" help:"Run exactly the scenario of ns-2 that validate compares with: droptail, red, ared, pi or rem with ns-2's settings, 50 flows and their TCP; of the other flags only rate, seconds and seeds may be set. A rate without a unit is in Mb/s."`
	NS2PIRef bool `name:"ns2-pi-ref" help:"With --like-ns2 --algorithm pi: a reference of a fifth of the BDP instead of 50 packets."`

	scenario dumbbell.Scenario
}

// Validate is called by kong.
func (c *dumbbellCommand) Validate() (err error) {
	if c.scenario, err = c.scenarioFlags.scenario(c.Algorithm); err != nil {
		return err
	}
	if c.LikeNS2 {
		if c.scenario, err = c.likeNS2(c.scenario); err != nil {
			return err
		}
	} else if c.NS2PIRef {
		return errors.New("--ns2-pi-ref needs --like-ns2 --algorithm pi")
	}
	return c.scenario.Validate()
}

// likeNS2 returns ns-2's scenario in place of s, unless s was changed.
func (c *dumbbellCommand) likeNS2(s dumbbell.Scenario) (dumbbell.Scenario, error) {
	name, r := c.Algorithm, c.Rate
	if c.NS2PIRef {
		if name != "pi" {
			return s, errors.New("--ns2-pi-ref needs --like-ns2 --algorithm pi")
		}
		name = "pi-ref"
	}
	if !slices.Contains(dumbbell.NS2Names(), name) {
		return s, fmt.Errorf("unknown algorithm %q; with --like-ns2 there are %s", name, strings.Join(dumbbell.NS2Names(), ", "))
	}
	if r.bare {
		if r.value > dumbbell.MaxRate/1e6 {
			return s, fmt.Errorf("--rate = %d Mb/s, which it is with --like-ns2, must be 1000000 at most", r.value)
		}
		r.value *= 1e6
	}
	like := dumbbell.LikeNS2(name, r.value, c.Seconds)
	// What the flags say when none is given.
	s.Algorithm, s.Settings, s.Rate = like.Algorithm, like.Settings, like.Rate
	if c.Buffer == nil {
		s.Buffer = like.Buffer
	}
	if !reflect.DeepEqual(s, like) || c.Settings != "design" {
		return s, errors.New("--like-ns2 is one scenario: of the flags that describe it only --algorithm, --rate, --seconds, --seed and --seeds may be set")
	}
	return like, nil
}

// Run is called by kong.
func (c *dumbbellCommand) Run(out *output) error {
	reports, err := c.run(out, []dumbbell.Scenario{c.scenario})
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		e := json.NewEncoder(out.results)
		e.SetIndent("", "  ")
		return e.Encode(reports[0])
	case c.CSV:
		return dumbbell.WriteCSV(out.results, reports)
	}
	if err := dumbbell.WriteTable(out.results, reports); err != nil {
		return err
	}
	speed(out, reports)
	return nil
}
