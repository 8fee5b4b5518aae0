package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sandbox is a module of one package and its test, with which the test then works.
func sandbox(t *testing.T, source, test string) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	require.NoError(t, os.Mkdir("p", 0o700))
	for name, text := range map[string]string{"go.mod": "module sandbox\n\ngo 1.26\n", "p/p.go": source, "p/p_test.go": test} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

const counter = `package p

import "math"

type Counter struct{ n int }

func (c *Counter) Add(by int) {
	if by > 0 {
		c.n += by
	}
}

func (c *Counter) Half() (half int) {
	unused := 0
	unused = c.n
	half = int(math.Floor(float64(c.n) / 2))
	return half + 0*unused
}

func (c *Counter) Wait() {
	for i := c.n; i > 0; i-- {
	}
}
`

const counterTest = `package p

import "testing"

func TestCounter(t *testing.T) {
	var c Counter
	c.Add(7)
	if c.n != 7 || c.Half() != 3 {
		t.Fatal(c.n, c.Half())
	}
}

func TestWait(*testing.T) {
	c := Counter{7}
	c.Wait()
}
`

// TestCombine builds one binary with every mutant, and expects each fault from it
// when it is selected, and none otherwise.
func TestCombine(t *testing.T) {
	if testing.Short() {
		t.Skip("builds test binaries")
	}
	sandbox(t, counter, counterTest)
	mutants, err := plant("p")
	require.NoError(t, err)
	c, err := newChecker("p")
	require.NoError(t, err)
	var valid []mutant
	for _, m := range mutants {
		if c.compiles(m) {
			valid = append(valid, m)
		}
	}
	require.NotEmpty(t, valid)
	tmp := t.TempDir()
	binary, err := buildAll(tmp, "p", "p", valid)
	require.NoError(t, err, "what compiles alone compiles together")

	b := batch{"unit", ".", binary, "p", 1} // a second is the least
	out, _, err := b.test(0, 1024)
	require.NoError(t, err, "%s", out)
	fates := map[string]string{}
	for _, m := range valid {
		fate := survived
		if out, _, err := b.test(m.id, 1024); err != nil {
			fate = killer(out, err)
		}
		fates[m.text+": "+m.what] = fate
	}
	assert.Equal(t, "TestCounter", fates["c.n += by: -= for +="])
	assert.Equal(t, "TestCounter", fates["if by > 0 {: a condition that is never true"])
	assert.Equal(t, survived, fates["if by > 0 {: >= for >"], "it adds 0")
	assert.Equal(t, "timeout", fates["for i := c.n; i > 0; i-- {: ++ for --"])
	assert.Equal(t, survived, fates["unused = c.n: a statement left out"])
	assert.Equal(t, "TestCounter", fates["half = int(math.Floor(float64(c.n) / 2)): (2 + 1) for 2"])
}

// TestMemory sees a program end that wants more than it may have.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test binary")
	}
	sandbox(t, "package p\n", `package p

import "testing"

func TestGreedy(t *testing.T) {
	var all [][]byte
	for range 1 << 20 {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 1
		}
		all = append(all, b)
	}
	t.Log(len(all))
}
`)
	binary, err := build(t.TempDir(), "p", nil)
	require.NoError(t, err)
	b := batch{"unit", ".", binary, "p", 60e9}
	out, _, err := b.test(0, 256)
	require.Error(t, err)
	assert.Equal(t, "memory", killer(out, err))
}

// TestSameProgram compares a fault without an effect, and one with.
func TestSameProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds test binaries")
	}
	sandbox(t, "package p\n\nfunc F(x uint) bool { return x >= 1 }\n", "package p\n\nimport \"testing\"\n\nfunc TestF(*testing.T) { F(2) }\n")
	read := func(source string) []byte {
		files := map[string][]byte{}
		if source != "" {
			files[filepath.Join("p", "p.go")] = []byte(source)
		}
		path, err := build(t.TempDir(), "p", files)
		require.NoError(t, err)
		binary, err := os.ReadFile(path)
		require.NoError(t, err)
		return binary
	}
	original := read("")
	assert.Equal(t, len(original), len(read("package p\n\nfunc F(x uint) bool { return x >= 1+0 }\n")))
	assert.True(t, string(original) == string(read("package p\n\nfunc F(x uint) bool { return x >= 1+0 }\n")))
	assert.False(t, string(original) == string(read("package p\n\nfunc F(x uint) bool { println(x); return x >= 2 }\n")))
}
