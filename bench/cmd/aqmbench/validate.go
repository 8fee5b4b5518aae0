package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/aqmkit/aqmkit/bench/dumbbell"
)

type validateCommand struct {
	Rates    []bitRate `default:"10M,100M,1G" help:"Of the recorded rates only these (${default})."`
	Seconds  float64   `placeholder:"S" help:"Simulated time of each run instead of the recorded 100, 200 or 300 s: short runs mislead, as the start-up is still in the figures."`
	Seed     uint64    `default:"7" help:"The first seed (${default})."`
	Seeds    int       `default:"1" help:"How many of them (${default})."`
	Workers  int       `placeholder:"N" help:"Runs at a time (one for each core)."`
	LiveRate bitRate   `default:"100M" help:"Run ns-2 too, up to this rate, if ns is installed; 0 for not at all (${default}; 1G takes some five minutes)."`
	Script   string    `name:"ns2-script" placeholder:"FILE" help:"Give ns another script than ours, which is bench/dumbbell/ns2.tcl."`
	JSON     bool      `name:"json" help:"Print JSON."`
}

// Validate is called by kong.
func (c *validateCommand) Validate() error {
	for _, r := range c.Rates {
		if r.value != 10e6 && r.value != 100e6 && r.value != 1e9 {
			return fmt.Errorf("--rates = %d bit/s, must be of 10M, 100M and 1G", r.value)
		}
	}
	switch {
	case !(c.Seconds >= 0 && c.Seconds <= dumbbell.MaxSeconds):
		return fmt.Errorf("--seconds = %v, must be in (0, %d]", c.Seconds, dumbbell.MaxSeconds)
	case c.Seeds < 1 || c.Seeds > 1000:
		return fmt.Errorf("--seeds = %d, must be in [1, 1000]", c.Seeds)
	case c.Workers < 0:
		return fmt.Errorf("--workers = %d, must be 1 or more, or 0 for one on each core", c.Workers)
	}
	if c.Script != "" {
		if _, err := os.Stat(c.Script); err != nil {
			return fmt.Errorf("--ns2-script: %w", err)
		}
	}
	return nil
}

// Run is called by kong.
func (c *validateCommand) Run(out *output) error {
	p := dumbbell.Plan{
		Seconds: c.Seconds, Seed: c.Seed, Seeds: c.Seeds, Workers: workers(c.Workers),
		LiveRate: c.LiveRate.value, Script: c.Script, Progress: out.progress(),
	}
	for _, r := range c.Rates {
		p.Rates = append(p.Rates, r.value)
	}
	if _, err := exec.LookPath("ns"); err != nil && p.LiveRate > 0 {
		if c.Script != "" {
			return errors.New("--ns2-script needs ns, which is not installed (Debian: apt-get install ns2)")
		}
		fmt.Fprintln(out.messages, "ns is not installed (Debian: apt-get install ns2): compared with recorded results only")
		p.LiveRate = 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	v, err := dumbbell.Validate(ctx, p)
	if err != nil {
		return err
	}
	if c.JSON {
		e := json.NewEncoder(out.results)
		e.SetIndent("", "  ")
		if err := e.Encode(v); err != nil {
			return err
		}
	} else if err := v.WriteTable(out.results); err != nil {
		return err
	}
	if n := v.Outside(); n > 0 {
		return fmt.Errorf("%d comparisons are outside their tolerances", n)
	}
	return nil
}
