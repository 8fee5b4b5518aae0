package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/tunlink"
)

// request is what a client of a link asks for, in one line of JSON.
type request struct {
	Watch time.Duration `json:"watch_ns,omitempty"` // a sample this often, until the client goes away
	Set   *setting      `json:"set,omitempty"`
}

// setting is a change; what is nil or empty stays.
type setting struct {
	Forward   bool           `json:"forward"`
	Back      bool           `json:"back"`
	Rate      *uint64        `json:"rate_bit_per_s,omitempty"`
	Delay     *time.Duration `json:"delay_ns,omitempty"`
	Loss      *float64       `json:"loss,omitempty"`
	Algorithm string         `json:"algorithm,omitempty"`
}

// reply answers a setting.
type reply struct {
	Error string `json:"error"`
}

// sample is a link at an instant.
type sample struct {
	Link    string          `json:"link"`
	Seconds float64         `json:"seconds"` // since it is up
	Forward directionSample `json:"forward"`
	Back    directionSample `json:"back"`
}

// directionSample is one direction at an instant. Rates and percentiles are of the time
// since the sample before, counts of all time.
type directionSample struct {
	Algorithm   string   `json:"algorithm"`
	Rate        uint64   `json:"rate_bit_per_s"`
	Delay       float64  `json:"delay_ms"` // of propagation
	Loss        float64  `json:"loss"`
	Throughput  float64  `json:"throughput_bit_per_s"`
	Packets     uint64   `json:"queued_packets"`
	Bytes       uint64   `json:"queued_bytes"`
	QueueDelay  float64  `json:"queue_delay_ms"` // that of an arrival now
	SojournP50  float64  `json:"sojourn_p50_ms"`
	SojournP99  float64  `json:"sojourn_p99_ms"`
	Probability *float64 `json:"probability"` // null where the algorithm has none
	MarkRate    float64  `json:"marks_per_s"`
	DropRate    float64  `json:"drops_per_s"`

	Arrived   uint64            `json:"arrived"`
	Delivered uint64            `json:"delivered"`
	InFlight  int               `json:"in_flight"`
	Marks     uint64            `json:"marks"`
	Drops     map[string]drops  `json:"drops"`
	Lost      uint64            `json:"lost"`
	Missing   int64             `json:"missing"` // arrived less all that is accounted for: 0
	ByClass   map[string]uint64 `json:"arrived_by_class"`
	LateP99   float64           `json:"late_p99_ms"`

	stats tunlink.DirectionStats // for the next sample
	at    time.Time              // likewise
}

// probability is an algorithm that signals with one.
type probability interface{ Probability() float64 }

// inner is a decorator.
type inner interface{ Unwrap() aqm.AQM }

// probabilityOf returns an algorithm's, or nil.
func probabilityOf(a aqm.AQM) *float64 {
	for {
		if p, ok := a.(probability); ok {
			x := p.Probability()
			return &x
		}
		d, ok := a.(inner)
		if !ok {
			return nil
		}
		a = d.Unwrap()
	}
}

// newDirectionSample returns what a direction is now, and was since the sample before,
// which may be nil.
func newDirectionSample(algorithm string, s tunlink.DirectionStats, p *float64, now time.Time, before *directionSample) directionSample {
	in, accounted := s.Balance()
	d := directionSample{
		Algorithm: algorithm, Rate: s.Rate, Delay: milliseconds(s.Delay), Loss: s.Loss,
		Packets: s.Queued.Packets, Bytes: s.Queued.Bytes, QueueDelay: float64(s.Queued.Bytes) * 8e3 / float64(s.Rate),
		Probability: p, Arrived: in, Delivered: s.Delivered, InFlight: s.InFlight, Marks: s.Queue.Marked.Packets,
		Drops: map[string]drops{}, ByClass: map[string]uint64{}, Missing: int64(in - accounted),
		LateP99: milliseconds(time.Duration(s.Lateness.ValueAtPercentile(99))),
		stats:   s, at: now,
	}
	for g, reasons := range s.Dropped {
		name := tunlink.Group(g).String()
		d.Drops[name] = drops{Early: reasons[aqm.Early], Forced: reasons[aqm.Forced], Overflow: reasons[aqm.Overflow]}
		d.ByClass[name] = s.Arrived[g]
		d.Lost += s.Lost[g]
	}
	recent := s.Sojourn
	if before != nil {
		recent = difference(s.Sojourn, before.stats.Sojourn)
		if seconds := now.Sub(before.at).Seconds(); seconds > 0 {
			d.Throughput = float64(s.Queue.Delivered.Bytes-before.stats.Queue.Delivered.Bytes) * 8 / seconds
			d.MarkRate = float64(d.Marks-before.Marks) / seconds
			d.DropRate = float64(d.total()-before.total()) / seconds
		}
	}
	d.SojournP50 = milliseconds(time.Duration(recent.ValueAtPercentile(50)))
	d.SojournP99 = milliseconds(time.Duration(recent.ValueAtPercentile(99)))
	return d
}

// difference returns what was added to a histogram.
func difference(now, before *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	n, b := now.Export(), before.Export()
	for i := range min(len(n.Counts), len(b.Counts)) {
		n.Counts[i] -= b.Counts[i]
	}
	return hdrhistogram.Import(n)
}

// writeLine writes the sample in two lines.
func (s *sample) writeLine(w *strings.Builder) {
	for _, d := range []struct {
		name string
		*directionSample
	}{{"forward", &s.Forward}, {"back", &s.Back}} {
		p := "-"
		if d.Probability != nil {
			p = fmt.Sprintf("%.4f", *d.Probability)
		}
		fmt.Fprintf(w, "%.1f s %s %s: %.1f of %v, queue %d packets %.1f ms, sojourn p50 %.1f p99 %.1f ms, p %s, %.0f marks/s, %.0f drops/s\n",
			s.Seconds, d.name, d.Algorithm, d.Throughput/1e6, bitRate(d.Rate), d.Packets, d.QueueDelay, d.SojournP50, d.SojournP99, p, d.MarkRate, d.DropRate)
	}
}

// writeScreen writes the sample as a screen for people.
func (s *sample) writeScreen(w *strings.Builder, history *[2][]float64) {
	fmt.Fprintf(w, "link %s, up for %.0f s; Ctrl-C ends the view, not the link\n", s.Link, s.Seconds)
	for i, d := range []struct {
		title string
		*directionSample
	}{{"forward, near to far", &s.Forward}, {"back, far to near", &s.Back}} {
		h := append(history[i], d.QueueDelay)
		history[i] = h[max(0, len(h)-60):]
		fmt.Fprintf(w, "\n%s: %s, %v, %v ms", d.title, d.Algorithm, bitRate(d.Rate), d.Delay)
		if d.Loss > 0 {
			fmt.Fprintf(w, ", loss %v", d.Loss)
		}
		fmt.Fprintf(w, "\n  throughput  %8.2f Mb/s %s\n", d.Throughput/1e6, bar(d.Throughput/float64(d.Rate)))
		fmt.Fprintf(w, "  queue       %8.2f ms   %s\n", d.QueueDelay, sparks(history[i]))
		fmt.Fprintf(w, "              %8d packets, %d bytes; sojourn p50 %.2f ms, p99 %.2f ms\n", d.Packets, d.Bytes, d.SojournP50, d.SojournP99)
		if d.Probability != nil {
			fmt.Fprintf(w, "  probability %8.4f      %s\n", *d.Probability, bar(*d.Probability))
		}
		fmt.Fprintf(w, "  signals     %8.1f marks/s, %.1f drops/s\n", d.MarkRate, d.DropRate)
		t := table{head: []string{"  class", " arrived", " early", " forced", " overflow"}}
		for g := range tunlink.Group(tunlink.NumGroups) {
			x := d.Drops[g.String()]
			t.add("  "+g.String(), d.ByClass[g.String()], x.Early, x.Forced, x.Overflow)
		}
		t.write(w)
		fmt.Fprintf(w, "  %d marked; %d arrived = %d delivered + %d dropped + %d lost + %d queued + %d in flight\n",
			d.Marks, d.Arrived, d.Delivered, d.total(), d.Lost, d.Packets, d.InFlight)
	}
}

// total returns all drops.
func (d *directionSample) total() (n uint64) {
	for _, x := range d.Drops {
		n += x.Early + x.Forced + x.Overflow
	}
	return n
}

// bar draws a share of a whole.
func bar(share float64) string {
	const width = 40
	n := int(min(max(share, 0), 1)*width + 0.5)
	return strings.Repeat("#", n) + strings.Repeat(".", width-n)
}

// sparks draws values, the largest at full height.
func sparks(values []float64) string {
	levels := []rune(" .:-=+*#%@")
	top := max(slices.Max(values), 1)
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(levels[int(v/top*float64(len(levels)-1)+0.5)])
	}
	return fmt.Sprintf("%s  (@ = %.3g ms)", b.String(), top)
}
