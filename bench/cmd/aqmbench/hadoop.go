package main

import (
	"errors"

	"github.com/aqmkit/aqmkit/bench/hadoop"
)

func init() { studies["hadoop"] = hadoop.Study }

type hadoopCommand struct {
	studyFlags
	Scale bool `help:"Run one cell on clusters of 16, 64 and 256 nodes instead, and print time and memory."`
}

// Validate is called by kong.
func (c *hadoopCommand) Validate() error {
	if c.Scale && (c.Full || c.Quick || c.List || c.JSON || c.Only != "" || c.Report != "" || c.Shard.Of > 1) {
		return errors.New("--scale is a measurement by itself: of the other flags only --seed may be set")
	}
	return c.studyFlags.Validate()
}

// Run is called by kong.
func (c *hadoopCommand) Run(out *output) error {
	if c.Scale {
		return hadoop.Scale(out.results, c.Seed, out.progress())
	}
	return c.run(out, hadoop.Study())
}
