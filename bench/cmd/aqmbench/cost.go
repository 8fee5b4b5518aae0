package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/bench/cost"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/cmdline"
)

type costCommand struct {
	Algorithms []string `placeholder:"NAME" help:"Measure only these, and not what policies cost: ${algorithms}."`
	Rounds     *int     `placeholder:"11" help:"Samples for each figure, of about a millisecond; 1 to 1000, and 11 without."`
	JSON       bool     `name:"json" help:"Print JSON, with the quartiles."`

	Peers        bool           `xor:"what" help:"Compare with what others queue and decide with: DPDK and our own C if gcc is there, channels, lists and gVisor's FIFO."`
	Cold         bool           `xor:"what" help:"Measure both decisions for up to a million queues in random order."`
	Cores        bool           `xor:"what" help:"Measure all cores at once."`
	Profile      bool           `xor:"what" help:"Say which functions and lines the time goes to, for each regime."`
	Each         *time.Duration `placeholder:"1s" help:"How long --profile looks at a regime's decisions, and at its round trip; 100ms to 1m, and 1s without."`
	Instructions bool           `xor:"what" help:"Count instructions under callgrind, which takes a minute or two."`
	Baseline     string         `placeholder:"FILE" help:"With --instructions: fail if a count is more than 3 % above FILE's, or missing."`
	Save         string         `placeholder:"FILE" help:"With --instructions: write the counts to FILE, as a baseline."`
	Counted      bool           `hidden:"" xor:"what"`
}

// Validate is called by kong.
func (c *costCommand) Validate() error {
	if c.Rounds != nil && (*c.Rounds < 1 || *c.Rounds > 1000) {
		return fmt.Errorf("--rounds = %d samples, must be in [1, 1000]", *c.Rounds)
	}
	if c.Algorithms != nil && len(c.Algorithms) == 0 {
		return errors.New("--algorithms must not be empty")
	}
	for i, name := range c.Algorithms {
		if _, err := catalog.Find(name); err != nil {
			return fmt.Errorf("--algorithms: %w", err)
		}
		if slices.Index(c.Algorithms, name) != i {
			return fmt.Errorf("--algorithms has %s twice", name)
		}
	}
	switch {
	case c.Each != nil && !c.Profile:
		return errors.New("--each needs --profile")
	case c.Each != nil && (*c.Each < 100*time.Millisecond || *c.Each > time.Minute):
		return fmt.Errorf("--each = %v, must be in [100ms, 1m]", *c.Each)
	case c.Rounds != nil && c.Profile:
		return errors.New("--profile takes no samples: leave --rounds out, and say with --each how long it looks")
	case c.Rounds != nil && c.Instructions:
		return errors.New("--instructions counts once: leave --rounds out")
	case c.Baseline != "" && !c.Instructions:
		return errors.New("--baseline needs --instructions")
	case c.Save != "" && !c.Instructions:
		return errors.New("--save needs --instructions")
	case c.Peers && c.Algorithms != nil:
		return errors.New("--peers compares what has peers: leave --algorithms out")
	}
	return nil
}

// Run is called by kong.
func (c *costCommand) Run(out *output) error {
	rounds, each := 11, time.Second
	if c.Rounds != nil {
		rounds = *c.Rounds
	}
	if c.Each != nil {
		each = *c.Each
	}
	names := c.Algorithms
	if names == nil {
		names = catalog.Names()
	}
	switch {
	case c.Counted:
		return cost.Counted(c.Algorithms)
	case c.Instructions:
		return c.instructions(out)
	case c.Peers:
		r, err := cost.RunPeers(rounds, out.progress())
		return c.print(out, r, err, r.WriteTable)
	case c.Cold:
		r, err := cost.RunCold(names, rounds, out.progress())
		return c.print(out, r, err, func(w io.Writer) error { return cost.WriteCold(w, r) })
	case c.Cores:
		r, err := cost.RunCores(names, rounds, out.progress())
		return c.print(out, r, err, func(w io.Writer) error { return cost.WriteCores(w, r) })
	case c.Profile:
		r, err := cost.RunProfiles(names, each, out.progress())
		return c.print(out, r, err, func(w io.Writer) error { return cost.WriteProfiles(w, r, 10) })
	}
	r, err := cost.Run(c.Algorithms, rounds, out.progress())
	if err := c.print(out, r, err, r.WriteTable); err != nil {
		return err
	}
	if out.bare {
		fmt.Fprint(out.results, "\nThis was `aqmbench cost`; `aqmbench cost -h` lists what can be set.\n`go test -bench . ./bench` runs the same as benchmarks.\n")
	}
	return nil
}

// print prints a result as a table, or as JSON, unless there was an error.
func (c *costCommand) print(out *output, result any, err error, table func(io.Writer) error) error {
	switch {
	case err != nil:
		return err
	case c.JSON:
		return writeJSON(out.results, result)
	}
	return table(out.results)
}

func writeJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(result)
}

// instructions counts, compares and saves.
func (c *costCommand) instructions(out *output) error {
	var baseline cost.Instructions
	if c.Baseline != "" {
		var err error
		if baseline, err = cost.ReadBaseline(c.Baseline); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := []string{self, "cost", "--counted"}
	for _, name := range c.Algorithms {
		command = append(command, "--algorithms="+name)
	}
	fmt.Fprintln(out.messages, "counting under callgrind, which takes a minute or two")
	r, err := cost.CountInstructions(c.Algorithms, command)
	if err := c.print(out, r, err, func(w io.Writer) error { return r.WriteTable(w, baseline) }); err != nil {
		return err
	}
	if c.Save != "" {
		if err := cmdline.WriteFile(c.Save, func(w io.Writer) error { return writeJSON(w, r) }); err != nil {
			return err
		}
	}
	if c.Baseline == "" {
		return nil
	}
	rises, err := r.Rises(baseline, c.Algorithms)
	if err != nil {
		return err
	}
	for _, rise := range rises {
		fmt.Fprintln(out.messages, rise)
	}
	if len(rises) > 0 {
		return fmt.Errorf("%d counts are more than 3 %% above %s, or on one side only; if that is meant, write it again with --save", len(rises), c.Baseline)
	}
	return nil
}
