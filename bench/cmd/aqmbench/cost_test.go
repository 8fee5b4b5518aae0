package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCostModes(t *testing.T) {
	for _, tc := range []struct {
		args             string
		status           int
		results, message string
	}{
		{"cost --peers --cold", 2, "", "can't be used together"},
		{"cost --profile --each=1ms", 2, "", "--each = 1ms, must be in [100ms, 1m]"},
		{"cost --each=1s", 2, "", "--each needs --profile"},
		{"cost --profile --rounds=11", 2, "", "--profile takes no samples: leave --rounds out"},
		{"cost --instructions --rounds=11", 2, "", "--instructions counts once: leave --rounds out"},
		{"cost --profile --each", 2, "", "--each: missing value, such as --each=1s"},
		{"cost --baseline=x", 2, "", "--baseline needs --instructions"},
		{"cost --save=x", 2, "", "--save needs --instructions"},
		{"cost --peers --algorithms=red", 2, "", "leave --algorithms out"},
		{"cost --instructions --baseline=none.json", 1, "", "--baseline: open none.json"},
		{"cost --cores --rounds=1 --algorithms=threshold", 0, "all cores", ""},
		{"cost --profile --each=100ms --algorithms=droptail", 0, "droptail, queued: both decisions", ""},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var results, messages strings.Builder
			assert.Equal(t, tc.status, run(strings.Fields(tc.args), &results, &messages))
			assert.Contains(t, results.String(), tc.results)
			assert.Contains(t, messages.String(), tc.message)
		})
	}
}
