package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/cmdline"
)

type matrixCommand struct {
	Algorithms []string `placeholder:"NAME" help:"Take the sample over these only: ${algorithms}."`
	CC         []string `name:"cc" default:"cubic,reno,bbr" help:"Congestion controls of the kernel (${default})."`
	Seconds    float64  `default:"40" help:"How long each cell is measured, seconds (${default})."`
	Warmup     float64  `default:"20" help:"How long before that it runs, seconds (${default})."`
	Parallel   int      `default:"3" help:"Cells to run at once, at most (${default}), of which the rates add up to no more than --load."`
	Load       bitRate  `default:"110M" help:"Rates to run at once, at most; a cell of more runs alone (${default})."`
	Seed       uint64   `default:"1" help:"Seed of the algorithms' random numbers (${default})."`
	Out        string   `placeholder:"FOLDER" help:"Write matrix.json, matrix.csv and the figures matrix-goodput.svg and matrix-delay.svg there."`
	List       bool     `help:"Print the cells of the sample, and run none."`
	From       string   `placeholder:"FILE" help:"Run none, and print and draw again what a matrix.json has."`
	JSON       bool     `name:"json" help:"Print JSON."`
}

// Help is printed below the flags.
func (c *matrixCommand) Help() string {
	return "The matrix is 10, 50 and 200 Mb/s, RTT 10, 50 and 100 ms, cubic, reno and bbr, ECN off and on, 1 and 8 flows, under drop-tail and every algorithm. " +
		"Of its 756 combinations a sample of at most 40 is run in which every pair of levels of every two factors occurs. " +
		"Beside the goodput of cubic and reno stands what the window law of the fluid model gives for the RTT, the flows and the target delay."
}

// AfterApply is called by kong.
func (c *matrixCommand) AfterApply() error {
	if c.Algorithms == nil {
		c.Algorithms = catalog.Names()
	}
	var l flagErrors
	for _, name := range c.Algorithms {
		_, err := catalog.Find(name)
		l.require(err == nil, "--algorithms: %v", err)
	}
	for _, cc := range c.CC {
		l.require(slices.Contains(matrixCCs, cc), "--cc: %q is none of %s, whose laws the matrix is about", cc, strings.Join(matrixCCs, ", "))
	}
	l.require(c.Seconds >= 1 && c.Seconds <= 60, "--seconds = %v s, must be in [1, 60]", c.Seconds)
	l.require(c.Warmup >= 1 && c.Warmup <= 60, "--warmup = %v s, must be in [1, 60]", c.Warmup)
	l.require(c.Parallel >= 1 && c.Parallel <= 16, "--parallel = %d cells, must be in [1, 16]", c.Parallel)
	return l.err()
}

// Run is called by kong.
func (c *matrixCommand) Run(ctx context.Context, out *output) error {
	sample := matrixSample(c.Algorithms, c.CC)
	if c.List {
		return out.print(func(w *strings.Builder) {
			t := table{head: []string{"algorithm", "cc", "ECN", " Mb/s", " RTT ms", " flows", " buffer", " model Mb/s"}}
			for _, s := range sample {
				r := newMatrixResult(s, result{})
				t.add(s.Algorithm, s.CC, map[bool]string{false: "off", true: "on"}[s.ECN], float64(s.Rate)/1e6, milliseconds(s.RTT), s.Flows, r.Buffer, fmt.Sprintf("%.1f", r.Model/1e6))
			}
			t.write(w)
		})
	}
	if c.Out != "" {
		if err := os.MkdirAll(c.Out, 0o755); err != nil {
			return err
		}
	}
	if c.From != "" {
		text, err := os.ReadFile(c.From)
		if err != nil {
			return err
		}
		var r matrixReport
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("%s is not what aqmlink matrix --out writes: %w", c.From, err)
		}
		r.Checks = matrixChecks(r.Cells)
		return c.report(&r, out)
	}
	if err := preflight(c.CC); err != nil {
		return err
	}
	undo, err := scheduleInRealTime()
	if err != nil {
		out.say("not scheduled in real time, so that other work on this machine will show: %v", err)
	} else {
		defer undo()
	}
	r := matrixReport{
		Combinations: len(c.Algorithms) * len(c.CC) * len(matrixECN) * len(matrixRates) * len(matrixRTTs) * len(matrixFlows),
		Warmup:       c.Warmup, Seconds: c.Seconds, Seed: c.Seed,
	}
	r.Cells, err = c.runAll(ctx, out, sample)
	if len(r.Cells) == 0 {
		return err
	}
	r.Checks = matrixChecks(r.Cells)
	return errors.Join(err, c.report(&r, out))
}

// runAll runs the cells, those of small rates several at once. After an error it
// returns those that were complete.
func (c *matrixCommand) runAll(ctx context.Context, out *output, sample []matrixCell) ([]matrixResult, error) {
	each := time.Duration((c.Seconds + c.Warmup + 1.5) * float64(time.Second))
	out.say("%s of %v, up to %d at once", counted(len(sample), "cell"), each.Round(time.Second), c.Parallel)
	jobs := make([]job, len(sample))
	results := make([]*matrixResult, len(sample))
	for i, one := range sample {
		jobs[i] = job{name: one.String(), rate: one.Rate, run: func(ctx context.Context) error {
			r, err := c.runOne(ctx, one)
			if err == nil {
				results[i] = &r
			}
			return err
		}}
	}
	err := atOnce(ctx, out, jobs, c.Parallel, uint64(c.Load))
	var complete []matrixResult
	for _, r := range results {
		if r != nil {
			complete = append(complete, *r)
		}
	}
	return complete, err
}

func (c *matrixCommand) runOne(ctx context.Context, m matrixCell) (matrixResult, error) {
	d := demoCommand{Rate: bitRate(m.Rate), RTT: m.RTT, Buffer: m.buffer(), Flows: m.Flows, Seconds: &c.Seconds, Warmup: &c.Warmup, Seed: c.Seed}
	run, err := d.runCell(ctx, m.cell, nil)
	return newMatrixResult(m, run), err
}

// report prints and writes what there is.
func (c *matrixCommand) report(r *matrixReport, out *output) error {
	var errs []error
	if c.JSON {
		errs = append(errs, out.printJSON(r))
	} else {
		errs = append(errs, out.print(r.writeTable))
	}
	if c.Out != "" {
		errs = append(errs,
			cmdline.WriteFile(filepath.Join(c.Out, "matrix.json"), func(w io.Writer) error {
				e := json.NewEncoder(w)
				e.SetIndent("", "  ")
				return e.Encode(r)
			}),
			cmdline.WriteFile(filepath.Join(c.Out, "matrix.csv"), r.writeCSV))
		for name, figure := range r.figureFiles() {
			errs = append(errs, cmdline.WriteFile(filepath.Join(c.Out, name), figure.write))
		}
	}
	for _, one := range r.Cells {
		if !one.Run.ceHolds() {
			errs = append(errs, fmt.Errorf("%v: the receivers counted %d packets with CE, for %d marks", one.matrixCell, one.Run.CE, one.Run.Marks))
		}
	}
	return errors.Join(errs...)
}
