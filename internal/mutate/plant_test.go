package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const original = `package p

func F(a, b int) int {
	if a < b && true {
		a++
	}
	return a + 1
}
`

// TestPlant sees every kind of fault in a small function, and the source unharmed.
func TestPlant(t *testing.T) {
	mutants, err := plantFile("p.go", []byte(original))
	require.NoError(t, err)
	var got []string
	for _, m := range mutants {
		got = append(got, m.what)
		assert.NotEqual(t, original, string(m.source), m.what)
	}
	assert.ElementsMatch(t, []string{
		"a condition that is never true", "|| for &&", "<= for <", ">= for <", "false for true",
		"a statement left out", "-- for ++", "- for +", "(1 + 1) for 1", "(1 - 1) for 1",
	}, got)
	_, err = plant("nowhere")
	assert.ErrorContains(t, err, "no Go files")
}
