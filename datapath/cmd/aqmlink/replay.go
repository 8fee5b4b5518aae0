package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/tunlink"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/record"
)

type replayCommand struct {
	File      string  `arg:"" help:"A recording."`
	Algorithm string  `placeholder:"NAME" help:"Serve the recorded arrivals through this algorithm: ${algorithms}. Without it each queue is run through its own, and the verdicts are compared."`
	Queue     *int    `placeholder:"N" help:"Replay only this queue of the recording."`
	Seed      *uint64 `help:"Seed of the algorithm's random numbers, in place of the recorded one."`
	JSON      bool    `name:"json" help:"Print JSON."`
}

// Validate is called by kong.
func (c *replayCommand) Validate() error {
	if c.Algorithm != "" {
		if _, err := catalog.Find(c.Algorithm); err != nil {
			return fmt.Errorf("--algorithm: %w", err)
		}
	}
	return nil
}

// tally is what one run of a queue comes to.
type tally struct {
	Algorithm     string                   `json:"algorithm"`
	Arrived       uint64                   `json:"arrived"`
	Delivered     uint64                   `json:"delivered"`
	Marks         uint64                   `json:"marks"`
	Drops         [tunlink.NumGroups]drops `json:"drops_data_ack_syn_other"`
	SojournMedian float64                  `json:"sojourn_median_ms"`
	SojournP99    float64                  `json:"sojourn_p99_ms"`

	sojourn *hdrhistogram.Histogram // us
}

func newTally(algorithm string) *tally {
	return &tally{Algorithm: algorithm, sojourn: hdrhistogram.New(1, int64(100*time.Second/time.Microsecond), 3)}
}

func (t *tally) add(e record.Event) {
	if e.Kind == record.Arrival {
		t.Arrived++
	}
	switch e.Verdict.Action {
	case aqm.Mark:
		if e.Packet.ECN != aqm.CE {
			t.Marks++
		}
	case aqm.Drop:
		d := &t.Drops[tunlink.GroupOf(e.Packet.Class)]
		switch e.Verdict.Reason {
		case aqm.Overflow:
			d.Overflow++
		case aqm.Forced:
			d.Forced++
		default:
			d.Early++
		}
		return
	}
	if e.Kind == record.Departure {
		t.Delivered++
		us := e.At.Sub(e.Packet.EnqueuedAt).Microseconds()
		_ = t.sojourn.RecordValue(min(max(us, 0), t.sojourn.HighestTrackableValue()))
	}
}

func (t *tally) finish() {
	t.SojournMedian = float64(t.sojourn.ValueAtPercentile(50)) / 1e3
	t.SojournP99 = float64(t.sojourn.ValueAtPercentile(99)) / 1e3
}

// replayed is what came of one queue.
type replayed struct {
	Queue      int    `json:"queue"`
	Name       string `json:"name"`
	Recorded   *tally `json:"recorded"`
	Replayed   *tally `json:"replayed"`
	Verdicts   uint64 `json:"verdicts"` // recorded
	Identical  bool   `json:"identical"`
	Difference string `json:"difference,omitempty"`
}

// Run is called by kong.
func (c *replayCommand) Run(ctx context.Context, out *output) error {
	file, closer, err := record.Open(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = closer.Close() }()
	var queues []*replayed // by number; nil if left out
	results, err := record.Replay(file, record.Options{
		Serve: c.Algorithm != "",
		New: func(number int, h record.Header) (aqm.AQM, error) {
			queues = append(queues, nil)
			if c.Queue != nil && *c.Queue != number {
				return nil, nil
			}
			algorithm := h.Algorithm
			if c.Algorithm != "" {
				algorithm = c.Algorithm
			}
			if algorithm == "" {
				return nil, errors.New("its algorithm is not in the catalog: choose one with --algorithm")
			}
			if c.Seed != nil {
				h.Seed = *c.Seed
			}
			queues[number] = &replayed{Queue: number, Name: h.Name, Recorded: newTally(h.Algorithm), Replayed: newTally(algorithm)}
			return instance(algorithm, h)
		},
		Recorded: func(number int, e record.Event) { queues[number].Recorded.add(e) },
		Replayed: func(number int, e record.Event) { queues[number].Replayed.add(e) },
		Stop:     ctx.Err,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	switch n := file.Queues(); {
	case n == 0:
		return fmt.Errorf("%s has no queues, and so nothing to replay", c.File)
	case len(results) == 0:
		return fmt.Errorf("--queue = %d, must be in [0, %d]: %s has %s", *c.Queue, n-1, c.File, counted(n, "queue"))
	}
	list := make([]*replayed, len(results))
	differ := 0
	for i, r := range results {
		q := queues[r.Queue]
		q.Recorded.finish()
		q.Replayed.finish()
		q.Verdicts, q.Identical = r.Recorded, r.Difference == nil
		if !q.Identical {
			q.Difference = r.Difference.String()
			differ++
		}
		list[i] = q
	}
	if c.JSON {
		err = out.printJSON(list)
	} else {
		err = out.print(func(w *strings.Builder) { c.writeTable(w, list) })
	}
	if err != nil {
		return err
	}
	if c.Algorithm == "" && c.Seed == nil && differ > 0 {
		return fmt.Errorf("%d of %d queues got other verdicts than were recorded", differ, len(list))
	}
	return nil
}

func (c *replayCommand) writeTable(w *strings.Builder, list []*replayed) {
	t := table{head: []string{
		" queue", "name", "algorithm", " arrived", " delivered", " marks", " data", " ACK", " SYN", " other", " queued p50", " p99 ms", "verdicts",
	}}
	add := func(q *replayed, r *tally, verdicts string) {
		t.add(q.Queue, q.Name, r.Algorithm, r.Arrived, r.Delivered, r.Marks,
			r.Drops[tunlink.Data], r.Drops[tunlink.ACK], r.Drops[tunlink.SYN], r.Drops[tunlink.Other],
			fmt.Sprintf("%.2f", r.SojournMedian), fmt.Sprintf("%.2f", r.SojournP99), verdicts)
	}
	for _, q := range list {
		verdict := fmt.Sprintf("identical: %d verdicts", q.Verdicts)
		if !q.Identical {
			verdict = "differ"
		}
		if c.Algorithm != "" || !q.Identical {
			add(q, q.Recorded, "recorded")
		}
		add(q, q.Replayed, verdict)
	}
	t.write(w)
	if c.Algorithm == "" {
		for _, q := range list {
			if !q.Identical {
				fmt.Fprintf(w, "queue %d: %s\n", q.Queue, q.Difference)
			}
		}
	}
}
