package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aqmkit/aqmkit/datapath/requestqueue"
)

type loadCommand struct {
	Queues   []string      `default:"droptail,codel,pie" placeholder:"NAME,..." help:"What to compare: ${queues}. droptail is the queue without an AQM."`
	Loads    []float64     `default:"0.8,1.5,3" placeholder:"X,..." help:"What to offer, as a share of what the server can do (${default})."`
	Seconds  float64       `default:"10" help:"For how long, each (${default})."`
	Deadline time.Duration `default:"500ms" help:"An answer that takes longer is of no use (${default})."`
	Seed     uint64        `default:"1" help:"Of the arrivals, which are a Poisson process (${default})."`
	serverFlags

	JSON bool `name:"json" xor:"format" help:"Print JSON."`
	CSV  bool `name:"csv" xor:"format" help:"Print CSV."`
}

// Validate is called by kong.
func (c *loadCommand) Validate() error {
	if err := c.validate(); err != nil {
		return err
	}
	if len(c.Queues) == 0 || len(c.Loads) == 0 {
		return errors.New("--queues and --loads must not be empty")
	}
	for _, name := range c.Queues {
		if _, err := c.algorithm(name); err != nil {
			return fmt.Errorf("--queues: %w", err)
		}
	}
	for _, x := range c.Loads {
		if !(x > 0 && x <= 10) {
			return fmt.Errorf("--loads has %v, must be in (0, 10]", x)
		}
		if rate := x * c.capacity(); rate > 20_000 {
			return fmt.Errorf("--loads has %v, which is %.0f requests per second, must be 20000 at most: this measures a queue and no HTTP stack", x, rate)
		}
	}
	if !(c.Seconds >= .1 && c.Seconds <= 3600) {
		return fmt.Errorf("--seconds = %v, must be in [0.1, 3600]", c.Seconds)
	}
	if c.Deadline < time.Millisecond || c.Deadline > time.Minute {
		return fmt.Errorf("--deadline = %v, must be in [1ms, 1m]", c.Deadline)
	}
	return nil
}

// result is what one run came to. Rates are per second.
type result struct {
	Queue      string  `json:"queue"`
	Load       float64 `json:"load"`
	Offered    float64 `json:"offered_per_s"`
	Goodput    float64 `json:"goodput_per_s"` // answered in time
	Late       float64 `json:"late_per_s"`    // answered too late, or not at the end
	Refused    float64 `json:"refused_per_s"` // answered with 503
	Failed     float64 `json:"failed_per_s"`  // otherwise
	P50        float64 `json:"p50_ms"`        // of the answers of 200
	P99        float64 `json:"p99_ms"`
	RefusalP99 float64 `json:"refusal_p99_ms"`
}

// Run is called by kong.
func (c *loadCommand) Run(ctx context.Context, out *output) error {
	var all []result
	for _, load := range c.Loads {
		for _, name := range c.Queues {
			if total := float64(len(c.Loads)*len(c.Queues)) * c.Seconds; total > 2 {
				fmt.Fprintf(out.messages, "\r\x1b[K%3.0f %%  %s at %v", 100*float64(len(all))*c.Seconds/total, name, load)
			}
			r, err := c.one(ctx, &loopback{}, name, load)
			if err != nil {
				fmt.Fprint(out.messages, "\r\x1b[K")
				return err
			}
			all = append(all, r)
		}
	}
	fmt.Fprint(out.messages, "\r\x1b[K")
	return c.write(out.results, all)
}

// network is what requests pass through.
type network interface {
	Listen() (net.Listener, error)
	// DialContext connects to what listens at address.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// loopback is the network of the loopback interface.
type loopback struct{ net.Dialer }

func (*loopback) Listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// one runs one load against one queue.
func (c *loadCommand) one(ctx context.Context, through network, name string, load float64) (result, error) {
	a, err := c.algorithm(name)
	if err != nil {
		return result{}, err
	}
	queue, err := requestqueue.New(working(c.Work), requestqueue.Config{AQM: a, Workers: c.Workers, Limit: c.Limit, RetryAfter: time.Second})
	if err != nil {
		return result{}, err
	}
	listener, err := through.Listen()
	if err != nil {
		return result{}, err
	}
	server := &http.Server{Handler: queue, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t := newTally(c.Deadline)
	err = c.offer(ctx, through, "http://"+listener.Addr().String(), load*c.capacity(), t)
	if closed := errors.Join(server.Close(), <-served); !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	r := t.result(c.Seconds)
	r.Queue, r.Load = name, load
	return r, err
}

// offer sends requests at the instants of a Poisson process, whatever becomes of those
// before: a generator that waits for answers spares an overloaded server.
func (c *loadCommand) offer(ctx context.Context, through network, url string, rate float64, t *tally) error {
	requests, cancel := context.WithCancel(ctx)
	defer cancel()
	transport := &http.Transport{DialContext: through.DialContext, MaxIdleConnsPerHost: 1 << 20}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	random := rand.New(rand.NewPCG(c.Seed, 0))
	var wait sync.WaitGroup
	start := time.Now()
	end := start.Add(time.Duration(c.Seconds * float64(time.Second)))
	due := start
	for {
		due = due.Add(time.Duration(random.ExpFloat64() / rate * float64(time.Second)))
		if !due.Before(end) {
			break
		}
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			cancel()
			wait.Wait()
			return ctx.Err()
		}
		at := due // and not when it was sent, which may be late
		wait.Go(func() { t.add(get(requests, client, url), time.Since(at)) })
	}
	// What comes after the last deadline is late, however late it is.
	time.Sleep(time.Until(end.Add(c.Deadline)))
	t.close()
	cancel()
	wait.Wait()
	return nil
}

// get returns the status of the answer, or 0 if there is none.
func get(ctx context.Context, client *http.Client, url string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0
	}
	return answer.StatusCode
}

// tally counts answers.
type tally struct {
	mu                                 sync.Mutex
	deadline                           time.Duration
	closed                             bool
	offered, good, late, refused, lost int
	answers, refusals                  *hdrhistogram.Histogram // us
}

func newTally(deadline time.Duration) *tally {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3) }
	return &tally{deadline: deadline, answers: histogram(), refusals: histogram()}
}

func (t *tally) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
}

func (t *tally) add(status int, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.offered++
	switch {
	case t.closed: // it was given up
		t.late++
		_ = t.answers.RecordValue(took.Microseconds()) // at least
	case status == http.StatusOK && took <= t.deadline:
		t.good++
		_ = t.answers.RecordValue(took.Microseconds())
	case status == http.StatusOK:
		t.late++
		_ = t.answers.RecordValue(took.Microseconds())
	case status == http.StatusServiceUnavailable:
		t.refused++
		_ = t.refusals.RecordValue(took.Microseconds())
	default:
		t.lost++
	}
}

func (t *tally) result(seconds float64) result {
	t.mu.Lock()
	defer t.mu.Unlock()
	ms := func(h *hdrhistogram.Histogram, percentile float64) float64 {
		return float64(h.ValueAtPercentile(percentile)) / 1e3
	}
	return result{
		Offered: float64(t.offered) / seconds, Goodput: float64(t.good) / seconds, Late: float64(t.late) / seconds,
		Refused: float64(t.refused) / seconds, Failed: float64(t.lost) / seconds,
		P50: ms(t.answers, 50), P99: ms(t.answers, 99), RefusalP99: ms(t.refusals, 99),
	}
}

// write writes the results in the format that was asked for.
func (c *loadCommand) write(w io.Writer, all []result) error {
	switch {
	case c.JSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(all)
	case c.CSV:
		return writeCSV(w, all)
	}
	fmt.Fprintf(w, "%d workers of %v each: %.0f requests/s; up to %d wait; target %v; %v s each, seed %d\n\n",
		c.Workers, c.Work, c.capacity(), c.Limit, c.Target, c.Seconds, c.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "load\tqueue\toffered/s\tgoodput/s\tlate/s\trefused/s\tfailed/s\tp50 ms\tp99 ms\trefusal p99 ms\t")
	for _, r := range all {
		fmt.Fprintf(t, "%v\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t\n",
			r.Load, r.Queue, r.Offered, r.Goodput, r.Late, r.Refused, r.Failed, r.P50, r.P99, r.RefusalP99)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nGoodput is answers within %v of when the request was due; p50 and p99 are of all answers of 200, late ones included.\n", c.Deadline)
	return err
}

func writeCSV(w io.Writer, all []result) error {
	c := csv.NewWriter(w)
	head := []string{"queue", "load", "offered_per_s", "goodput_per_s", "late_per_s", "refused_per_s", "failed_per_s", "p50_ms", "p99_ms", "refusal_p99_ms"}
	rows := [][]string{head}
	for _, r := range all {
		row := []string{r.Queue}
		for _, x := range []float64{r.Load, r.Offered, r.Goodput, r.Late, r.Refused, r.Failed, r.P50, r.P99, r.RefusalP99} {
			row = append(row, strconv.FormatFloat(x, 'g', -1, 64))
		}
		rows = append(rows, row)
	}
	return c.WriteAll(slices.Clip(rows))
}
