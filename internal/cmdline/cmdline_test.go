package cmdline

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "plot.svg")
	broken := errors.New("interrupted")
	half := func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return broken }
	require.ErrorIs(t, WriteFile(name, half), broken)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, files, "nothing half-written is left")
	require.NoError(t, WriteFile(name, func(w io.Writer) error { _, err := io.WriteString(w, "old"); return err }))
	require.ErrorIs(t, WriteFile(name, half), broken)
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, "old", string(got))
	assert.Error(t, WriteFile(filepath.Join(dir, "no", "file"), half))
}

func TestRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"50M": 50e6, "50Mbit/s": 50e6, "2.5Gb/s": 2.5e9, "100kbps": 100e3, "1500000": 15e5, "8bit": 8,
		"2.3M": 2.3e6, "0.1": 0.1, "-1M": -1e6, "Inf": Rate(math.Inf(1)), "1e300G": Rate(math.Inf(1)),
	} {
		var r Rate
		require.NoError(t, r.UnmarshalText([]byte(text)))
		assert.Equal(t, want, r, text)
	}
	for _, text := range []string{"", "M", "NaN", "1 M", "50MB"} {
		var r Rate
		assert.Error(t, r.UnmarshalText([]byte(text)), text)
	}
	assert.Equal(t, "2.5 Gb/s 50 Mb/s 1 kb/s 8 bit/s", strings.Join([]string{Rate(2.5e9).String(), Rate(50e6).String(), Rate(1e3).String(), Rate(8).String()}, " "))
}
