package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/datapath/tunlink"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/record"
)

type soakCommand struct {
	For    time.Duration `default:"30m" help:"How long (${default}). SIGINT and SIGTERM end it earlier, with the same report."`
	Rate   bitRate       `default:"100M" help:"Rate of the link in either direction, in bit/s (${default})."`
	RTT    time.Duration `name:"rtt" default:"20ms" help:"Round-trip time of the empty link (${default})."`
	Buffer int           `default:"500" help:"Limit of the queue in either direction, packets (${default})."`
	Flows  int           `default:"8" help:"Long TCP flows in either direction (${default})."`
	Change time.Duration `default:"1m" help:"How often the algorithm is replaced by the next, and delay, loss and rate change, in both directions (${default})."`
	Seed   uint64        `default:"1" help:"Seed of the algorithms' random numbers and of the losses (${default})."`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// Validate is called by kong.
func (c *soakCommand) Validate() error {
	var l flagErrors
	l.require(c.For >= time.Second, "--for = %v, must be >= 1s", c.For)
	l.require(c.Change >= 100*time.Millisecond, "--change = %v, must be >= 100ms", c.Change)
	l.link(c.Rate, c.RTT, c.Buffer)
	l.require(c.Flows >= 1 && c.Flows <= 500, "--flows = %d flows, must be in [1, 500]", c.Flows)
	return l.err()
}

// soakSample is what the link and the process are at an instant.
type soakSample struct {
	Seconds   float64 `json:"seconds"`
	RSS       uint64  `json:"rss_bytes"`
	Arrived   uint64  `json:"arrived"` // in both directions, like all that follows
	Delivered uint64  `json:"delivered"`
	Dropped   uint64  `json:"dropped"`
	Lost      uint64  `json:"lost"`
	Inside    uint64  `json:"queued_and_in_flight"`
	Missing   int64   `json:"missing"` // arrived less all that is accounted for
}

type soakReport struct {
	Rate       uint64       `json:"rate_bit_per_s"`
	Seconds    float64      `json:"seconds"`
	Changes    int          `json:"changes"`
	Snapshots  int          `json:"snapshots"`
	Unbalanced int          `json:"unbalanced_snapshots"`
	RSSEarly   uint64       `json:"rss_early_bytes"` // medians of the second and of the last quarter
	RSSLate    uint64       `json:"rss_late_bytes"`
	Goodput    [2]float64   `json:"goodput_bit_per_s"`
	Marks      uint64       `json:"marks_sent"` // less those lost
	CE         uint64       `json:"ce_received"`
	Drained    bool         `json:"drained"`
	Samples    []soakSample `json:"samples"`
}

// sampleEvery is how often a soak is looked at, and rememberEvery how often it is
// written down.
const (
	sampleEvery   = 200 * time.Millisecond
	rememberEvery = 10 * time.Second
)

// Run is called by kong.
func (c *soakCommand) Run(ctx context.Context, out *output) (err error) {
	if err := preflight([]string{"cubic"}); err != nil {
		return err
	}
	names := catalog.Names()
	d, err := c.directions(names[0], 0)
	if err != nil {
		return err
	}
	b, err := openBed(d, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	t, err := startTraffic(ctx, b.ends[0], b.ends[1], farAddress.Addr(), load{flows: c.Flows, reverse: c.Flows, cc: "cubic", rtt: c.RTT})
	if err != nil {
		return err
	}
	defer t.stop()
	out.say("soak: process %d, %v, %d flows each way, until %s", os.Getpid(), c.Rate, c.Flows, time.Now().Add(c.For).Format(time.TimeOnly))

	r := soakReport{Rate: uint64(c.Rate)}
	start, due := time.Now(), c.Change
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for ctx.Err() == nil && time.Since(start) < c.For {
		// One change, however many the process has slept through: they are counted.
		if now := time.Since(start); now >= due {
			due = now - now%c.Change + c.Change
			r.Changes++
			if err := c.change(b.link, names[r.Changes%len(names)], r.Changes); err != nil {
				return err
			}
		}
		s, err := c.sample(b.link, start)
		if err != nil {
			return err
		}
		r.add(s)
		if n := len(r.Samples); n > 0 && r.Samples[n-1] == s && n%6 == 1 {
			out.say("%6.0f s: %6.1f MB resident; %d arrived = %d delivered + %d dropped + %d lost + %d inside, %d missing; %s",
				s.Seconds, float64(s.RSS)/1e6, s.Arrived, s.Delivered, s.Dropped, s.Lost, s.Inside, s.Missing, names[r.Changes%len(names)])
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	r.Seconds = time.Since(start).Seconds()
	for i := range r.Goodput {
		r.Goodput[i] = float64(t.received[i].Load()) * 8 / r.Seconds
	}
	// While the flows still send.
	drain, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.link.Drain(drain); err != nil {
		return err
	}
	r.Drained = true
	last, err := c.sample(b.link, start)
	if err != nil {
		return err
	}
	r.finish(last)
	if err := r.count(b); err != nil {
		return err
	}
	return r.print(out, c.JSON)
}

// directions returns both of them, under instances of an algorithm.
func (c *soakCommand) directions(algorithm string, changes int) (d [2]tunlink.Direction, err error) {
	for i := range d {
		a, err := instance(algorithm, record.Header{Seed: c.Seed, Stream: uint64(2*changes + i), Rate: uint64(c.Rate), RTT: c.RTT, Flows: c.Flows})
		if err != nil {
			return d, err
		}
		d[i] = tunlink.Direction{Rate: uint64(c.Rate), Delay: c.RTT / 2, LimitPackets: c.Buffer, AQM: a, Seed: c.Seed}
		if changes&1 != 0 {
			d[i].Loss = 1e-4
		}
		if changes&2 != 0 {
			d[i].Delay /= 2
		}
		if changes&4 != 0 {
			d[i].Rate -= d[i].Rate / 5
		}
	}
	return d, nil
}

// change puts what another set of directions says in force.
func (c *soakCommand) change(l *tunlink.Link, algorithm string, changes int) error {
	d, err := c.directions(algorithm, changes)
	if err != nil {
		return err
	}
	for i, w := range []tunlink.Way{tunlink.A, tunlink.B} {
		if err := l.Update(w, tunlink.Change{Rate: &d[i].Rate, Delay: &d[i].Delay, Loss: &d[i].Loss, AQM: d[i].AQM}); err != nil {
			return err
		}
	}
	return nil
}

func (c *soakCommand) sample(l *tunlink.Link, start time.Time) (s soakSample, err error) {
	s.Seconds = time.Since(start).Seconds()
	if s.RSS, err = residentBytes(); err != nil {
		return s, err
	}
	stats := l.Stats()
	for _, d := range []tunlink.DirectionStats{stats.A, stats.B} {
		in, accounted := d.Balance()
		s.Arrived += in
		s.Missing += int64(in - accounted)
		s.Delivered += d.Delivered
		s.Inside += d.Queued.Packets + uint64(d.InFlight)
		for g := range d.Lost {
			s.Lost += d.Lost[g]
			for _, n := range d.Dropped[g] {
				s.Dropped += n
			}
		}
	}
	return s, nil
}

// residentBytes returns the memory of the process that is in RAM.
func residentBytes() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm") // in pages: all, resident, ...
	if err != nil {
		return 0, err
	}
	var size, resident uint64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, err
	}
	return resident * uint64(os.Getpagesize()), nil
}

func (r *soakReport) add(s soakSample) {
	r.Snapshots++
	if s.Missing != 0 {
		r.Unbalanced++
	}
	if n := len(r.Samples); n == 0 || s.Seconds-r.Samples[n-1].Seconds >= rememberEvery.Seconds() {
		r.Samples = append(r.Samples, s)
	}
}

// finish adds the last sample and compares the memory early and late.
func (r *soakReport) finish(last soakSample) {
	r.add(last)
	if r.Samples[len(r.Samples)-1] != last {
		r.Samples = append(r.Samples, last)
	}
	rss := make([]uint64, len(r.Samples))
	for i, s := range r.Samples {
		rss[i] = s.RSS
	}
	quarter := max(1, len(rss)/4)
	middle := func(x []uint64) uint64 {
		x = slices.Sorted(slices.Values(x))
		return x[len(x)/2]
	}
	r.RSSEarly = middle(rss[min(quarter, len(rss)-1) : min(2*quarter, len(rss)-1)+1])
	r.RSSLate = middle(rss[len(rss)-quarter:])
}

// count compares the marks of the link with what the receiving kernels saw.
func (r *soakReport) count(b *bed) error {
	s := b.link.Stats()
	for i, d := range []tunlink.DirectionStats{s.A, s.B} {
		r.Marks += d.MarkedSent - d.MarkedLost
		if err := b.ends[i].Do(func() error {
			c, err := kernelCounters("")
			r.CE += c.ce
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// rssTolerance is by how much the memory may differ late from early: the runtime
// returns pages to the kernel when it likes.
const rssTolerance = 0.1

// wrong returns what does not hold.
func (r *soakReport) wrong() error {
	var l flagErrors
	l.require(r.Unbalanced == 0, "in %d of %d snapshots packets are missing", r.Unbalanced, r.Snapshots)
	l.require(float64(r.RSSLate) <= (1+rssTolerance)*float64(r.RSSEarly), "the memory grew from %.1f to %.1f MB", float64(r.RSSEarly)/1e6, float64(r.RSSLate)/1e6)
	l.require(r.Samples[len(r.Samples)-1].Inside == 0, "%d packets are left in the link", r.Samples[len(r.Samples)-1].Inside)
	l.require(r.CE == r.Marks, "the receivers counted %d packets with CE, for %d marks that were sent on", r.CE, r.Marks)
	return l.err()
}

func (r *soakReport) print(out *output, asJSON bool) error {
	var err error
	if asJSON {
		err = out.printJSON(r)
	} else {
		err = out.print(r.write)
	}
	return errors.Join(err, r.wrong())
}

func (r *soakReport) write(w *strings.Builder) {
	last := r.Samples[len(r.Samples)-1]
	fmt.Fprintf(w, "%.0f s at %v both ways, %d live changes of algorithm, rate, delay and loss\n\n", r.Seconds, bitRate(r.Rate), r.Changes)
	t := table{head: []string{" s", " resident MB", " arrived", " delivered", " dropped", " lost", " inside", " missing"}}
	step := max(1, len(r.Samples)/12)
	for i, s := range r.Samples {
		if i%step == 0 && i+step/2 < len(r.Samples) || s == last {
			t.add(fmt.Sprintf("%.0f", s.Seconds), fmt.Sprintf("%.1f", float64(s.RSS)/1e6), s.Arrived, s.Delivered, s.Dropped, s.Lost, s.Inside, s.Missing)
		}
	}
	t.write(w)
	fmt.Fprintf(w, "\ngoodput %.1f and %.1f Mb/s; %d packets/s through the link\n", r.Goodput[0]/1e6, r.Goodput[1]/1e6, int(float64(last.Arrived)/r.Seconds))
	fmt.Fprintf(w, "arrived = delivered + dropped + lost + inside in %d of %d snapshots\n", r.Snapshots-r.Unbalanced, r.Snapshots)
	fmt.Fprintf(w, "resident memory, median of the second and of the last quarter: %.1f and %.1f MB\n", float64(r.RSSEarly)/1e6, float64(r.RSSLate)/1e6)
	fmt.Fprintf(w, "CE counted by the receiving kernels: %d, marks sent on: %d\n", r.CE, r.Marks)
	fmt.Fprintf(w, "drained while the flows still sent: %d packets left\n", last.Inside)
}
