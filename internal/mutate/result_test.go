package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStore sees results outlast an interrupted run, the last one for each mutant.
func TestStore(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out", "r.jsonl")
	s, err := openStore(name)
	require.NoError(t, err)
	require.NoError(t, s.put(result{Key: "a", Fate: survived, By: map[string]string{"unit": ""}}))
	require.NoError(t, s.put(result{Key: "b", Fate: invalid}))
	require.NoError(t, s.put(result{Key: "a", Fate: killed, By: map[string]string{"unit": "TestA"}}))
	require.NoError(t, s.file.Close())

	s, err = openStore(name)
	require.NoError(t, err)
	r, ok := s.get("a")
	assert.True(t, ok)
	assert.Equal(t, result{Key: "a", Fate: killed, By: map[string]string{"unit": "TestA"}}, r)
	_, ok = s.get("c")
	assert.False(t, ok)
	require.NoError(t, s.put(result{Key: "c"}))
	require.NoError(t, s.file.Close())
	lines, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, 4, strings.Count(string(lines), "\n"), "what is there stays")

	require.NoError(t, os.WriteFile(name, []byte("no JSON"), 0o600))
	_, err = openStore(name)
	assert.ErrorContains(t, err, "remove it")
}

// TestReport counts what is planted, by kind only where every kind was run, and asks
// for an explanation of each survivor.
func TestReport(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Dir(explained), 0o700))
	row := "| p/p.go:7 | `a < b` | <= for < | never equal |\n"
	require.NoError(t, os.WriteFile(explained, []byte(row), 0o600))
	all := func(unit, oracle, laws string) map[string]string {
		return map[string]string{"unit": unit, "oracle": oracle, "laws": laws}
	}
	var out strings.Builder
	open, err := report(&out, []tested{{"p", 9, kinds, []result{
		{Fate: invalid},
		{Fate: same},
		{Fate: killed, By: all("TestA", "", "TestLaws")},
		{Fate: killed, By: all("TestA", "FuzzP", "")},
		{Fate: killed, By: map[string]string{"unit": "TestA"}},
		{Fate: survived, File: "p/p.go", Line: 8, Source: "a < b", Fault: "<= for <", By: all("", "", "")},
		{Fate: survived, File: "p/p.go", Line: 9, Source: "a < b", Fault: ">= for <", By: all("", "", "")},
	}}})
	require.NoError(t, err)
	assert.Equal(t, 1, open)
	assert.Contains(t, out.String(), "| p | 9 | 7 | 2 | 5 | 3 | 60.0 % | 1 | 2 of 4 | 1 of 4 | 1 of 4 |\n")
	assert.Contains(t, out.String(), "| p/p.go:8 | `a < b` | <= for < |\n")
	assert.Contains(t, out.String(), "| p/p.go:9 | `a < b` | >= for < | not explained")
}
