package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/bench/dumbbell"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/cmdline"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// bitRate is a flag in bit/s: a number, and k, M or G, with or without bit/s behind
// it.
type bitRate struct {
	value uint64
	bare  bool // without a unit or prefix
}

// UnmarshalText is called by kong.
func (r *bitRate) UnmarshalText(text []byte) error {
	var x cmdline.Rate
	if err := x.UnmarshalText(text); err != nil {
		return err
	}
	if !(x >= 0 && x <= dumbbell.MaxRate) {
		return fmt.Errorf("%q is not in [10k, 1000G] bit/s", text)
	}
	*r = bitRate{uint64(math.Round(float64(x))), strings.ContainsRune("0123456789.", rune(text[len(text)-1]))}
	return nil
}

// rttRange is a flag: a duration, or two.
type rttRange struct{ low, high time.Duration }

// UnmarshalText is called by kong.
func (r *rttRange) UnmarshalText(text []byte) error {
	low, high, two := strings.Cut(string(text), "-")
	if !two {
		high = low
	}
	var err1, err2 error
	r.low, err1 = time.ParseDuration(low)
	r.high, err2 = time.ParseDuration(high)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("%q is not a time such as 50ms or a range such as 40ms-100ms", text)
	}
	return nil
}

// kinds is a flag: congestion controls.
type kinds []tcp.Variant

// UnmarshalText is called by kong.
func (k *kinds) UnmarshalText(text []byte) error {
	*k = nil
	for name := range strings.SplitSeq(string(text), ",") {
		v := tcp.Variant(0)
		for v < tcp.NumVariants && v.String() != name {
			v++
		}
		if v == tcp.NumVariants {
			return fmt.Errorf("unknown kind of flow %q; there are newreno, cubic, dctcp", name)
		}
		*k = append(*k, v)
	}
	return nil
}

// policyFlags are those of an ecnpolicy.
type policyFlags struct {
	Protect     string  `default:"none" placeholder:"none" help:"Classes of packets that are not ECN-capable and get no signals: none, ece, acksyn or all."`
	Carry       bool    `help:"Move a protected packet's signal to the next ECN-capable one."`
	BudgetRate  bitRate `default:"0" placeholder:"BIT/S" help:"Limit what protection admits to this rate (no limit)."`
	BudgetBurst uint32  `placeholder:"BYTES" help:"And so much at once, bytes."`
	MarkForced  bool    `help:"Mark ECN-capable packets past a hard limit of the algorithm instead of dropping them."`
	MarkLimit   float64 `placeholder:"SHARE" help:"Drop instead of marking while this share of the packets is marked (no limit)."`
	IgnoreECN   bool    `name:"ignore-ecn" help:"Have the algorithm drop where it would mark."`
}

func (p *policyFlags) config() (c ecnpolicy.Config, err error) {
	c = ecnpolicy.Config{
		Carry: p.Carry, BudgetRate: p.BudgetRate.value, BudgetBurst: p.BudgetBurst,
		MarkForced: p.MarkForced, MarkLimit: p.MarkLimit, IgnoreECN: p.IgnoreECN,
	}
	switch p.Protect {
	case "none":
	case "ece":
		c.Protect = ecnpolicy.ECEBit
	case "acksyn":
		c.Protect = ecnpolicy.ACKSYN
	case "all":
		c.Protect = ecnpolicy.All
	default:
		return c, fmt.Errorf("--protect = %q, must be none, ece, acksyn or all", p.Protect)
	}
	return c, nil
}

// scenarioFlags say what is simulated, but for the algorithm, and what is written.
type scenarioFlags struct {
	Rate    bitRate       `default:"100M" help:"Rate of the bottleneck in bit/s: 50M, 2.5Gbit/s (${default})."`
	RTT     rttRange      `name:"rtt" default:"40ms-100ms" help:"Round-trip time of the empty network, or its range over the flows (${default})."`
	Flows   int           `default:"50" help:"Long-lived TCP flows (${default})."`
	Reverse int           `default:"0" help:"More of them in the other direction (${default})."`
	Kind    kinds         `default:"newreno" placeholder:"NAME,..." help:"Congestion controls of the flows in turn: newreno, cubic, dctcp (${default})."`
	ECN     bool          `name:"ecn" default:"true" negatable:"" help:"ECN-capable flows, the default; or --no-ecn."`
	MinRTO  time.Duration `name:"min-rto" default:"200ms" help:"Least retransmission timeout (${default})."`
	Buffer  *int          `placeholder:"2BDP" help:"Limit of the queue, packets (twice what fills the longest round trip)."`
	Seconds float64       `default:"60" help:"Simulated time, seconds (${default})."`
	Warmup  *float64      `placeholder:"S" help:"Seconds at the beginning that are left out of the figures (a quarter)."`

	Settings string `default:"design" help:"Parameters of the algorithm: design (for this link), default or paper (${default})."`

	Policy policyFlags `embed:"" group:"Policy around the algorithm:"`

	Seed    uint64 `default:"1" help:"The first seed (${default})."`
	Seeds   int    `default:"1" help:"How many of them (${default})."`
	Workers int    `default:"0" placeholder:"N" help:"Runs at a time (one for each core); the results do not depend on it."`

	JSON   bool   `name:"json" xor:"format" help:"Print JSON, with packets_per_wall_second."`
	CSV    bool   `name:"csv" xor:"format" help:"Print CSV, a line for each run."`
	Plot   string `placeholder:"FILE" help:"Draw queue, probability and delay over time into a file.svg or file.png."`
	Series string `placeholder:"FILE" help:"Write the same as CSV."`
}

// scenario returns what the flags describe, with the error of the first flag that is
// wrong by itself.
func (f *scenarioFlags) scenario(algorithm string) (dumbbell.Scenario, error) {
	policy, err := f.Policy.config()
	s := dumbbell.Scenario{
		Algorithm: algorithm, Settings: dumbbell.Settings(f.Settings), Policy: policy,
		Rate: f.Rate.value, RTTMin: f.RTT.low, RTTMax: f.RTT.high, Buffer: 2 * dumbbell.BDP(f.Rate.value, f.RTT.high),
		Flows: f.Flows, Reverse: f.Reverse, Kinds: dumbbell.Kinds(f.Kind), ECN: f.ECN, MinRTO: f.MinRTO,
		Seconds: f.Seconds, Warmup: f.Seconds / 4,
	}
	if f.Buffer != nil {
		s.Buffer = *f.Buffer
	}
	if f.Warmup != nil {
		s.Warmup = *f.Warmup
	}
	if err == nil && !slices.Contains([]string{"design", "default", "paper"}, f.Settings) {
		err = fmt.Errorf("--settings = %q, must be design, default or paper", f.Settings)
	}
	if err == nil && (f.Seeds < 1 || f.Seeds > 1000) {
		err = fmt.Errorf("--seeds = %d, must be in [1, 1000]", f.Seeds)
	}
	if err == nil && f.Workers < 0 {
		err = fmt.Errorf("--workers = %d, must be 1 or more, or 0 for one on each core", f.Workers)
	}
	return s, err
}

// checkFiles returns why a file could not be written in the end.
func (f *scenarioFlags) checkFiles() error {
	if f.Plot != "" {
		if _, err := dumbbell.PlotFormat(f.Plot); err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
	}
	for _, file := range []string{f.Plot, f.Series} {
		if file == "" {
			continue
		}
		if d, err := os.Stat(filepath.Dir(file)); err != nil {
			return fmt.Errorf("%s cannot be written: %w", file, err)
		} else if !d.IsDir() {
			return fmt.Errorf("%s cannot be written: %s is no folder", file, filepath.Dir(file))
		}
	}
	return nil
}

func workers(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// run simulates the scenarios and writes the files.
func (f *scenarioFlags) run(out *output, scenarios []dumbbell.Scenario) ([]*dumbbell.Report, error) {
	if err := f.checkFiles(); err != nil {
		return nil, err
	}
	reports, err := dumbbell.Run(scenarios, f.Seed, f.Seeds, workers(f.Workers), out.progress())
	if err != nil {
		return nil, err
	}
	if f.Plot != "" {
		format, err := dumbbell.PlotFormat(f.Plot)
		if err != nil {
			return nil, err
		}
		if err := cmdline.WriteFile(f.Plot, func(w io.Writer) error { return dumbbell.WritePlot(w, format, reports) }); err != nil {
			return nil, err
		}
	}
	if f.Series != "" {
		if err := cmdline.WriteFile(f.Series, func(w io.Writer) error { return dumbbell.WriteSeries(w, reports) }); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// speed says how fast the simulation was; in the messages, so that the results of
// equal runs are equal.
func speed(out *output, reports []*dumbbell.Report) {
	packets, wall := 0., 0.
	for _, r := range reports {
		for _, one := range r.Runs {
			packets, wall = packets+one.Packets, wall+one.Wall
		}
	}
	if wall > 0 {
		fmt.Fprintf(out.messages, "%.3g packets through the bottleneck, %.3g for each second of a core\n", packets, packets/wall)
	}
}
