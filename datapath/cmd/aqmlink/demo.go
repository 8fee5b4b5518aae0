package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/tunlink"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/record"
)

type demoCommand struct {
	Rate       bitRate       `default:"50M" help:"Rate of the link in either direction, in bit/s: 50M, 2.5Gbit/s (${default})."`
	RTT        time.Duration `name:"rtt" default:"20ms" help:"Round-trip time of the empty link (${default})."`
	Buffer     int           `default:"500" help:"Limit of the queue in either direction, packets (${default})."`
	Flows      int           `default:"8" help:"Long TCP flows (${default})."`
	Algorithms []string      `placeholder:"NAME" help:"Run only these: ${algorithms}."`
	CC         []string      `name:"cc" placeholder:"NAME" help:"Congestion controls of the kernel (cubic,reno; with --quick cubic)."`
	ECN        []string      `name:"ecn" placeholder:"off" help:"With ECN or without (off,on; with --quick on)."`
	Seconds    *float64      `placeholder:"10" help:"How long each combination is measured, seconds (10; with --quick 2; at least 2 RTT)."`
	Warmup     *float64      `placeholder:"3" help:"How long before that it runs, seconds (3; with --quick 1; at least 2 RTT)."`
	Quick      bool          `help:"A short look: cubic with ECN, 2 s each. Too short for a fair comparison."`
	Seed       uint64        `default:"1" help:"Seed of the algorithms' random numbers (${default})."`
	JSON       bool          `name:"json" help:"Print JSON."`
	Record     string        `placeholder:"FILE" help:"Write what the algorithms were asked and answered to FILE."`

	// What the other experiments have beside it.
	reverse     int               // long flows in the other direction
	connections int               // short connections per second in either direction
	policy      *ecnpolicy.Config // around the algorithms
	dropNotECT  bool              // a threshold drops what it cannot mark
}

// AfterApply is called by kong: it fills in what --quick decides.
func (c *demoCommand) AfterApply() error {
	choose := func(quick, full string) []string {
		if c.Quick {
			full = quick
		}
		return strings.Split(full, ",")
	}
	seconds, warmup := 10.0, 3.0
	if c.Quick {
		seconds, warmup = 2, 1
	}
	if c.CC == nil {
		c.CC = choose("cubic", "cubic,reno")
	}
	if c.ECN == nil {
		c.ECN = choose("on", "off,on")
	}
	if c.Algorithms == nil {
		c.Algorithms = catalog.Names()
	}
	seconds, warmup = max(seconds, 2*c.RTT.Seconds()), max(warmup, 2*c.RTT.Seconds())
	c.Seconds = cmp.Or(c.Seconds, &seconds)
	c.Warmup = cmp.Or(c.Warmup, &warmup)
	return c.check()
}

// check returns what is wrong with the flags: in one line, or in one for each
// algorithm that cannot be designed for the link.
func (c *demoCommand) check() error {
	var wrong []string
	require := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	require(c.Rate >= 100e3 && c.Rate <= 10e9, "--rate = %v, must be in [100 kb/s, 10 Gb/s]", c.Rate)
	rtt := c.RTT > 0 && c.RTT <= 10*time.Second
	require(rtt, "--rtt = %v, must be in (0s, 10s]", c.RTT)
	require(c.Buffer >= 1 && c.Buffer <= 1e6, "--buffer = %d packets, must be in [1, 1000000]", c.Buffer)
	require(c.Flows >= 1 && c.Flows <= 1000, "--flows = %d flows, must be in [1, 1000]", c.Flows)
	require(*c.Seconds >= 0.1 && *c.Seconds <= 3600, "--seconds = %v s, must be in [0.1, 3600]", *c.Seconds)
	require(!rtt || !(*c.Seconds >= 0.1) || *c.Seconds > c.RTT.Seconds(), "--seconds = %v s, must be > --rtt = %v, or nothing is answered in it", *c.Seconds, c.RTT)
	require(*c.Warmup >= 0.1 && *c.Warmup <= 3600, "--warmup = %v s, must be in [0.1, 3600]", *c.Warmup)
	for _, name := range c.Algorithms {
		_, err := catalog.Find(name)
		require(err == nil, "--algorithms: %v", err)
	}
	for _, ecn := range c.ECN {
		require(ecn == "off" || ecn == "on", "--ecn = %q, must be off or on", ecn)
	}
	for _, list := range []struct {
		flag   string
		values []string
	}{{"--algorithms", c.Algorithms}, {"--cc", c.CC}, {"--ecn", c.ECN}} {
		require(len(list.values) > 0, "%s must not be empty", list.flag)
		for i, value := range list.values {
			require(slices.Index(list.values, value) == i, "%s has %s twice", list.flag, value)
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	for _, name := range c.Algorithms {
		if _, err := c.build(name, 0); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

// header says how one queue of the demo is built.
func (c *demoCommand) header(algorithm string, stream uint64) record.Header {
	return record.Header{
		Command: "aqmlink demo", Algorithm: algorithm, Seed: c.Seed, Stream: stream,
		Rate: uint64(c.Rate), RTT: c.RTT, Flows: c.Flows, LimitPackets: c.Buffer,
	}
}

// build returns an instance of the algorithm for the link, which draws from a stream
// of its own.
func (c *demoCommand) build(algorithm string, stream uint64) (aqm.AQM, error) {
	return instance(algorithm, c.header(algorithm, stream))
}

// instance returns an instance of an algorithm of the catalog for the queue that h
// describes.
func instance(algorithm string, h record.Header) (aqm.AQM, error) {
	e, err := catalog.Find(algorithm)
	if err != nil {
		return nil, err
	}
	a, err := e.New(h.Rate, h.RTT, h.Flows, h.Source())
	if err != nil {
		return nil, fmt.Errorf("%s cannot be designed for %v and %v: %s", algorithm, bitRate(h.Rate), h.RTT, brief(err))
	}
	return a, nil
}

// brief returns the first of the violations in err, without the reasons for its
// bound, which speak of more than was asked for.
func brief(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	_, first, _ = strings.Cut(first, ": ") // the package's name
	for _, end := range []string{": ", "; ", ", so that "} {
		first, _, _ = strings.Cut(first, end)
	}
	return first
}

// cell is one run of the demo.
type cell struct {
	Algorithm string `json:"algorithm"`
	CC        string `json:"cc"`
	ECN       bool   `json:"ecn"`
}

// String returns the cell's name.
func (c cell) String() string {
	return fmt.Sprintf("%s %s %s", c.Algorithm, c.CC, map[bool]string{false: "no ECN", true: "ECN"}[c.ECN])
}

func (c *demoCommand) cells() (all []cell) {
	for _, cc := range c.CC {
		for _, ecn := range c.ECN {
			for _, name := range c.Algorithms {
				all = append(all, cell{name, cc, ecn == "on"})
			}
		}
	}
	return all
}

// drops are the packets of one group that an algorithm dropped.
type drops struct {
	Early    uint64 `json:"early"`
	Forced   uint64 `json:"forced"`
	Overflow uint64 `json:"overflow"`
}

// String returns what was dropped by the algorithm and what for want of space.
func (d drops) String() string { return fmt.Sprintf("%d/%d", d.Early+d.Forced, d.Overflow) }

// result is what came of a cell. Goodput and the round-trip times are of the time
// after the warm-up; everything that is counted is of the whole run, in both
// directions of the link.
type result struct {
	cell
	Goodput         float64 `json:"goodput_bit_per_s"`
	Reverse         float64 `json:"reverse_goodput_bit_per_s,omitempty"`
	RTTMedian       float64 `json:"rtt_median_ms"`
	RTTP99          float64 `json:"rtt_p99_ms"`
	RTTSamples      int64   `json:"rtt_samples"`
	SojournMedian   float64 `json:"sojourn_median_ms"` // in the queue of the data
	SojournP99      float64 `json:"sojourn_p99_ms"`
	Retransmissions uint64  `json:"retransmissions"`

	Marks          uint64                   `json:"marks"`           // made by the algorithms
	MarkedDropped  uint64                   `json:"marked_dropped"`  // of which were dropped after it
	MarkedQueued   uint64                   `json:"marked_queued"`   // of which were in a queue at the end
	CE             uint64                   `json:"ce_received"`     // counted by the kernels of the receivers
	ChecksumErrors uint64                   `json:"checksum_errors"` // likewise
	Drops          [tunlink.NumGroups]drops `json:"drops_data_ack_syn_other"`

	// How true to itself the link was.
	LatenessP99   float64 `json:"lateness_p99_ms"` // by how much packets left it too late
	DeviceDropped uint64  `json:"device_dropped"`  // packets that the devices lost before or behind it

	setup *dialling
}

// ceHolds reports whether the receivers saw every mark that was not lost with its
// packet, nothing else, and no packet that was damaged.
func (r result) ceHolds() bool {
	return r.CE == r.Marks-r.MarkedDropped-r.MarkedQueued && r.ChecksumErrors == 0
}

// report is all that a demo has to say.
type report struct {
	Rate    uint64   `json:"rate_bit_per_s"`
	RTT     float64  `json:"rtt_ms"`
	Buffer  int      `json:"buffer_packets"`
	Flows   int      `json:"flows"`
	Seconds float64  `json:"seconds"`
	Warmup  float64  `json:"warmup_seconds"`
	Seed    uint64   `json:"seed"`
	Cells   []result `json:"cells"`
	Checks  []check  `json:"checks"`
}

// Run is called by kong.
func (c *demoCommand) Run(ctx context.Context, out *output) (err error) {
	if err := preflight(c.CC); err != nil {
		return err
	}
	var file *record.File
	if c.Record != "" {
		if file, err = createRecording(c.Record); err != nil {
			return err
		}
		defer file.Discard() // unless it was closed
	}
	undo, err := scheduleInRealTime()
	if err != nil {
		out.say("not scheduled in real time, so that other work on this machine will show: %v", err)
	} else {
		defer undo()
	}
	r := report{
		Rate: uint64(c.Rate), RTT: milliseconds(c.RTT), Buffer: c.Buffer, Flows: c.Flows,
		Seconds: *c.Seconds, Warmup: *c.Warmup, Seed: c.Seed,
	}
	cells := c.cells()
	each := time.Duration((*c.Seconds + *c.Warmup) * float64(time.Second)).Round(100 * time.Millisecond)
	around := time.Second + 4*c.RTT // to connect before, and to drain after
	out.say("%s of %v: about %v", counted(len(cells), "run"), each, (time.Duration(len(cells)) * (each + around)).Round(time.Second))
	for i, cell := range cells {
		out.say("[%*d/%d] %v", len(fmt.Sprint(len(cells))), i+1, len(cells), cell)
		one, err := c.runCell(ctx, cell, file)
		if err != nil {
			err = fmt.Errorf("%v: %w", cell, err)
			if len(r.Cells) > 0 { // what there is
				err = errors.Join(err, r.print(out, c.JSON))
			}
			return err
		}
		r.Cells = append(r.Cells, one)
	}
	if file != nil {
		if err := file.Close(); err != nil {
			return err
		}
	}
	return r.print(out, c.JSON)
}

// createRecording begins the recording that --record asks for.
func createRecording(path string) (*record.File, error) {
	file, err := record.Create(path)
	var below *fs.PathError
	if errors.As(err, &below) { // it names a file that takes path's name when it is complete
		err = fmt.Errorf("--record = %s: %w", path, below.Err)
	}
	return file, err
}

// print prints the report. The error says that a receiver counted other marks than
// were made, which is a fault of the link and not of the weather.
func (r *report) print(out *output, asJSON bool) error {
	r.Checks = checks(r.Cells)
	if asJSON {
		if err := out.printJSON(r); err != nil {
			return err
		}
	} else if err := out.print(r.writeTable); err != nil {
		return err
	}
	for _, one := range r.Cells {
		if !one.ceHolds() {
			return fmt.Errorf("%v: the receivers counted %d packets with CE and %d with a wrong checksum, after %d marks of which %d were dropped and %d were queued",
				one.cell, one.CE, one.ChecksumErrors, one.Marks, one.MarkedDropped, one.MarkedQueued)
		}
	}
	return nil
}

func (r *report) writeTable(w *strings.Builder) {
	fmt.Fprintf(w, "%s of the kernel, %v, %v ms base RTT, %d-packet buffer, %v s each after %v s; seed %d\n\n",
		counted(r.Flows, "TCP flow"), bitRate(r.Rate), r.RTT, r.Buffer, r.Seconds, r.Warmup, r.Seed)
	t := table{head: []string{
		"algorithm", "cc", "ECN", " Mb/s", " RTT p50", " p99 ms", " retrans", " marks", " data", " ACK", " SYN", " other", " CE seen", "CE = marks",
	}}
	var dropped uint64
	for _, one := range r.Cells {
		t.add(one.Algorithm, one.CC, map[bool]string{false: "off", true: "on"}[one.ECN],
			fmt.Sprintf("%.1f", one.Goodput/1e6), fmt.Sprintf("%.1f", one.RTTMedian), fmt.Sprintf("%.1f", one.RTTP99),
			one.Retransmissions, one.Marks, one.Drops[tunlink.Data], one.Drops[tunlink.ACK], one.Drops[tunlink.SYN], one.Drops[tunlink.Other],
			one.CE, one.ceVerdict())
		dropped += one.DeviceDropped
	}
	t.write(w)
	fmt.Fprint(w, "\nMb/s is goodput. RTT is that of small requests beside the flows. Counts are of the whole run, warm-up\n"+
		"included. data, ACK, SYN and other: packets dropped by the algorithm/for want of space. CE seen is\n"+
		"counted by the receiving kernels; it equals the marks, less those whose packet was dropped afterwards.\n\n")
	for _, c := range r.Checks {
		fmt.Fprintln(w, c)
	}
	if dropped > 0 {
		fmt.Fprintf(w, "%d packets were lost in the TUN devices: this machine was too busy, and the figures are not the algorithms'\n", dropped)
	}
}

func (r result) ceVerdict() string {
	switch {
	case !r.ceHolds():
		return "NO"
	case r.MarkedDropped+r.MarkedQueued > 0:
		return fmt.Sprintf("yes, -%d", r.MarkedDropped+r.MarkedQueued)
	}
	return "yes"
}

// check is a sentence about the cells, and those for which it does not hold.
type check struct {
	Claim  string   `json:"claim"`
	Cells  int      `json:"cells"` // about which it speaks
	Failed []string `json:"failed"`
}

// String returns the check in one line.
func (c check) String() string {
	if len(c.Failed) == 0 {
		return fmt.Sprintf("%s: holds in %d of %d", c.Claim, c.Cells, c.Cells)
	}
	return fmt.Sprintf("%s: holds in %d of %d, not: %s", c.Claim, c.Cells-len(c.Failed), c.Cells, strings.Join(c.Failed, ", "))
}

// checks compares cells with ECN with drop-tail under the same congestion control,
// and says what holds of all cells.
func checks(cells []result) []check {
	goodput := check{Claim: "with ECN, goodput at least 95 % of drop-tail's"}
	delay := check{Claim: "with ECN, median RTT at most a third of drop-tail's"}
	losses := check{Claim: "with ECN, no more retransmissions than data packets dropped"}
	marks := check{Claim: "CE seen by the receivers equals the marks that were sent on"}
	add := func(c *check, ok bool, format string, args ...any) {
		c.Cells++
		if !ok {
			c.Failed = append(c.Failed, fmt.Sprintf(format, args...))
		}
	}
	for _, one := range cells {
		add(&marks, one.ceHolds(), "%v %d of %d", one.cell, one.CE, one.Marks)
		if !one.ECN {
			continue
		}
		lost := uint64(0)
		for _, d := range one.Drops { // a SYN or FIN is sent again too
			lost += d.Early + d.Forced + d.Overflow
		}
		lost -= one.Drops[tunlink.ACK].Early + one.Drops[tunlink.ACK].Forced + one.Drops[tunlink.ACK].Overflow
		add(&losses, one.Retransmissions <= lost, "%v %d for %d", one.cell, one.Retransmissions, lost)
		i := slices.IndexFunc(cells, func(r result) bool { return r.cell == cell{"droptail", one.CC, true} })
		if one.Algorithm == "droptail" || i < 0 {
			continue
		}
		base := cells[i]
		share, times := one.Goodput/base.Goodput, one.RTTMedian/base.RTTMedian
		add(&goodput, share >= 0.95, "%v %.1f %%", one.cell, 100*share)
		add(&delay, times <= 1.0/3, "%v %.2f", one.cell, times)
	}
	return slices.DeleteFunc([]check{goodput, delay, losses, marks}, func(c check) bool { return c.Cells == 0 })
}

// milliseconds returns d as a figure for people: to the microsecond.
func milliseconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e6) / 1e3 }
