// Command aqmbench measures and compares the algorithms of aqmkit.
//
// Without arguments it prints what a decision of each algorithm costs per packet,
// and says what else it can do; aqmbench -h lists the commands.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"github.com/aqmkit/aqmkit/bench/cost"
	"github.com/aqmkit/aqmkit/internal/catalog"
)

type cli struct {
	Cost costCommand `cmd:"" default:"withargs" help:"Print what a decision costs per packet: every algorithm in each of its regimes, bare, under a policy and in a FIFO, beside the floor."`
}

type costCommand struct {
	Algorithms []string `placeholder:"NAME,..." help:"Measure only these: ${algorithms}."`
	Rounds     int      `default:"11" help:"Samples for each figure, of about a millisecond; 1 to 1000."`
	JSON       bool     `name:"json" help:"Print JSON, with the quartiles."`
}

// Validate is called by kong.
func (c *costCommand) Validate() error {
	if c.Rounds < 1 || c.Rounds > 1000 {
		return fmt.Errorf("--rounds = %d samples, must be in [1, 1000]", c.Rounds)
	}
	for _, name := range c.Algorithms {
		if _, err := catalog.Find(name); err != nil {
			return fmt.Errorf("--algorithms: %w", err)
		}
	}
	return nil
}

// Run is called by kong.
func (c *costCommand) Run(out *output) error {
	names := c.Algorithms
	if len(names) == 0 {
		names = catalog.Names()
	}
	r, err := cost.Run(names, c.Rounds, out.progress())
	if err != nil {
		return err
	}
	if c.JSON {
		e := json.NewEncoder(out.results)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	if err := r.WriteTable(out.results); err != nil {
		return err
	}
	if out.bare {
		fmt.Fprint(out.results, "\nThis was `aqmbench cost`. `aqmbench -h` lists what else there is, `aqmbench cost -h` what can be set here;\n`go test -bench . ./bench` runs the same as benchmarks.\n")
	}
	return nil
}

// output is where a command writes.
type output struct {
	results, messages io.Writer
	bare              bool // the command was run without arguments
}

// progress returns a function that says on one line of the messages how far a
// command is, from its third second on.
func (o *output) progress() func(done, of int, what string) {
	start, shown := time.Now(), false
	return func(done, of int, what string) {
		if shown || time.Since(start) > 2*time.Second {
			shown = true
			fmt.Fprintf(o.messages, "\r\x1b[K%3d %%  %s", 100*done/of, what)
			if done == of-1 {
				fmt.Fprint(o.messages, "\r\x1b[K")
			}
		}
	}
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the command line and returns the exit status.
func run(args []string, results, messages io.Writer) int {
	status := -1
	k := kong.Must(&cli{},
		kong.Name("aqmbench"),
		kong.Description("Measures and compares the algorithms of aqmkit."),
		kong.Vars{"algorithms": fmt.Sprint(catalog.Names())},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(results, messages),
		kong.Exit(func(code int) { status = code }),
	)
	ctx, err := k.Parse(args)
	switch {
	case status >= 0: // help was asked for and given
		return status
	case err != nil:
		fmt.Fprintf(messages, "aqmbench: %v\nRun aqmbench -h for the commands and their flags.\n", err)
		return 2
	}
	if err := ctx.Run(&output{results, messages, len(args) == 0}); err != nil {
		fmt.Fprintf(messages, "aqmbench: %v\n", err)
		return 1
	}
	return 0
}
