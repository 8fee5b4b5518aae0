package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/datapath/tunlink"
	"github.com/aqmkit/aqmkit/internal/catalog"
)

// TestMatrixSample covers every pair of levels with no more cells than are allowed, can
// build every algorithm in them, and is the same each time.
func TestMatrixSample(t *testing.T) {
	sample := matrixSample(catalog.Names(), matrixCCs)
	assert.LessOrEqual(t, len(sample), matrixLimit)
	assert.Equal(t, sample, matrixSample(catalog.Names(), matrixCCs))
	wanted, taken := map[string]bool{}, map[string]bool{}
	for _, a := range catalog.Names() {
		for _, cc := range matrixCCs {
			for _, ecn := range matrixECN {
				for _, rate := range matrixRates {
					for _, rtt := range matrixRTTs {
						for _, flows := range matrixFlows {
							for _, pair := range (matrixCell{cell{a, cc, ecn}, rate, rtt, flows}).pairs() {
								wanted[pair] = true
							}
						}
					}
				}
			}
		}
	}
	for i, c := range sample {
		assert.False(t, slices.Contains(sample[:i], c), "%v is in it twice", c)
		for _, pair := range c.pairs() {
			taken[pair] = true
		}
		d := demoCommand{Rate: bitRate(c.Rate), RTT: c.RTT, Buffer: c.buffer(), Flows: c.Flows, Seed: 1}
		_, err := d.build(c.Algorithm, 0)
		require.NoError(t, err)
		assert.Positive(t, targetDelay(c.Algorithm, c.Rate, c.RTT, c.buffer()))
	}
	assert.Equal(t, wanted, taken)
	for _, a := range catalog.Names() {
		for _, cc := range []string{"cubic", "reno"} {
			assert.True(t, slices.ContainsFunc(sample, func(c matrixCell) bool { return c.cell == cell{a, cc, true} }), "%s %s with ECN", a, cc)
		}
	}
}

// TestModel holds the integration to what can be worked out on paper.
func TestModel(t *testing.T) {
	const rtt = 100 * time.Millisecond
	reno := func(target time.Duration, flows int, synchronised bool) float64 {
		return modelUtilisation("reno", 50e6, rtt, target, flows, synchronised)
	}
	// Without a queue the window goes from half the pipe to the whole: 3/4 on average.
	assert.InDelta(t, 0.75, reno(0, 1, false), 0.005)
	// Where half of the largest window fills the pipe, the link is always busy.
	assert.InDelta(t, 1, reno(rtt, 1, false), 1e-9)
	// Between them, with x = (rtt+target)/rtt: of a cycle the time below the pipe is
	// 1-x/2 round trips, in which (1-x^2/4)/2 is sent, and above it (x^2-1)/2 of both.
	x := 1.25
	below, sent, above := 1-x/2, (1-x*x/4)/2, (x*x-1)/2
	assert.InDelta(t, (sent+above)/(below+above), reno(rtt/4, 1, false), 0.005)
	// Of eight windows one moves, unless they move together.
	assert.InDelta(t, reno(rtt/4, 1, false), reno(rtt/4, 8, true), 0.005)
	assert.InDelta(t, 1, reno(rtt/4, 8, false), 1e-9)
	assert.Greater(t, reno(0, 8, false), 0.95)
	// CUBIC gives back less, and is faster to return.
	cubic := modelUtilisation("cubic", 200e6, rtt, 0, 1, false)
	assert.Greater(t, cubic, 0.85)
	assert.Less(t, cubic, 0.97)
	assert.InDelta(t, 1, modelUtilisation("cubic", 200e6, rtt, rtt/2, 1, false), 1e-9, "0.7 of 1.5 fills the pipe")
}

// TestTargets are those of the catalog's designs.
func TestTargets(t *testing.T) {
	const rtt = 20 * time.Millisecond
	for algorithm, want := range map[string]float64{ // ms
		"threshold": 20, "red": 5, "pi": 10, "rem": 10, "pie": 15, "codel": 5, "droptail": 120,
	} {
		got := targetDelay(algorithm, 50e6, rtt, 500)
		assert.InDelta(t, want, got.Seconds()*1e3, 0.3, algorithm)
	}
}

func matrixCells() []matrixResult {
	run := func(goodput float64) result {
		r := result{Goodput: goodput, RTTMedian: 15, RTTP99: 20, RTTSamples: 100, LatenessP99: 0.2, Marks: 5, CE: 5}
		r.Drops[tunlink.Data] = drops{Early: 1, Forced: 2, Overflow: 3}
		return r
	}
	cells := []matrixCell{
		{cell{"codel", "cubic", true}, 10e6, 10 * time.Millisecond, 8},
		{cell{"codel", "reno", true}, 10e6, 10 * time.Millisecond, 8},
		{cell{"codel", "bbr", false}, 10e6, 10 * time.Millisecond, 1},
	}
	all := make([]matrixResult, len(cells))
	for i, goodput := range []float64{9.6e6, 8e6, 9e6} {
		one := run(goodput)
		one.cell = cells[i].cell
		all[i] = newMatrixResult(cells[i], one)
	}
	all[2].Run.CE = 4
	all[2].Run.DeviceDropped = 7
	return all
}

// TestMatrixReport prints, writes and draws what there is.
func TestMatrixReport(t *testing.T) {
	cells := matrixCells()
	r := matrixReport{Combinations: 756, Warmup: 1, Seconds: 2, Seed: 3, Cells: cells, Checks: matrixChecks(cells)}
	assert.Equal(t, []int{2, 3, 3}, []int{r.Checks[0].Cells, r.Checks[1].Cells, r.Checks[2].Cells})
	assert.Equal(t, []string{"codel reno ECN, 10 Mb/s, 10ms, 8 flows: 0.829"}, r.Checks[0].Failed)
	assert.Len(t, r.Checks[1].Failed, 1)
	assert.Len(t, r.Checks[2].Failed, 1)
	var w strings.Builder
	r.writeTable(&w)
	assert.Contains(t, w.String(), "3 of 756 combinations")

	var b bytes.Buffer
	require.NoError(t, r.writeCSV(&b))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)
	assert.Equal(t, []string{"codel", "cubic", "on", "10", "10", "8", "9.6", "9.7", "0.994"}, rows[1][:9])
	assert.Equal(t, []string{"", ""}, rows[3][7:9], "no model of bbr")

	for name, figure := range r.figureFiles() {
		var one, two bytes.Buffer
		require.NoError(t, figure.write(&one))
		require.NoError(t, figure.write(&two))
		assert.Equal(t, one.String(), two.String())
		circles := 0
		d := xml.NewDecoder(&one)
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
				circles++
			}
		}
		assert.Equal(t, 3+3, circles, "three points and three kinds in the legend")
	}
}

// TestWatchScreen draws what a link is.
func TestWatchScreen(t *testing.T) {
	p := 0.25
	d := directionSample{Algorithm: "pie", Rate: 50e6, Delay: 10, Loss: 0.1, Throughput: 25e6, QueueDelay: 4, Packets: 9, Probability: &p, Drops: map[string]drops{"ACK": {Early: 3}}}
	s := sample{Link: "x", Forward: d, Back: directionSample{Algorithm: "droptail", Rate: 1}}
	var history [2][]float64
	for range 100 {
		var w strings.Builder
		s.writeScreen(&w, &history)
		for _, part := range []string{"forward, near to far: pie, 50 Mb/s, 10 ms, loss 0.1", "25.00 Mb/s ####################....", "0.2500", "ACK        0      3"} {
			require.Contains(t, w.String(), part)
		}
	}
	assert.Len(t, history[0], 60)
	var w strings.Builder
	s.writeLine(&w)
	assert.Contains(t, w.String(), "forward pie: 25.0 of 50 Mb/s, queue 9 packets 4.0 ms")
	assert.Contains(t, w.String(), "back droptail")
}
