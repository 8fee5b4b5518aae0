package cost

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		for name, f := range map[string]Figure{"enqueue": row.Enqueue, "dequeue": row.Dequeue, "policy": row.Policy, "FIFO": row.FIFO} {
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
