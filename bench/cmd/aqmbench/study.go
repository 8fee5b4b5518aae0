package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/aqmkit/aqmkit/bench/study"
)

// studies are the reproductions, by the name of their command.
var studies = map[string]func() *study.Study{}

// studyFlags say how much of a study is run, and what is written.
type studyFlags struct {
	Quick bool        `xor:"profile" help:"Run fewer cells, and print indicative verdicts; the default, under 3 minutes on two cores."`
	Full  bool        `xor:"profile" help:"Run what judges the claims; under an hour on two cores."`
	Seed  uint64      `default:"1" help:"The first seed (${default})."`
	Seeds int         `default:"0" placeholder:"N" help:"How many (what the profile says)."`
	Shard study.Shard `placeholder:"I/N" help:"Run the I-th part of N, for aqmbench merge; needs --json."`
	Only  string      `placeholder:"REGEXP" help:"Run the cells whose name point/scheme/seed matches, and print their measures as JSON."`
	List  bool        `help:"List the cells and run none."`

	Workers int `default:"0" placeholder:"N" help:"Cells at a time (one for each core); the results do not depend on it."`

	JSON   bool   `name:"json" help:"Print every cell's measures as JSON instead of tables and claims."`
	Report string `placeholder:"FOLDER" help:"Fill a folder with one page to be read offline (index.html), the figures as SVG and PNG, the tables as Markdown and the results as JSON."`

	only *regexp.Regexp
}

// Validate is called by kong.
func (f *studyFlags) Validate() (err error) {
	switch {
	case f.Seeds < 0 || f.Seeds > 1000:
		return fmt.Errorf("--seeds = %d, must be in [1, 1000], or 0 for what the profile says", f.Seeds)
	case f.Workers < 0:
		return fmt.Errorf("--workers = %d, must be 1 or more, or 0 for one on each core", f.Workers)
	case f.Shard.Of > 1 && (!f.JSON || f.Report != ""):
		return errors.New("--shard needs --json, and no --report: a part of the cells makes no tables; aqmbench merge does, of all parts")
	case f.Only != "" && f.Report != "":
		return errors.New("--only prints measures, and makes no --report")
	}
	if f.Only != "" {
		if f.only, err = regexp.Compile(f.Only); err != nil {
			return fmt.Errorf("--only: %w", err)
		}
	}
	return nil
}

func (f *studyFlags) options() study.Options {
	return study.Options{Full: f.Full, Seed: f.Seed, Seeds: f.Seeds}
}

// run runs a study and writes what the flags ask for.
func (f *studyFlags) run(out *output, s *study.Study) error {
	if f.List {
		plan, err := s.Plan(f.options())
		if err != nil {
			return err
		}
		for _, c := range plan.Cells {
			fmt.Fprintln(out.results, c.ID())
		}
		return nil
	}
	if err := makeFolder(f.Report); err != nil {
		return err
	}
	o, err := s.Run(f.options(), f.Shard, f.only, workers(f.Workers), out.progress())
	if err != nil {
		return err
	}
	if f.only != nil {
		f.JSON = true
	}
	return writeStudy(out, s, o, f.JSON, f.Report)
}

// makeFolder makes the folder of a report before, not after, the hour it takes.
func makeFolder(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

// writeStudy writes the results as JSON, or tables and claims; and the report.
func writeStudy(out *output, s *study.Study, o *study.Output, asJSON bool, dir string) error {
	var r *study.Report
	if !asJSON || dir != "" {
		var err error
		if r, err = s.Report(o.Options, o.Data()); err != nil {
			return err
		}
	}
	if dir != "" {
		if err := r.WriteDir(dir, o); err != nil {
			return err
		}
	}
	if asJSON {
		return o.WriteJSON(out.results)
	}
	return r.WriteText(out.results, o.Options)
}

type mergeCommand struct {
	Files  []string `arg:"" type:"existingfile" help:"What the shards of one study printed with --json, or the output of a whole run."`
	JSON   bool     `name:"json" help:"Print the merged results as JSON: the bytes that a run in one piece prints."`
	Claims bool     `help:"Print the claims as JSON, with every comparison."`
	Report string   `placeholder:"FOLDER" help:"Fill a folder with the report, as the study's command does."`
}

// Run is called by kong.
func (c *mergeCommand) Run(out *output) error {
	var outputs []*study.Output
	for _, name := range c.Files {
		o, err := readOutput(name)
		if err != nil {
			return fmt.Errorf("%s: %w; it must be what a study printed with --json", name, err)
		}
		outputs = append(outputs, o)
	}
	makeStudy := studies[outputs[0].Study]
	if makeStudy == nil {
		var names []string
		for name := range studies {
			names = append(names, name)
		}
		slices.Sort(names)
		return fmt.Errorf("%s: unknown study %q; there are %s", c.Files[0], outputs[0].Study, strings.Join(names, ", "))
	}
	s := makeStudy()
	merged, err := s.Merge(outputs)
	if err != nil {
		return err
	}
	if c.Claims {
		r, err := s.Report(merged.Options, merged.Data())
		if err != nil {
			return err
		}
		e := json.NewEncoder(out.results)
		e.SetIndent("", "  ")
		return e.Encode(r.Claims)
	}
	if err := makeFolder(c.Report); err != nil {
		return err
	}
	return writeStudy(out, s, merged, c.JSON, c.Report)
}

func readOutput(name string) (*study.Output, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return study.ReadOutput(f)
}
