package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// survivor is a row of SURVIVORS.md.
type survivor struct {
	files                []string
	source, fault, cause string
}

// places are what a row's first cell has: files with line numbers.
var places = regexp.MustCompile(`^([^\s:,|]+\.go):\d+(, |$)`)

// survivors reads the rows of a list in the form of SURVIVORS.md.
func survivors(list string) (rows []survivor, err error) {
	const hidden = "\x00"
	for i, line := range strings.Split(list, "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| place |") {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, hidden), "|")
		if len(cells) != 6 || cells[5] != "" {
			return nil, fmt.Errorf("line %d has %d cells, want 4: %s", i+1, len(cells)-2, line)
		}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), hidden, "|")
		}
		s := survivor{source: cells[2], fault: cells[3], cause: cells[4]}
		for place := cells[1]; place != ""; {
			m := places.FindStringSubmatch(place)
			if m == nil {
				return nil, fmt.Errorf("line %d is at no place: %s", i+1, line)
			}
			s.files, place = append(s.files, m[1]), place[len(m[0]):]
		}
		if len(s.source) < 3 || s.source[0] != '`' || s.source[len(s.source)-1] != '`' || s.fault == "" || s.cause == "" {
			return nil, fmt.Errorf("line %d says not what is where: %s", i+1, line)
		}
		s.source = strings.Trim(s.source, "`")
		rows = append(rows, s)
	}
	return rows, nil
}

// stale returns the places of s, in a tree at root, that have no such line any more.
func (s survivor) stale(root string) (gone []string, err error) {
	for _, name := range s.files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		found := false
		for line := range strings.Lines(string(text)) {
			found = found || strings.TrimSpace(line) == s.source
		}
		if !found {
			gone = append(gone, name)
		}
	}
	return gone, nil
}

// TestSurvivorsStand finds the line of every row of SURVIVORS.md in its file: where it
// has changed, the row excuses nothing, or something else.
func TestSurvivorsStand(t *testing.T) {
	list, err := os.ReadFile(filepath.Base(explained))
	require.NoError(t, err)
	rows, err := survivors(string(list))
	require.NoError(t, err)
	assert.NotEmpty(t, rows)
	for _, s := range rows {
		gone, err := s.stale(filepath.Join("..", ".."))
		assert.NoError(t, err)
		for _, name := range gone {
			t.Errorf("no line of %s is, any more,\n\t%s\nfor which %s has the fault: %s. Does what the line became survive it? Then correct the row, else delete it", name, s.source, explained, s.fault)
		}
	}
}

// TestSurvivors reads rows, and misses lines that have gone.
func TestSurvivors(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.go"), []byte("package a\n\n\tif a || b { // why\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "b.go"), []byte("if a || b {\n"), 0o600))
	rows, err := survivors("# Survivors\n\n| place | line | fault | why |\n| --- | --- | --- | --- |\n" +
		"| a.go:1 | `if a \\|\\| b { // why` | \\|\\| for && | as above |\n| a.go:3, b.go:4 | `if a \\|\\| b {` | a | b |\n| c.go:1 | `c` | a | b |\n")
	require.NoError(t, err)
	require.Equal(t, []survivor{
		{[]string{"a.go"}, "if a || b { // why", "|| for &&", "as above"},
		{[]string{"a.go", "b.go"}, "if a || b {", "a", "b"},
		{[]string{"c.go"}, "c", "a", "b"},
	}, rows)
	for i, want := range [][]string{nil, {"a.go"}} {
		gone, err := rows[i].stale(root)
		require.NoError(t, err)
		assert.Equal(t, want, gone, rows[i].source)
	}
	_, err = rows[2].stale(root)
	assert.ErrorIs(t, err, os.ErrNotExist)

	for _, wrong := range []string{
		"| a.go:1 | `x` | y |", "| a.go:1 | `x | z` | y | w |", "| a.go | `x` | y | w |", "| a.go:1 | x | y | w |",
		"| a.go:1; b.go:2 | `x` | y | w |", "| a.go:1 | `x` |  | w |", "| a.go:1 | `x` | y |  |", "|  | `x` | y | w | v |",
	} {
		_, err := survivors(wrong)
		assert.Error(t, err, wrong)
	}
}
