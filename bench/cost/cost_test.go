package cost

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/internal/regime"
)

func TestRun(t *testing.T) {
	told := 0
	r, err := Run([]string{"droptail", "red"}, 2, func(done, of int, what string) {
		assert.Equal(t, told, done)
		assert.Less(t, done, of)
		assert.NotEmpty(t, what)
		told++
	})
	require.NoError(t, err)
	assert.Equal(t, len(r.Rows)+1, told, "the floor and the rows")
	assert.NotNil(t, r.Policies)
	for _, row := range r.Rows {
		for name, f := range map[string]Figure{"enqueue": row.Enqueue, "dequeue": row.Dequeue, "bare": row.Bare, "both": row.Both, "policy": row.Policy, "FIFO": row.FIFO} {
			assert.Positive(t, f.Median, "%s of %s, %s", name, row.Algorithm, row.Regime)
		}
		assert.Zero(t, row.Allocs, "%s, %s", row.Algorithm, row.Regime)
		assert.Equal(t, row.Algorithm != "red" || row.Regime != "above", row.RoundTrip(), row.Regime)
	}
	var b strings.Builder
	require.NoError(t, r.WriteTable(&b))
	for _, part := range []string{"no-op AQM", "bare", "walk", "FIFO round trip", "delivered"} {
		assert.Contains(t, b.String(), part)
	}
	assert.NotContains(t, b.String(), "What a policy costs", "not asked for")
	table, rates, _ := strings.Cut(b.String(), "Line rates")
	assert.Regexp(t, `red +above .* - +100.00 % +0.0 %`, table)
	assert.NotRegexp(t, `red +above`, rates)
	assert.Regexp(t, `red +below`, rates)
	_, err = Run([]string{"blue"}, 1, nil)
	assert.ErrorContains(t, err, `unknown algorithm "blue"`)
}

// TestSamplesStartAnew sees that the third sample is of the same packets as the
// first: CoDel's rate of signals grows as long as the queue stands.
func TestSamplesStartAnew(t *testing.T) {
	for _, g := range regime.For("codel") {
		for _, newRun := range []func(regime.Regime) *run{dequeues, roundTrips} {
			one, three := newRun(g), newRun(g)
			sample(1, one)
			sample(3, three)
			assert.InDelta(t, one.meanSignals(), three.meanSignals(), 1e-12, g.Name)
		}
	}
}

// TestBareIsTheSame sees that the loops of direct calls come to the same signals.
func TestBareIsTheSame(t *testing.T) {
	all, err := tasks(nil)
	require.NoError(t, err)
	for _, task := range all {
		g := task.regime
		a, now := g.Instance()
		thenBare, direct := bare(g.Load, a, now, packets)
		a, now = g.Instance()
		then, through := g.Load.Pairs(a, now, packets)
		assert.Equal(t, through, direct, "%s, %s", task.algorithm, g.Name)
		assert.Equal(t, then, thenBare)
	}
}

func TestPolicies(t *testing.T) {
	r := Report{}
	for _, p := range regime.Policies() {
		row := measurePolicy(p, 2)
		assert.Positive(t, row.Without.Median, p.Name)
		assert.Positive(t, row.With.Median, p.Name)
		assert.InDelta(t, row.With.Median-row.Without.Median, row.Cost.Median, 1e-9, "of two, the median is the mean")
		r.Policies = append(r.Policies, row)
	}
	var b strings.Builder
	require.NoError(t, r.writePolicies(&b))
	assert.Regexp(t, `drop becomes a pass .* 100 % +0 %`, b.String())
}

// TestPeers needs no peer: what is missing is named, and the queues in Go are there.
func TestPeers(t *testing.T) {
	r, err := RunPeers(2*turns, nil) // two samples at a time: the second starts anew too
	require.NoError(t, err)
	require.Len(t, r.Comparisons, len(comparisons)+len(queues))
	for _, c := range r.Comparisons {
		assert.Positive(t, c.Ours.Median, c.What)
		assert.NotNil(t, c.Peers)
		for _, p := range c.Peers {
			assert.Positive(t, p.Cost.Median, "%s, %s", c.What, p.Name)
			assert.InDelta(t, c.Ours.Median/p.Cost.Median, p.Ratio, 1e-9)
			switch {
			case p.Signals == nil:
				assert.Contains(t, []string{"buffered channel", "container/list, mutex", "gVisor's FIFO, mutex"}, p.Name)
			case p.Name != dpdk.name: // whose laws draw otherwise
				assert.InDelta(t, c.Signals, *p.Signals, 0.002, "%s, %s", c.What, p.Name)
			}
		}
	}
	assert.GreaterOrEqual(t, len(r.Comparisons[len(r.Comparisons)-1].Peers), 3)
	var b strings.Builder
	require.NoError(t, r.WriteTable(&b))
	assert.Contains(t, b.String(), "buffered channel")

	t.Setenv("PATH", t.TempDir())
	c, err := build()
	require.NoError(t, err)
	defer c.close()
	assert.False(t, c.has(laws))
	require.Len(t, c.missing, 1)
	assert.Contains(t, c.missing[0], "apt-get install gcc")
}

func TestColdAndCores(t *testing.T) {
	defer func(q []int) { Queues = q }(Queues)
	Queues = []int{1, 1000}
	all, err := RunCold([]string{"threshold"}, 1, nil)
	require.NoError(t, err)
	require.Len(t, all, 4)
	touch, wait, threshold := all[1], all[2], all[3]
	assert.InDelta(t, threshold.Both[0].Median+wait.Both[1].Median-wait.Both[0].Median, threshold.WaitedFor[1], 1e-9)
	assert.InDelta(t, threshold.Both[0].Median+touch.Both[1].Median-touch.Both[0].Median, threshold.Overlapped[1], 1e-9)
	var b strings.Builder
	require.NoError(t, WriteCold(&b, all))
	assert.Contains(t, b.String(), "two lines, waited for")
	_, err = RunCold([]string{"blue"}, 1, nil)
	assert.ErrorContains(t, err, `unknown algorithm "blue"`)

	cores, err := RunCores([]string{"threshold"}, 5, nil)
	require.NoError(t, err)
	require.Len(t, cores, 2)
	require.NoError(t, WriteCores(&b, cores))
	assert.Positive(t, cores[1].All.Median)
	assert.Equal(t, 5, cores[1].Samples)
}

// TestAttribute gives each place its share, to inlined functions too.
func TestAttribute(t *testing.T) {
	at := func(name string, line int64) *profile.Location {
		return &profile.Location{Line: []profile.Line{
			{Function: &profile.Function{Name: "github.com/aqmkit/aqmkit/" + name, Filename: "/x/" + name + ".go"}, Line: line},
			{Function: &profile.Function{Name: "caller", Filename: "caller.go"}, Line: 1},
		}}
	}
	timed := map[string][]string{timedLabel: {"yes"}}
	p := attribute(&profile.Profile{Sample: []*profile.Sample{
		{Location: []*profile.Location{at("red", 7)}, Value: []int64{3, 0}, Label: timed},
		{Location: []*profile.Location{at("red", 8)}, Value: []int64{4, 0}, Label: timed},
		{Location: []*profile.Location{at("pie", 9)}, Value: []int64{1, 0}, Label: timed},
		{Location: []*profile.Location{at("pie", 9)}, Value: []int64{9, 0}}, // as it was prepared
	}}, 16)
	assert.Equal(t, []Share{{"red", 14}, {"pie", 2}}, p.Functions)
	assert.Equal(t, []Share{{"red red.go:8", 8}, {"red red.go:7", 6}, {"pie pie.go:9", 2}}, p.Lines)
	assert.EqualValues(t, 8, p.Samples)
}

func TestProfiles(t *testing.T) {
	p, err := RunProfiles([]string{"droptail"}, 50*time.Millisecond, nil)
	require.NoError(t, err)
	require.Len(t, p, 4)
	for i, kind := range []string{"both decisions", "FIFO round trip", "both decisions", "FIFO round trip"} {
		assert.Positive(t, p[i].NS)
		assert.Equal(t, kind, p[i].Kind)
	}
	require.NoError(t, WriteProfiles(io.Discard, p, 3))
}

func TestRises(t *testing.T) {
	base := Instructions{Go: "go1", Arch: "amd64", Counts: map[string]float64{"a/x": 100, "b/x": 100, "b/y": 100, "e/x": 1}}
	is := Instructions{Go: "go1", Arch: "amd64", Counts: map[string]float64{"a/x": 103, "b/x": 103.1, "d/x": 1}}
	rises, err := is.Rises(base, nil)
	require.NoError(t, err)
	expected := []string{
		"b/x: 103.1 instructions, 3.1 % above the baseline's 100.0",
		"d/x: 1.0 instructions, and none in the baseline",
		"b/y: in the baseline, and no longer counted",
		"e/x: in the baseline, and no longer counted",
	}
	assert.Equal(t, expected, rises)
	rises, err = is.Rises(base, []string{"a", "b", "d"})
	require.NoError(t, err)
	assert.Equal(t, expected[:3], rises, "e was not to be counted")

	base.Go = "go2"
	_, err = is.Rises(base, nil)
	assert.ErrorContains(t, err, "counted with go2, and this is go1")
	assert.ErrorContains(t, err, "renew the baseline with --instructions --save FILE")
	is.Arch = "arm64"
	_, err = is.Rises(base, nil)
	assert.ErrorContains(t, err, "counted on amd64, and this is arm64")
}

// TestBaseline sees that the committed baseline knows every load, and no other.
func TestBaseline(t *testing.T) {
	base, err := ReadBaseline("testdata/instructions.json")
	require.NoError(t, err)
	rows, err := countedRows(nil)
	require.NoError(t, err)
	for _, row := range rows {
		assert.Positive(t, base.Counts[row.name], row.name)
	}
	assert.Equal(t, len(rows), len(base.Counts))
	_, err = ReadBaseline("testdata/none.json")
	assert.ErrorContains(t, err, "--baseline: ")
}

func TestBudget(t *testing.T) {
	assert.InDelta(t, 67.2, budget(10, 46), 1e-9, "14.88 million packets a second")
	assert.InDelta(t, 123.04, budget(100, 1500), 1e-9)
}
