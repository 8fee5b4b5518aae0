package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/datapath/tunlink"
	"github.com/aqmkit/aqmkit/internal/catalog"
)

// matrixCell is one combination of the factors.
type matrixCell struct {
	cell
	Rate  uint64        `json:"rate_bit_per_s"`
	RTT   time.Duration `json:"rtt_ns"`
	Flows int           `json:"flows"`
}

// String returns the combination.
func (c matrixCell) String() string {
	return fmt.Sprintf("%v, %v, %v, %s", c.cell, bitRate(c.Rate), c.RTT, counted(c.Flows, "flow"))
}

// buffer returns the limit of the queue: four bandwidth-delay products, and no less
// than a hundred packets, so that the algorithm decides and not the space.
func (c matrixCell) buffer() int {
	return max(100, int(4*float64(c.Rate)/8/catalog.MeanPacket*c.RTT.Seconds()))
}

// The factors of the matrix.
var (
	matrixRates = []uint64{10e6, 50e6, 200e6}
	matrixRTTs  = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}
	matrixCCs   = []string{"cubic", "reno", "bbr"}
	matrixECN   = []bool{false, true}
	matrixFlows = []int{1, 8}
)

// levels returns what each factor is in the cell.
func (c matrixCell) levels() [6]string {
	return [...]string{c.Algorithm, c.CC, fmt.Sprint(c.ECN), fmt.Sprint(c.Rate), c.RTT.String(), fmt.Sprint(c.Flows)}
}

// pairs returns the pairs of levels of two factors that are in the cell.
func (c matrixCell) pairs() (all []string) {
	l := c.levels()
	for i := range l {
		for j := range i {
			all = append(all, fmt.Sprint(j, i, " ", l[j], " ", l[i]))
		}
	}
	return all
}

// matrixLimit is the most cells of a sample.
const matrixLimit = 40

// matrixSample returns the cells that are run. There are 756 combinations. The sample
// has every pair of levels of every two factors: each algorithm meets each rate, each
// rate each number of flows, and so on. The next cell is always the combination with
// the most pairs that are still missing, the first of the list where several have as
// many. Then each algorithm is given two cells of cubic and two of reno with ECN, of
// which the matrix has a question to answer, as long as there are no more than
// matrixLimit: the combinations whose levels, two by two, were taken least often.
func matrixSample(algorithms, ccs []string) []matrixCell {
	var all []matrixCell
	for _, algorithm := range algorithms {
		for _, cc := range ccs {
			for _, ecn := range matrixECN {
				for _, rate := range matrixRates {
					for _, rtt := range matrixRTTs {
						for _, flows := range matrixFlows {
							all = append(all, matrixCell{cell{algorithm, cc, ecn}, rate, rtt, flows})
						}
					}
				}
			}
		}
	}
	taken := map[string]int{}
	var sample []matrixCell
	take := func(c matrixCell) {
		sample = append(sample, c)
		for _, pair := range c.pairs() {
			taken[pair]++
		}
	}
	missing := func(c matrixCell) (n int) {
		for _, pair := range c.pairs() {
			if taken[pair] == 0 {
				n++
			}
		}
		return n
	}
	for {
		best := slices.MaxFunc(all, func(a, b matrixCell) int { return missing(a) - missing(b) })
		if missing(best) == 0 {
			break
		}
		take(best)
	}
	often := func(c matrixCell) (n int) {
		for _, pair := range c.pairs() {
			n += taken[pair]
		}
		return n
	}
	for round := 1; round <= 2; round++ {
		for _, algorithm := range algorithms {
			for _, cc := range ccs {
				asked := cell{algorithm, cc, true}
				has := 0
				for _, c := range sample {
					if c.cell == asked {
						has++
					}
				}
				if cc == "bbr" || has >= round || round == 2 && algorithm == "droptail" || len(sample) == matrixLimit {
					continue
				}
				of := slices.DeleteFunc(slices.Clone(all), func(c matrixCell) bool { return c.cell != asked || slices.Contains(sample, c) })
				take(slices.MinFunc(of, func(a, b matrixCell) int { return often(a) - often(b) }))
			}
		}
	}
	slices.SortStableFunc(sample, func(a, b matrixCell) int {
		return slices.Index(algorithms, a.Algorithm) - slices.Index(algorithms, b.Algorithm)
	})
	return sample
}

// matrixResult is what came of a cell, beside what the model says.
type matrixResult struct {
	matrixCell
	Buffer int     `json:"buffer_packets"`
	Target float64 `json:"target_delay_ms"`
	Model  float64 `json:"model_goodput_bit_per_s"`
	Ratio  float64 `json:"goodput_over_model"`
	Run    result  `json:"run"`
}

// newMatrixResult puts a run beside the model.
func newMatrixResult(c matrixCell, run result) matrixResult {
	r := matrixResult{matrixCell: c, Buffer: c.buffer(), Run: run}
	target := targetDelay(c.Algorithm, c.Rate, c.RTT, r.Buffer)
	r.Target = milliseconds(target)
	if c.CC != "bbr" { // which the model does not know
		r.Model = payloadShare * float64(c.Rate) * modelUtilisation(c.CC, c.Rate, c.RTT, target, c.Flows, isSynchronised(c.Algorithm))
		r.Ratio = run.Goodput / r.Model
	}
	return r
}

// queueing returns the median round-trip time less that of the empty link, ms.
func (r matrixResult) queueing() float64 { return max(0, r.Run.RTTMedian-milliseconds(r.RTT)) }

// isAsked reports whether the matrix is to answer for the cell's goodput: of cubic and
// reno with ECN, under an algorithm.
func (r matrixResult) isAsked() bool { return r.CC != "bbr" && r.ECN && r.Algorithm != "droptail" }

// wantedRatio is what is asked of goodput over the model.
const wantedRatio = 0.95

// matrixReport is all that the matrix has to say.
type matrixReport struct {
	Combinations int            `json:"combinations"`
	Warmup       float64        `json:"warmup_seconds"`
	Seconds      float64        `json:"seconds"`
	Seed         uint64         `json:"seed"`
	Cells        []matrixResult `json:"cells"`
	Checks       []check        `json:"checks"`
}

// matrixChecks says what holds of the cells.
func matrixChecks(cells []matrixResult) []check {
	goodput := check{Claim: fmt.Sprintf("cubic and reno with ECN: goodput at least %v of the model's", wantedRatio)}
	marks := check{Claim: "CE seen by the receivers equals the marks that were sent on"}
	load := check{Claim: "the machine kept up: nothing lost in a device, p99 of lateness under a tenth of the RTT"}
	for _, c := range cells {
		marks.add(c.Run.ceHolds(), "%v: %d of %d", c.matrixCell, c.Run.CE, c.Run.Marks)
		load.add(c.Run.DeviceDropped == 0 && c.Run.LatenessP99 < milliseconds(c.RTT)/10, "%v: %d lost, %v ms", c.matrixCell, c.Run.DeviceDropped, c.Run.LatenessP99)
		if c.isAsked() {
			goodput.add(c.Ratio >= wantedRatio, "%v: %.3f", c.matrixCell, c.Ratio)
		}
	}
	return []check{goodput, marks, load}
}

func (c *check) add(ok bool, format string, args ...any) {
	c.Cells++
	if !ok {
		c.Failed = append(c.Failed, fmt.Sprintf(format, args...))
	}
}

// figures are the columns of the table and of the CSV file.
func (r matrixResult) figures() []any {
	model, ratio := "", ""
	if r.Model > 0 {
		model, ratio = fmt.Sprintf("%.1f", r.Model/1e6), fmt.Sprintf("%.3f", r.Ratio)
	}
	d := r.Run.Drops[tunlink.Data]
	return []any{
		r.Algorithm, r.CC, map[bool]string{false: "off", true: "on"}[r.ECN], float64(r.Rate) / 1e6, milliseconds(r.RTT), r.Flows,
		fmt.Sprintf("%.1f", r.Run.Goodput/1e6), model, ratio,
		fmt.Sprintf("%.1f", r.Target), fmt.Sprintf("%.1f", r.queueing()), fmt.Sprintf("%.1f", r.Run.RTTP99-milliseconds(r.RTT)),
		r.Run.Retransmissions, r.Run.Marks, d.Early + d.Forced, d.Overflow, r.Run.CE, r.Run.LatenessP99,
	}
}

var matrixHead = []string{
	"algorithm", "cc", "ECN", " Mb/s", " RTT ms", " flows", " goodput", " model", " ratio", " target ms", " queue p50", " p99 ms",
	" retrans", " marks", " dropped", " overflow", " CE seen", " late p99 ms",
}

func (r *matrixReport) writeTable(w *strings.Builder) {
	fmt.Fprintf(w, "%d of %d combinations, %v s each after %v s; seed %d\n\n", len(r.Cells), r.Combinations, r.Seconds, r.Warmup, r.Seed)
	t := table{head: matrixHead}
	for _, c := range r.Cells {
		t.add(c.figures()...)
	}
	t.write(w)
	fmt.Fprint(w, "\ngoodput and model in Mb/s. queue is the round-trip time of small requests less that of the empty link.\n"+
		"target is the delay that the algorithm aims at; for drop-tail it is the buffer. The model knows no bbr.\n\n")
	for _, c := range r.Checks {
		fmt.Fprintln(w, c)
	}
}

// writeCSV writes the table for programs.
func (r *matrixReport) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{
		"algorithm", "cc", "ecn", "rate_mbit_per_s", "rtt_ms", "flows", "goodput_mbit_per_s", "model_mbit_per_s", "goodput_over_model", "target_ms", "queue_p50_ms", "queue_p99_ms",
		"retransmissions", "marks", "data_dropped", "data_overflow", "ce_seen", "late_p99_ms",
	}); err != nil {
		return err
	}
	for _, c := range r.Cells {
		row := make([]string, 0, 18)
		for _, x := range c.figures() {
			if f, ok := x.(float64); ok {
				row = append(row, strconv.FormatFloat(f, 'g', -1, 64))
			} else {
				row = append(row, fmt.Sprint(x))
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// figureFiles returns the figures: goodput over the model, and the queue's delay.
func (r *matrixReport) figureFiles() map[string]stripPlot {
	goodput := stripPlot{title: "Goodput over the window law's; of bbr, over the link's", unit: "share", low: 0.6, high: 1.1, step: 0.1, line: wantedRatio}
	delay := stripPlot{title: "Median queueing delay", unit: "ms", low: 0.1, high: 1000, log: true}
	for _, c := range r.Cells {
		p := plotPoint{group: c.Algorithm, kind: c.CC, filled: c.ECN, label: c.matrixCell.String()}
		if c.Model > 0 {
			p.value = c.Ratio
		} else {
			p.value = c.Run.Goodput / (payloadShare * float64(c.Rate))
		}
		goodput.points = append(goodput.points, p)
		p.value = max(c.queueing(), 0.1)
		delay.points = append(delay.points, p)
	}
	return map[string]stripPlot{"matrix-goodput.svg": goodput, "matrix-delay.svg": delay}
}
