package replay

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/record"
	"github.com/aqmkit/aqmkit/internal/serve"
)

// Link says what the arrivals are run through.
type Link struct {
	Rate         uint64           `json:"rate_bit_per_s"` // 1 kbit/s to 1 Tbit/s
	RTT          time.Duration    `json:"rtt_ns"`         // that algorithms are designed for
	Flows        int              `json:"flows"`          // likewise
	LimitPackets int              `json:"limit_packets"`
	LimitBytes   int64            `json:"limit_bytes"` // 0 for none
	Settings     string           `json:"settings"`    // design, default or paper
	Policy       ecnpolicy.Config `json:"policy"`      // around every algorithm; the zero Config is none
	Seed         uint64           `json:"seed"`
	Stream       uint64           `json:"stream"` // of the source of random numbers, beside Seed
}

// Validate returns the first thing that is wrong with l, or nil.
func (l Link) Validate() error {
	switch {
	case l.Rate < 1000 || l.Rate > 1e12:
		return fmt.Errorf("rate = %d bit/s, must be in [1k, 1000G]", l.Rate)
	case l.RTT < 10*time.Microsecond || l.RTT > 10*time.Second:
		return fmt.Errorf("rtt = %v, must be in [10us, 10s]", l.RTT)
	case l.Flows < 1 || l.Flows > 1_000_000:
		return fmt.Errorf("flows = %d, must be in [1, 1000000]", l.Flows)
	case l.LimitPackets < 1 || l.LimitPackets > aqm.MaxLimitPackets:
		return fmt.Errorf("limit = %d packets, must be in [1, %d]", l.LimitPackets, aqm.MaxLimitPackets)
	case l.LimitBytes < 0:
		return fmt.Errorf("limit = %d bytes, must be >= 0, where 0 means no limit in bytes", l.LimitBytes)
	}
	return nil
}

// algorithm returns a fresh instance of an entry, under the policy.
func (l Link) algorithm(e catalog.Entry) (a aqm.AQM, err error) {
	src := rand.NewPCG(l.Seed, l.Stream)
	switch l.Settings {
	case "default":
		a, err = e.Default(src)
	case "paper":
		a, err = e.Paper(src)
	default:
		a, err = e.New(l.Rate, l.RTT, l.Flows, src)
	}
	if err == nil && l.Policy != (ecnpolicy.Config{}) {
		a, err = ecnpolicy.New(a, l.Policy)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	return a, nil
}

// tap notes what a queue does.
type tap struct {
	aqm aqm.AQM
	on  func(record.Event)
}

// Enqueue passes the question on, and the answer.
func (t tap) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	v := t.aqm.Enqueue(now, p, q)
	t.on(record.Event{Kind: record.Arrival, At: now, Packet: p, Verdict: v})
	return v
}

// Dequeue passes the question on, and the answer.
func (t tap) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	v := t.aqm.Dequeue(now, p, q)
	t.on(record.Event{Kind: record.Departure, At: now, Packet: p, Verdict: v})
	return v
}

// Runs feeds the same arrivals to several algorithms, each with a queue and a link of
// its own.
type Runs struct {
	link  Link
	lanes []*lane
	start aqm.Time
	last  aqm.Time
	begun bool
}

type lane struct {
	*tally
	server *serve.Server[struct{}]
}

// NewRuns returns an empty queue for each of the algorithms.
func NewRuns(l Link, algorithms []string) (*Runs, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	r := &Runs{link: l}
	for _, name := range algorithms {
		e, err := catalog.Find(name)
		if err != nil {
			return nil, err
		}
		a, err := l.algorithm(e)
		if err != nil {
			return nil, err
		}
		n := &lane{tally: newTally(name)}
		limits := aqm.FIFOConfig[struct{}]{LimitPackets: l.LimitPackets, LimitBytes: l.LimitBytes}
		n.server, err = serve.New(limits, l.Rate, tap{a, n.add}, func(_ struct{}, _ aqm.Packet, _, end aqm.Time) { n.end = max(n.end, end) })
		if err != nil {
			return nil, err
		}
		r.lanes = append(r.lanes, n)
	}
	return r, nil
}

// Arrive has a packet arrive at all queues.
func (r *Runs) Arrive(at aqm.Time, p aqm.Packet) {
	if !r.begun {
		r.begun, r.start = true, at
	}
	r.last = max(r.last, at)
	for _, n := range r.lanes {
		n.server.Arrive(at, struct{}{}, p)
	}
}

// Results empties the queues, at the rate of the link, and returns what became of the
// arrivals.
func (r *Runs) Results() []Result {
	var all []Result
	for _, n := range r.lanes {
		for now := r.last; n.server.Queue().Len() > 0; now = now.Add(time.Second) {
			n.server.Advance(now)
		}
		all = append(all, n.finish(r.link.Rate, r.start))
	}
	return all
}

// Report is a comparison.
type Report struct {
	File      string   `json:"file"`
	Link      Link     `json:"link"`
	Packets   uint64   `json:"packets"`
	Bytes     uint64   `json:"bytes"`
	Seconds   float64  `json:"seconds"`    // from the first arrival to the last
	Skipped   uint64   `json:"skipped"`    // packets of a capture that are not IP, or damaged
	Filtered  uint64   `json:"filtered"`   // that the filter leaves out
	Backwards uint64   `json:"backwards"`  // whose time is before that of the packet before; they arrive with that one
	Offered   float64  `json:"offered"`    // in bit/s, as a share of the rate
	Results   []Result `json:"algorithms"` // what was recorded, if anything, and then the algorithms
}

// Run runs a source's arrivals through the algorithms. progress, unless nil, is told
// the share that is done, now and then; its error ends the run.
func Run(s Source, l Link, algorithms []string, progress func(done float64) error) (*Report, error) {
	runs, err := NewRuns(l, algorithms)
	if err != nil {
		return nil, err
	}
	report := &Report{Link: l}
	for {
		if progress != nil && report.Packets%4096 == 0 {
			if err := progress(s.Done()); err != nil {
				return nil, err
			}
		}
		at, p, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		report.Packets++
		report.Bytes += uint64(p.Size)
		runs.Arrive(at, p)
	}
	if report.Packets == 0 {
		return nil, errors.New("there are no arrivals to replay")
	}
	report.Seconds = runs.last.Sub(runs.start).Seconds()
	if report.Seconds > 0 {
		report.Offered = float64(report.Bytes) * 8 / float64(l.Rate) / report.Seconds
	}
	report.Results = runs.Results()
	if c, ok := s.(*Capture); ok {
		report.Skipped, report.Filtered, report.Backwards = c.Skipped, c.Filtered, c.Backwards
	}
	return report, nil
}

// Recorder makes a Result of what a recording says became of its arrivals.
type Recorder struct {
	tally *tally
	start aqm.Time
}

// NewRecorder returns a Recorder whose Result is called "recorded".
func NewRecorder() *Recorder { return &Recorder{tally: newTally("recorded")} }

// Event takes the next event of the recording.
func (r *Recorder) Event(e record.Event) {
	if r.tally.Total.Arrived == 0 {
		r.start = e.At
	}
	r.tally.add(e)
}

// Result returns the figures, for a link of rate bit/s, or 0 if there was none.
func (r *Recorder) Result(rate uint64) Result { return r.tally.finish(rate, r.start) }
