package catalog

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/aqmtest"
	"github.com/aqmkit/aqmkit/ecnpolicy"
)

const root = "../.."

// notAlgorithms are the folders at the top that hold something else.
var notAlgorithms = map[string]bool{
	"aqm": true, "ecnpolicy": true, "internal": true, "bench": true, "datapath": true, "docs": true, "scripts": true, "bin": true, "out": true,
}

// TestEveryAlgorithmIsListed fails for an algorithm's folder that is missing here.
func TestEveryAlgorithmIsListed(t *testing.T) {
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	listed := map[string]bool{"": true}
	for _, e := range All() {
		listed[e.Package] = true
	}
	for _, dir := range entries {
		if dir.IsDir() && !strings.HasPrefix(dir.Name(), ".") && !notAlgorithms[dir.Name()] {
			assert.True(t, listed[dir.Name()], "the algorithm in folder %s is not in the catalog", dir.Name())
		}
	}
	for name := range listed {
		assert.DirExists(t, root+"/"+name, "the catalog names a folder that is not there")
	}
}

// siblingFiles are the files that every algorithm's package has.
var siblingFiles = []string{
	"doc.go", "config.go", "%.go", "%_test.go", "property_test.go", "fuzz_test.go", "example_test.go", "bench_test.go",
}

func TestSiblingsLookAlike(t *testing.T) {
	for _, e := range All() {
		if e.Package == "" {
			continue
		}
		for _, file := range siblingFiles {
			assert.FileExists(t, root+"/"+e.Package+"/"+strings.ReplaceAll(file, "%", e.Package))
		}
		doc, err := os.ReadFile(root + "/" + e.Package + "/doc.go")
		require.NoError(t, err)
		for _, heading := range []string{"# Source", "# Law", "# Defaults", "# Deviations"} {
			assert.Contains(t, string(doc), "// "+heading+"\n", e.Package)
		}
	}
}

func source() rand.Source { return rand.NewPCG(1, 2) }

// TestConstructors builds every algorithm over links from 1 Mb/s to 100 Gb/s.
func TestConstructors(t *testing.T) {
	names := map[string]bool{}
	for _, e := range All() {
		assert.False(t, names[e.Name], "listed twice: %s", e.Name)
		names[e.Name] = true
		for _, rate := range []uint64{1e6, 50e6, 1e9, 100e9} {
			for _, rtt := range []time.Duration{100 * time.Microsecond, 20 * time.Millisecond, 200 * time.Millisecond} {
				for _, flows := range []int{1, 8, 1000} {
					a, err := e.New(rate, rtt, flows, source())
					if err != nil { // outside the law's domain
						require.ErrorIs(t, err, aqm.ErrConfig, e.Name)
						require.Nil(t, a)
						continue
					}
					require.NotNil(t, a)
				}
			}
		}
		a, err := e.New(50e6, 20*time.Millisecond, 8, source())
		require.NoError(t, err, e.Name)
		require.NotNil(t, a)
		for _, make := range []Make{e.Default, e.Paper} {
			a, err := make(source())
			require.NoError(t, err, e.Name)
			require.NotNil(t, a)
		}
	}
}

// TestLaws holds every algorithm, in each of its configurations, to the laws of the
// contract.
func TestLaws(t *testing.T) {
	for _, e := range All() {
		for name, make := range map[string]Make{
			"default": e.Default, "paper": e.Paper,
			"50Mbps": func(src rand.Source) (aqm.AQM, error) { return e.New(50e6, 20*time.Millisecond, 8, src) },
			"policy": func(src rand.Source) (aqm.AQM, error) {
				a, err := e.Default(src)
				if err != nil {
					return nil, err
				}
				return ecnpolicy.New(a, ecnpolicy.Config{Protect: ecnpolicy.ACKSYN, Carry: true, MarkLimit: 0.5})
			},
		} {
			t.Run(e.Name+"/"+name, func(t *testing.T) {
				var opts []aqmtest.Option
				if name != "policy" { // Carry keeps a signal for the next packet, however late that is
					opts = append(opts, aqmtest.Forgets(time.Hour))
				}
				aqmtest.TestAQM(t, func(src rand.Source) aqm.AQM {
					a, err := make(src)
					if err != nil {
						panic(err)
					}
					return a
				}, opts...)
			})
		}
	}
}

// TestVectors has the vectors that concern every algorithm: Q3 sends the four
// codepoints through each, at every load.
func TestVectors(t *testing.T) {
	t.Run("Q3", func(t *testing.T) {
		for _, e := range All() {
			for name, make := range map[string]Make{"default": e.Default, "paper": e.Paper} {
				err := aqmtest.Check(func(src rand.Source) aqm.AQM {
					a, err := make(src)
					if err != nil {
						panic(err)
					}
					return a
				}, aqmtest.Only("not-ect", "ce", "ect"))
				assert.NoError(t, err, "%s, %s", e.Name, name)
			}
		}
	})
}

// TestSizes prints what packets touch of an instance; what only signals, updates and
// configurations do is behind a pointer. The bound is two cache lines.
func TestSizes(t *testing.T) {
	for _, e := range All() {
		a, err := e.Default(source())
		require.NoError(t, err)
		typ := reflect.TypeOf(a)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		t.Logf("%-10s %4d bytes", e.Name, typ.Size())
		assert.LessOrEqual(t, typ.Size(), uintptr(128), e.Name)
	}
}

func TestFind(t *testing.T) {
	e, err := Find("threshold")
	require.NoError(t, err)
	assert.Equal(t, "threshold", e.Package)
	_, err = Find("blue")
	assert.ErrorContains(t, err, `unknown algorithm "blue"; there are droptail, threshold`)
}

// TestReadme holds the README's table to the catalog.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(root + "/README.md")
	require.NoError(t, err)
	for _, e := range All() {
		row := "| " + e.Title + " | " + e.DecidesAt + " | " + e.Source + " | "
		assert.Contains(t, string(readme), row, "the README's table of algorithms")
	}
}
