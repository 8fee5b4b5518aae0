package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/datapath/tunlink"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
)

type policyCommand struct {
	Rate        bitRate       `default:"20M" help:"Rate of the link in either direction, in bit/s (${default})."`
	RTT         time.Duration `name:"rtt" default:"20ms" help:"Round-trip time of the empty link (${default})."`
	Buffer      int           `default:"500" help:"Limit of the queue in either direction, packets (${default})."`
	Flows       int           `default:"8" help:"Long TCP flows in either direction (${default})."`
	Connections int           `default:"20" help:"Short connections per second in either direction (${default})."`
	Algorithms  []string      `placeholder:"NAME" help:"Run only these: ${algorithms}."`
	Modes       []string      `default:"default,ece,acksyn" help:"What is protected of the packets that are not ECN-capable: default is nothing, ece what has the ECN-Echo flag, acksyn every pure ACK, SYN and SYN-ACK, all everything (${default})."`
	CC          string        `name:"cc" default:"cubic" help:"Congestion control of the kernel (${default})."`
	Seconds     float64       `default:"25" help:"How long each combination is measured, seconds (${default})."`
	Warmup      float64       `default:"5" help:"How long before that it runs, seconds (${default})."`
	Parallel    int           `default:"3" help:"Combinations to run at once (${default})."`
	Seed        uint64        `default:"1" help:"Seed of the algorithms' random numbers (${default})."`
	JSON        bool          `name:"json" help:"Print JSON."`
}

// Help is printed below the flags.
func (c *policyCommand) Help() string {
	return "TCP sends pure ACKs, SYNs and SYN-ACKs without ECN [RFC 3168 6.1], so that an algorithm that marks data drops them. " +
		"Here flows with ECN in both directions share each queue with the ACKs of the others, and with connections that are being set up. The threshold drops what it cannot mark, as switches do."
}

// protections are the modes of Fischer e Silva and Carpenter, and all.
var protections = map[string]ecnpolicy.Config{
	"default": {},
	"ece":     {Protect: ecnpolicy.ECEBit},
	"acksyn":  {Protect: ecnpolicy.ACKSYN},
	"all":     {Protect: ecnpolicy.All},
}

// AfterApply is called by kong.
func (c *policyCommand) AfterApply() error {
	if c.Algorithms == nil {
		c.Algorithms = catalog.Names()
	}
	var l flagErrors
	l.link(c.Rate, c.RTT, c.Buffer)
	l.require(c.Flows >= 1 && c.Flows <= 500, "--flows = %d flows, must be in [1, 500]", c.Flows)
	l.require(c.Connections >= 1 && c.Connections <= 200, "--connections = %d per second, must be in [1, 200]", c.Connections)
	l.require(c.Parallel >= 1 && c.Parallel <= 16, "--parallel = %d, must be in [1, 16]", c.Parallel)
	l.require(c.Seconds >= 1 && c.Seconds <= 3600, "--seconds = %v s, must be in [1, 3600]", c.Seconds)
	l.require(c.Warmup >= 0.1 && c.Warmup <= 3600, "--warmup = %v s, must be in [0.1, 3600]", c.Warmup)
	for _, name := range c.Algorithms {
		_, err := catalog.Find(name)
		l.require(err == nil, "--algorithms: %v", err)
	}
	for _, mode := range c.Modes {
		_, ok := protections[mode]
		l.require(ok, "--modes: %q, must be default, ece, acksyn or all", mode)
	}
	return l.err()
}

// policyResult is what came of one algorithm in one mode.
type policyResult struct {
	Mode      string  `json:"mode"`
	SetupP50  float64 `json:"setup_p50_ms"`
	SetupP99  float64 `json:"setup_p99_ms"`
	SetupMax  float64 `json:"setup_max_ms"`
	Setups    int64   `json:"connections"`
	SentAgain uint64  `json:"connections_with_syn_sent_again"`
	Failed    uint64  `json:"connections_failed"`
	Run       result  `json:"run"`
}

// Run is called by kong.
func (c *policyCommand) Run(ctx context.Context, out *output) error {
	if err := preflight([]string{c.CC}); err != nil {
		return err
	}
	undo, err := scheduleInRealTime()
	if err != nil {
		out.say("not scheduled in real time, so that other work on this machine will show: %v", err)
	} else {
		defer undo()
	}
	var jobs []job
	var results []*policyResult
	for _, algorithm := range c.Algorithms {
		for _, mode := range c.Modes {
			if algorithm == "droptail" && mode != c.Modes[0] {
				continue // which drops nothing early, whatever is protected
			}
			r := &policyResult{Mode: mode}
			results = append(results, r)
			policy := protections[mode]
			d := demoCommand{
				Rate: c.Rate, RTT: c.RTT, Buffer: c.Buffer, Flows: c.Flows, Seconds: &c.Seconds, Warmup: &c.Warmup, Seed: c.Seed,
				reverse: c.Flows, connections: c.Connections, policy: &policy, dropNotECT: true,
			}
			jobs = append(jobs, job{name: algorithm + ", " + mode, rate: 1, run: func(ctx context.Context) (err error) {
				r.Run, err = d.runCell(ctx, cell{algorithm, c.CC, true}, nil)
				if s := r.Run.setup; err == nil && s != nil {
					r.SetupP50, r.SetupP99 = float64(s.took.ValueAtPercentile(50))/1e3, float64(s.took.ValueAtPercentile(99))/1e3
					r.SetupMax = float64(s.took.Max()) / 1e3
					r.Setups, r.SentAgain, r.Failed = s.took.TotalCount()+int64(s.failed), s.slow, s.failed
				}
				return err
			}})
		}
	}
	out.say("%s of %v s, %d at once", counted(len(jobs), "run"), c.Seconds+c.Warmup, c.Parallel)
	err = atOnce(ctx, out, jobs, c.Parallel, 1e18)
	results = slices.DeleteFunc(results, func(r *policyResult) bool { return r.Run.RTTSamples == 0 })
	if len(results) == 0 {
		return err
	}
	if c.JSON {
		return errors.Join(err, out.printJSON(results))
	}
	return errors.Join(err, out.print(func(w *strings.Builder) { c.writeTable(w, results) }))
}

func (c *policyCommand) writeTable(w *strings.Builder, results []*policyResult) {
	fmt.Fprintf(w, "%s with ECN each way, %v, %v base RTT, %d-packet buffer, %d connections/s each way; %v s each after %v s; seed %d\n\n",
		counted(c.Flows, c.CC+" flow"), c.Rate, c.RTT, c.Buffer, c.Connections, c.Seconds, c.Warmup, c.Seed)
	t := table{head: []string{
		"algorithm", "protected", " Mb/s", " back", " RTT p50", " marks", " data", " ACK", " SYN", " setup p50", " p99", " max ms", " SYN again", " of",
	}}
	for _, r := range results {
		t.add(r.Run.Algorithm, map[string]string{"default": "nothing", "ece": "ECE", "acksyn": "ACK, SYN", "all": "all"}[r.Mode],
			fmt.Sprintf("%.1f", r.Run.Goodput/1e6), fmt.Sprintf("%.1f", r.Run.Reverse/1e6), fmt.Sprintf("%.1f", r.Run.RTTMedian),
			r.Run.Marks, r.Run.Drops[tunlink.Data], r.Run.Drops[tunlink.ACK], r.Run.Drops[tunlink.SYN],
			fmt.Sprintf("%.1f", r.SetupP50), fmt.Sprintf("%.0f", r.SetupP99), fmt.Sprintf("%.0f", r.SetupMax), r.SentAgain+r.Failed, r.Setups)
	}
	t.write(w)
	fmt.Fprint(w, "\nMb/s is goodput there and back. data, ACK and SYN (SYN-ACKs included): packets dropped by the algorithm/for want of\n"+
		"space, of both queues. setup is from the SYN to the SYN-ACK; SYN again counts connections that took a second and more.\n")
}
