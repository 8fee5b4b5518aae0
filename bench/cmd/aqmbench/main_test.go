package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/bench/cost"
)

func TestCommandLine(t *testing.T) {
	for _, tc := range []struct {
		args             string
		status           int
		results, message string
	}{
		{"-h", 0, "Measures and compares the algorithms of aqmkit.", ""},
		{"cost -h", 0, "--algorithms=NAME,... ", ""},
		{"cost -h", 0, "droptail, threshold, red", ""},
		{"cost --algorithms=blue", 2, "", `--algorithms: unknown algorithm "blue"; there are droptail`},
		{"cost --rounds=0", 2, "", "--rounds = 0 samples, must be in [1, 1000]"},
		{"cost --algorithms=", 2, "", "cost: --algorithms must not be empty; see aqmbench -h\n"},
		{"cost --algorithms=red,codel,red", 2, "", "cost: --algorithms has red twice"},
		{"cost --algorithms", 2, "", "--algorithms: missing value, such as --algorithms=NAME,..."},
		{"cost --rounds", 2, "", "aqmbench: --rounds: missing value, such as --rounds=11;"},
		{"cost --rounds --json", 2, "", "aqmbench: --rounds: missing value, such as --rounds=11;"},
		{"--nonsense", 2, "", "aqmbench: unknown flag --nonsense"},
		{"cost --rounds=1 --algorithms=threshold", 0, "threshold", ""},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var results, messages strings.Builder
			status := run(strings.Fields(tc.args), &results, &messages)
			assert.Equal(t, tc.status, status)
			assert.Contains(t, results.String(), tc.results)
			assert.Contains(t, messages.String(), tc.message)
			if tc.status != 0 {
				assert.Empty(t, results.String())
				assert.Equal(t, 1, strings.Count(messages.String(), "\n"), "one line: %q", messages.String())
			}
		})
	}
}

func TestJSON(t *testing.T) {
	var results, messages strings.Builder
	require.Zero(t, run([]string{"cost", "--rounds=1", "--algorithms=threshold", "--json"}, &results, &messages), messages.String())
	var r cost.Report
	require.NoError(t, json.Unmarshal([]byte(results.String()), &r))
	assert.NotEmpty(t, r.Rows)
	assert.Positive(t, r.FloorEnqueue.Median)
}
