package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSimulationCommands(t *testing.T) {
	for _, tc := range []struct {
		args             string
		status           int
		results, message string
	}{
		{"dumbbell -h", 0, "--like-ns2", ""},
		{"dumbbell --flows=0", 2, "", "flows = 0, must be in [1, 1000000]"},
		{"dumbbell --rate=0", 2, "", "rate = 0 bit/s, must be in [10k, 1000G]"},
		{"dumbbell --rate=fast", 2, "", `"fast" is not a rate such as 50M`},
		{"dumbbell --buffer=0", 2, "", "buffer = 0 packets, must be in [1, 100000000]"},
		{"dumbbell --algorithm=blue", 2, "", `unknown algorithm "blue"; there are droptail`},
		{"dumbbell --kind=bbr", 2, "", `unknown kind of flow "bbr"`},
		{"dumbbell --rtt=1", 2, "", `"1" is not a time such as 50ms`},
		{"dumbbell --protect=some", 2, "", `--protect = "some", must be none`},
		{"dumbbell --seeds=0", 2, "", "--seeds = 0, must be in [1, 1000]"},
		{"dumbbell --plot=x.gif", 1, "", "x.gif: a plot's name ends in .svg or .png"},
		{"dumbbell --like-ns2 --algorithm=pie", 2, "", "with --like-ns2 there are droptail"},
		{"dumbbell --like-ns2 --flows=3", 2, "", "--like-ns2 is one scenario"},
		{"dumbbell --like-ns2 --mark-forced", 2, "", "--like-ns2 is one scenario"},
		{"dumbbell --ns2-pi-ref", 2, "", "--ns2-pi-ref needs"},
		{"compare --algorithms=red,blue", 2, "", `unknown algorithm "blue"`},
		{"validate --rates=3M", 2, "", "must be of 10M, 100M and 1G"},
		{"dumbbell --rate=5M --seconds=4 --flows=5 --kind=cubic,dctcp", 0, "5 Mb/s, 5 cubic and dctcp flows with ECN", "packets through the bottleneck"},
		{"dumbbell --rate=5M --seconds=4 --flows=5 --csv", 0, "red,design,5000000", ""},
		{"compare --rate=5M --seconds=4 --flows=5", 0, "codel", ""},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var results, messages strings.Builder
			status := run(strings.Fields(tc.args), &results, &messages)
			assert.Equal(t, tc.status, status, messages.String())
			assert.Contains(t, results.String(), tc.results)
			assert.Contains(t, messages.String(), tc.message)
			if status != 0 {
				assert.Equal(t, 1, strings.Count(messages.String(), "\n"), "one line")
			}
		})
	}
}

// TestLikeNS2 sees that a rate without a unit is in Mb/s, and the scenario ns-2's.
func TestLikeNS2(t *testing.T) {
	var results, messages strings.Builder
	require.Zero(t, run(strings.Fields("dumbbell --like-ns2 --algorithm pi --ns2-pi-ref --rate 10 --seconds 20 --json"), &results, &messages), messages.String())
	var r struct {
		Scenario map[string]any
		Speed    float64 `json:"packets_per_wall_second"`
	}
	require.NoError(t, json.Unmarshal([]byte(results.String()), &r))
	assert.Equal(t, "pi-ref", r.Scenario["algorithm"])
	assert.Equal(t, 10e6, r.Scenario["rate_bit_per_s"])
	assert.Equal(t, 166., r.Scenario["buffer_packets"])
	assert.Equal(t, 5., r.Scenario["warmup_seconds"])
	assert.Positive(t, r.Speed)
}

func TestPlotFile(t *testing.T) {
	dir := t.TempDir()
	var results, messages strings.Builder
	args := "dumbbell --rate=5M --seconds=4 --flows=5 --plot=" + filepath.Join(dir, "a.svg") + " --series=" + filepath.Join(dir, "a.csv")
	require.Zero(t, run(strings.Fields(args), &results, &messages), messages.String())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		assert.Positive(t, info.Size())
	}
}
