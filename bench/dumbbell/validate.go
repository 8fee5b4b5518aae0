package dumbbell

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aqmkit/aqmkit/internal/tcp"
)

// Script is the scenario for ns-2; its head says how it is called.
//
//go:embed ns2.tcl
var Script string

// Comparison is one scenario in another simulator and here.
type Comparison struct {
	Recorded
	Ours *Report `json:"ours"`
	Live *Live   `json:"live,omitempty"` // ns-2 beside us, where that was asked for
}

// Live is a run of ns-2 on this machine, right after one of ours.
type Live struct {
	Utilisation          float64 `json:"utilisation"`
	Queue                float64 `json:"mean_queue_packets"`
	PacketsPerWallSecond float64 `json:"packets_per_wall_second"`
	Speedup              float64 `json:"speedup"` // how many times as fast we were
}

// Tolerances.
const (
	utilisationNear = .03 // share of the capacity
	queueNear       = .1  // share of ns-2's mean queue, or
	queueSDs        = 3   // standard deviations of its seeds
	queueNearNS3    = .25
)

// near reports whether utilisation and queue agree with ours.
func (c *Comparison) near(utilisation, queue, sd float64) bool {
	tolerance := max(queueNear*queue, queueSDs*sd)
	if c.Simulator == "ns-3" {
		tolerance = queueNearNS3 * queue
	}
	return math.Abs(c.Ours.Utilisation-utilisation) <= utilisationNear && math.Abs(c.Ours.QueueMean-queue) <= tolerance
}

// Within reports whether we agree with what was recorded.
func (c *Comparison) Within() bool {
	return c.near(c.Recorded.Utilisation, c.Recorded.Queue, c.QueueSD)
}

// Validation is what [Validate] found.
type Validation struct {
	Comparisons []*Comparison `json:"comparisons"`
	DCTCP       []*DCTCP      `json:"dctcp"`
}

// Plan says what [Validate] does.
type Plan struct {
	Rates    []uint64 // bit/s; of the recorded ones
	Seconds  float64  // of a run; 0: as long as the recorded one
	Seed     uint64   // the first
	Seeds    int      // of ours
	Workers  int
	LiveRate uint64 // bit/s; up to which ns-2 is run too; 0: not at all
	Script   string // a file with another script instead of ours; ""
	Progress Progress
}

// scenario returns what is run beside r.
func (r Recorded) scenario(seconds float64) Scenario {
	if seconds == 0 {
		seconds = r.Seconds
	}
	s := LikeNS2(r.Algorithm, r.Rate, seconds)
	if r.Simulator == "ns-3" {
		s.Settings = NS3
		if r.Algorithm == "dctcp" {
			s.Kinds = []tcp.Variant{tcp.DCTCP}
		}
	}
	return s
}

// Validate runs the recorded scenarios and those with closed forms.
func Validate(ctx context.Context, p Plan) (*Validation, error) {
	v := &Validation{}
	var scenarios []Scenario
	for _, r := range recorded {
		if slices.Contains(p.Rates, r.Rate) {
			v.Comparisons = append(v.Comparisons, &Comparison{Recorded: r})
			scenarios = append(scenarios, r.scenario(p.Seconds))
		}
	}
	if len(scenarios) == 0 {
		return nil, fmt.Errorf("rates = %v bit/s, must be of 10M, 100M and 1G", p.Rates)
	}
	// The longest first, or one worker is left alone with it.
	order := make([]int, len(scenarios))
	for i := range order {
		order[i] = len(order) - 1 - i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(scenarios[b].Rate/1000) - int(scenarios[a].Rate/1000) })
	sorted := make([]Scenario, len(order))
	for k, i := range order {
		sorted[k] = scenarios[i]
	}
	reports, err := Run(sorted, p.Seed, p.Seeds, p.Workers, p.Progress)
	if err != nil {
		return nil, err
	}
	for k, i := range order {
		v.Comparisons[i].Ours = reports[k]
	}
	for i, c := range v.Comparisons {
		if c.Simulator != "ns-2" || c.Rate > p.LiveRate {
			continue
		}
		if p.Progress != nil {
			p.Progress(i, len(v.Comparisons), "ns-2: "+c.Algorithm+" at "+rate(c.Rate))
		}
		if c.Live, err = live(ctx, scenarios[i], p.Seed, p.Script); err != nil {
			return nil, err
		}
	}
	if p.Progress != nil {
		p.Progress(0, 1, "")
	}
	for _, d := range []struct {
		rate     uint64
		rtt      time.Duration
		k, flows int
	}{
		{10e9, 100 * time.Microsecond, 40, 1},
		{10e9, 100 * time.Microsecond, 40, 2},
		{10e9, 100 * time.Microsecond, 40, 4},
		{10e9, 400 * time.Microsecond, 65, 2},
		{1e9, 400 * time.Microsecond, 20, 2},
		{1e9, time.Millisecond, 30, 2},
	} {
		r, err := RunDCTCP(d.rate, d.rtt, d.k, d.flows, .4)
		if err != nil {
			return nil, err
		}
		v.DCTCP = append(v.DCTCP, r)
	}
	return v, nil
}

// live runs s here and in ns-2, one after the other.
func live(ctx context.Context, s Scenario, seed uint64, script string) (*Live, error) {
	ours, err := s.run(seed, func() {})
	if err != nil {
		return nil, err
	}
	if script == "" {
		dir, err := os.MkdirTemp("", "aqmbench")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		script = filepath.Join(dir, "ns2.tcl")
		if err := os.WriteFile(script, []byte(Script), 0o600); err != nil {
			return nil, err
		}
	}
	ecn := "0"
	if s.ECN {
		ecn = "1"
	}
	cmd := exec.CommandContext(ctx, "ns", script, s.Algorithm, fmt.Sprint(s.Rate), fmt.Sprint(s.Flows), figure(s.Seconds), ecn, fmt.Sprint(s.Buffer), fmt.Sprint(seed))
	var messages strings.Builder
	cmd.Stderr = &messages
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(messages.String()))
	}
	l, packets, wall := &Live{}, 0., 0.
	if _, err := fmt.Sscan(string(out), &l.Utilisation, &l.Queue, &packets, &wall); err != nil {
		return nil, fmt.Errorf("%s printed %q, must be utilisation, mean queue, packets and wall seconds", strings.Join(cmd.Args, " "), out)
	}
	if wall > 0 {
		l.PacketsPerWallSecond = packets / wall
		l.Speedup = ours.PacketsPerWallSecond / l.PacketsPerWallSecond
	}
	return l, nil
}

// dctcpNear is how far DCTCP may be from its closed forms: a share of them, or for
// queues a few packets.
const (
	dctcpNear        = .15
	dctcpNearPackets = 3
)

// Within reports whether the run agrees with the closed forms.
func (d *DCTCP) Within() bool {
	return math.Abs(d.Alpha.Off()) <= dctcpNear &&
		math.Abs(d.Amplitude.Measured-d.Amplitude.Expected) <= max(dctcpNear*d.Amplitude.Expected, dctcpNearPackets) &&
		math.Abs(d.QueueMax.Measured-d.QueueMax.Expected) <= dctcpNearPackets
}

// Outside returns how many comparisons are not within their tolerances.
func (v *Validation) Outside() (n int) {
	for _, c := range v.Comparisons {
		if !c.Within() {
			n++
		}
	}
	for _, d := range v.DCTCP {
		if !d.Within() {
			n++
		}
	}
	return n
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "NO"
}

// WriteTable writes the validation for people.
func (v *Validation) WriteTable(w io.Writer) error {
	fmt.Fprint(w, "50 long ECN flows, RTT 40 to 100 ms, buffer 2 BDP; the first quarter is left out\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	lively := slices.ContainsFunc(v.Comparisons, func(c *Comparison) bool { return c.Live != nil })
	fmt.Fprint(t, "beside\talgorithm\trate\tseconds\tutilisation\trecorded\tmean queue\trecorded\tsd\toff\twithin\t")
	if lively {
		fmt.Fprint(t, "ns now: utilisation\tmean queue\toff\tpackets/s\ttimes as fast\t")
	}
	fmt.Fprintln(t)
	for _, c := range v.Comparisons {
		fmt.Fprintf(t, "%s\t%s\t%s\t%v\t%.3f\t%.3f\t%.1f\t%.1f\t%.2g\t%+.1f %%\t%s\t", c.Simulator, c.Algorithm, rate(c.Rate), c.Ours.Scenario.Seconds,
			c.Ours.Utilisation, c.Recorded.Utilisation, c.Ours.QueueMean, c.Queue, c.QueueSD, 100*(c.Ours.QueueMean/c.Queue-1), yes(c.Within()))
		switch l := c.Live; {
		case l != nil:
			fmt.Fprintf(t, "%.3f\t%.1f\t%+.1f %%\t%.3g\t%.1f\t", l.Utilisation, l.Queue, 100*(c.Ours.QueueMean/l.Queue-1), l.PacketsPerWallSecond, l.Speedup)
		case lively:
			fmt.Fprint(t, "\t\t\t\t\t")
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nWithin: utilisation to %v points; the mean queue to %v %% or %d standard deviations of ns-2's, %v %% of ns-3's.\n",
		100*utilisationNear, 100*queueNear, queueSDs, 100*queueNearNS3)
	fmt.Fprint(w, "\nDCTCP beside the closed forms of Alizadeh et al. 2010, section 3.3\n\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "rate\tRTT\tK\tflows\talpha\tclosed form\tamplitude\tclosed form\tQmax\tK + N\tutilisation\twithin\t")
	for _, d := range v.DCTCP {
		fmt.Fprintf(t, "%s\t%v\t%d\t%d\t%.3f\t%.3f\t%.1f\t%.1f\t%.1f\t%.0f\t%.3f\t%s\t\n", rate(d.Rate), d.RTT.Round(time.Microsecond), d.K, d.Flows,
			d.Alpha.Measured, d.Alpha.Expected, d.Amplitude.Measured, d.Amplitude.Expected, d.QueueMax.Measured, d.QueueMax.Expected, d.Utilisation, yes(d.Within()))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nWithin: %v %%; amplitude and Qmax to %d packets too.\n", 100*dctcpNear, dctcpNearPackets)
	return err
}
