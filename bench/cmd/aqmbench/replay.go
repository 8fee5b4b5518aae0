package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/bench/replay"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/cmdline"
	"github.com/aqmkit/aqmkit/internal/record"
)

type replayCommand struct {
	File string `arg:"" help:"A recording, such as aqmlink demo --record writes, or a pcap or pcapng file."`

	Algorithms []string      `placeholder:"NAME,..." help:"Compare only these: ${algorithms}."`
	Rate       bitRate       `default:"0" placeholder:"BIT/S" help:"Rate of the link: 50M, 2.5Gbit/s (the recording's; a capture needs it)."`
	Limit      int           `placeholder:"PACKETS" help:"Limit of each queue (the recording's; 1000 for a capture)."`
	RTT        time.Duration `name:"rtt" placeholder:"TIME" help:"Round-trip time that the algorithms are designed for (the recording's; 50ms for a capture)."`
	Flows      int           `placeholder:"N" help:"Likewise, long-lived flows (the recording's; 8 for a capture)."`
	Settings   string        `default:"design" enum:"design,default,paper" help:"Parameters of the algorithms: design (for this link), default or paper (${default})."`
	Seed       *uint64       `placeholder:"N" help:"Seed of the algorithms' random numbers (the recording's; 1 for a capture)."`

	Queue int          `default:"-1" placeholder:"N" help:"Of a recording with several queues, the one whose arrivals are taken."`
	From  netip.Prefix `placeholder:"PREFIX" help:"Of a capture, only packets from these addresses: 10.0.0.0/8."`
	To    netip.Prefix `placeholder:"PREFIX" help:"Of a capture, only packets to these addresses. A queue sees one direction of a link."`

	Policy policyFlags `embed:"" group:"Policy around the algorithms:"`

	JSON bool   `name:"json" xor:"format" help:"Print JSON."`
	CSV  bool   `name:"csv" xor:"format" help:"Print CSV, a line for each algorithm."`
	Out  string `placeholder:"FILE" help:"Write to a file, which appears when it is complete, instead of printing."`
}

// Help is called by kong.
func (*replayCommand) Help() string {
	return "Runs the arrivals of FILE through every algorithm at the same rate and compares delay, drops and marks by class of packet. " +
		"The recorded senders do not answer to what the algorithms do: this compares algorithms on one stream of packets, and simulates nothing. " +
		"Of a capture, say with --from or --to which direction goes through the queue, and choose a --rate below what the capture has for a queue to build up."
}

// Validate is called by kong.
func (c *replayCommand) Validate() error {
	for i, name := range c.Algorithms {
		if _, err := catalog.Find(name); err != nil {
			return fmt.Errorf("--algorithms: %w", err)
		}
		if slices.Index(c.Algorithms, name) != i {
			return fmt.Errorf("--algorithms has %s twice", name)
		}
	}
	if c.Limit < 0 || c.RTT < 0 || c.Flows < 0 {
		return fmt.Errorf("--limit = %d packets, --rtt = %v, --flows = %d, must not be negative", c.Limit, c.RTT, c.Flows)
	}
	_, err := c.Policy.config()
	return err
}

// Run is called by kong.
func (c *replayCommand) Run(out *output) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	what, err := replay.Is(c.File)
	if err != nil {
		return err
	}
	var report *replay.Report
	if what == "recording" {
		report, err = c.recording(ctx, out)
	} else {
		report, err = c.capture(ctx, out)
	}
	if err != nil {
		return err
	}
	report.File = c.File
	if c.Out != "" {
		return cmdline.WriteFile(c.Out, func(w io.Writer) error { return c.write(w, report) })
	}
	return c.write(out.results, report)
}

func (c *replayCommand) write(w io.Writer, r *replay.Report) error {
	switch {
	case c.JSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	case c.CSV:
		return r.WriteCSV(w)
	}
	return r.WriteTable(w)
}

// recording replays a queue of a recording, and compares with what was recorded.
func (c *replayCommand) recording(ctx context.Context, out *output) (*replay.Report, error) {
	if c.From.IsValid() || c.To.IsValid() {
		return nil, fmt.Errorf("--from and --to are for captures: %s is a recording, which has no addresses", c.File)
	}
	h, err := c.header()
	if err != nil {
		return nil, err
	}
	recorder := replay.NewRecorder()
	s, err := replay.OpenRecording(c.File, c.Queue, recorder.Event)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	l, err := c.link(h)
	if err != nil {
		return nil, err
	}
	r, err := c.run(ctx, out, s, l)
	if err != nil {
		return nil, err
	}
	recorded := recorder.Result(h.Rate)
	if h.Algorithm != "" {
		recorded.Algorithm = "recorded " + h.Algorithm
	}
	r.Results = append([]replay.Result{recorded}, r.Results...)
	return r, nil
}

// header reads how the queue was made.
func (c *replayCommand) header() (record.Header, error) {
	s, err := replay.OpenRecording(c.File, c.Queue, nil)
	if err != nil {
		return record.Header{}, err
	}
	defer func() { _ = s.Close() }()
	if _, _, err := s.Next(); errors.Is(err, io.EOF) {
		return record.Header{}, fmt.Errorf("%s has no arrivals, and so nothing to replay", c.File)
	} else if err != nil {
		return record.Header{}, err
	}
	return s.Header(), nil
}

// capture replays a pcap or pcapng file.
func (c *replayCommand) capture(ctx context.Context, out *output) (*replay.Report, error) {
	if c.Queue >= 0 {
		return nil, fmt.Errorf("--queue is for recordings: %s is a capture; --from and --to choose its packets", c.File)
	}
	s, err := replay.OpenCapture(c.File, replay.Filter{From: c.From, To: c.To})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	l, err := c.link(record.Header{Seed: 1, RTT: 50 * time.Millisecond, Flows: 8, LimitPackets: 1000})
	if err != nil {
		return nil, err
	}
	return c.run(ctx, out, s, l)
}

// link returns what the flags say, and h where they say nothing.
func (c *replayCommand) link(h record.Header) (replay.Link, error) {
	policy, err := c.Policy.config()
	if err != nil {
		return replay.Link{}, err
	}
	l := replay.Link{
		Rate: cmp.Or(c.Rate.value, h.Rate), RTT: cmp.Or(c.RTT, h.RTT, 50*time.Millisecond), Flows: cmp.Or(c.Flows, h.Flows, 8),
		LimitPackets: cmp.Or(c.Limit, h.LimitPackets), LimitBytes: h.LimitBytes, Settings: c.Settings, Policy: policy, Seed: h.Seed, Stream: h.Stream,
	}
	if c.Seed != nil {
		l.Seed, l.Stream = *c.Seed, 0
	}
	if l.Rate == 0 {
		return l, fmt.Errorf("%s does not say at what rate the queue was served: say it with --rate", c.File)
	}
	return l, l.Validate()
}

func (c *replayCommand) run(ctx context.Context, out *output, s replay.Source, l replay.Link) (*replay.Report, error) {
	names := c.Algorithms
	if len(names) == 0 {
		names = catalog.Names()
	}
	progress := out.progress()
	r, err := replay.Run(s, l, names, func(done float64) error {
		progress(min(int(100*done), 98), 100, c.File)
		return ctx.Err()
	})
	progress(99, 100, c.File) // takes the line away
	return r, err
}
