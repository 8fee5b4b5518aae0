package cost

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/regime"
)

func TestRun(t *testing.T) {
	steps := 0
	r, err := Run([]string{"droptail", "threshold"}, 1, func(done, of int, what string) {
		steps++
		assert.Less(t, done, of)
		assert.NotEmpty(t, what)
	})
	require.NoError(t, err)
	assert.Equal(t, len(r.Rows)+1, steps)
	for _, row := range r.Rows {
		for name, f := range map[string]Figure{"enqueue": row.Enqueue, "dequeue": row.Dequeue, "both": row.Both, "policy": row.Policy, "FIFO": row.FIFO} {
			assert.Positive(t, f.Median, "%s of %s, %s", name, row.Algorithm, row.Regime)
		}
		assert.Zero(t, row.Allocs, "%s, %s", row.Algorithm, row.Regime)
	}
	var b strings.Builder
	require.NoError(t, r.WriteTable(&b))
	for _, part := range []string{"no-op AQM", "threshold", "walk", "FIFO round trip"} {
		assert.Contains(t, b.String(), part)
	}
	_, err = Run([]string{"blue"}, 1, nil)
	assert.ErrorContains(t, err, `unknown algorithm "blue"`)
}

// TestPeers needs no peer: what is missing is named, and the queues in Go are there.
func TestPeers(t *testing.T) {
	r, err := RunPeers(1, nil)
	require.NoError(t, err)
	require.Len(t, r.Comparisons, len(comparisons)+len(queues))
	for _, c := range r.Comparisons {
		assert.Positive(t, c.Ours.Median, c.What)
		for _, p := range c.Peers {
			assert.Positive(t, p.Cost.Median, "%s, %s", c.What, p.Name)
			assert.InDelta(t, c.Ours.Median/p.Cost.Median, p.Ratio, 1e-9)
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
	wait, threshold := all[2], all[3]
	assert.InDelta(t, threshold.Enqueue[0].Median+wait.Enqueue[1].Median-wait.Enqueue[0].Median, threshold.Bound[1], 1e-9)
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
}

// TestAttribute gives each place its share, to inlined functions too.
func TestAttribute(t *testing.T) {
	at := func(name string, line int64) *profile.Location {
		return &profile.Location{Line: []profile.Line{
			{Function: &profile.Function{Name: "github.com/aqmkit/aqmkit/" + name, Filename: "/x/" + name + ".go"}, Line: line},
			{Function: &profile.Function{Name: "caller", Filename: "caller.go"}, Line: 1},
		}}
	}
	p := attribute(&profile.Profile{Sample: []*profile.Sample{
		{Location: []*profile.Location{at("red", 7)}, Value: []int64{3, 0}},
		{Location: []*profile.Location{at("red", 8)}, Value: []int64{4, 0}},
		{Location: []*profile.Location{at("pie", 9)}, Value: []int64{1, 0}},
	}}, 16)
	assert.Equal(t, []Share{{"red", 14}, {"pie", 2}}, p.Functions)
	assert.Equal(t, []Share{{"red red.go:8", 8}, {"red red.go:7", 6}, {"pie pie.go:9", 2}}, p.Lines)
	assert.EqualValues(t, 8, p.Samples)
}

func TestProfiles(t *testing.T) {
	p, err := RunProfiles([]string{"droptail"}, 50*time.Millisecond, nil)
	require.NoError(t, err)
	require.Len(t, p, 2)
	assert.Positive(t, p[0].NS)
	require.NoError(t, WriteProfiles(io.Discard, p, 3))
}

func TestRises(t *testing.T) {
	base := Instructions{Arch: "amd64", Counts: map[string]float64{"a": 100, "b": 100, "c": 100}}
	is := Instructions{Arch: "amd64", Counts: map[string]float64{"a": 103, "b": 103.1, "c": 50, "d": 1}}
	rises, err := is.Rises(base)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"b: 103.1 instructions, 3.1 % above the baseline's 100.0",
		"d: 1.0 instructions, and none in the baseline",
	}, rises)
	is.Arch = "arm64"
	_, err = is.Rises(base)
	assert.ErrorContains(t, err, "counted on amd64, and this is arm64")
}

// TestBaseline sees that the committed baseline knows every load.
func TestBaseline(t *testing.T) {
	base, err := ReadBaseline("testdata/instructions.json")
	require.NoError(t, err)
	require.NoError(t, eachCounted(catalog.Names(), func(row string, _ regime.Regime) error {
		assert.Positive(t, base.Counts[row+"/decisions"], row)
		assert.Positive(t, base.Counts[row+"/FIFO"], row)
		return nil
	}))
	_, err = ReadBaseline("testdata/none.json")
	assert.ErrorContains(t, err, "--baseline: ")
}

func TestBudget(t *testing.T) {
	assert.InDelta(t, 67.2, budget(10, 46), 1e-9, "14.88 million packets a second")
	assert.InDelta(t, 123.04, budget(100, 1500), 1e-9)
}
