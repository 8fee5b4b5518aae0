package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kinds are the kinds of test, in the order in which they are run.
var kinds = []string{"unit", "oracle", "laws"}

// kindsFor returns the kinds that the package in dir has.
func kindsFor(dir string) []string {
	if laws(dir) == "" {
		return kinds[:2]
	}
	return kinds
}

// oracles are the tests that run a package in lockstep with its oracle. The fuzz
// targets run over their committed corpus.
var oracles = regexp.MustCompile(`^Fuzz|^TestTimer|^TestLazy|Oracle`)

// laws names the tests of internal/catalog that hold the package in dir to the laws
// of aqmtest, if there are any.
func laws(dir string) string {
	switch dir {
	case "aqm":
		return "^TestLaws$/^droptail$" // no algorithm but the queue itself
	case "ecnpolicy":
		return "" // is in no entry of the catalog
	}
	return "^TestLaws$/^" + filepath.Base(dir) + "$"
}

// A batch is tests of one kind that run together, and how much of the processor's
// time they may take.
type batch struct {
	kind, run string
	binary    string
	dir       string // where it runs
	cpu       time.Duration
}

var passed = regexp.MustCompile(`(?m)^--- PASS: (\S+) \(([0-9.]+)s\)`)

// batches runs the tests of a package without a fault and sorts them: the quick ones
// first, which kill most of the mutants.
func batches(own, catalog, dir string, o options) ([]batch, error) {
	all := batch{"unit", ".", own, dir, 10 * time.Minute}
	out, _, err := all.test(0, o.memory)
	if err != nil {
		return nil, fmt.Errorf("the tests of ./%s fail without a fault: %w\n%s", dir, err, out)
	}
	limits := []float64{0.05, 0.5, math.Inf(1)} // s
	names := map[string][]string{}
	for _, m := range passed.FindAllStringSubmatch(string(out), -1) {
		took, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, err
		}
		kind := "unit"
		if oracles.MatchString(m[1]) {
			kind = "oracle"
		}
		key := kind + strconv.Itoa(slices.IndexFunc(limits, func(limit float64) bool { return took <= limit }))
		names[key] = append(names[key], m[1])
	}
	var sorted []batch
	for i := range limits {
		for _, kind := range kinds[:2] {
			if some := names[kind+strconv.Itoa(i)]; len(some) > 0 {
				sorted = append(sorted, batch{kind, "^(" + strings.Join(some, "|") + ")$", own, dir, time.Minute})
			}
		}
		if o.quick {
			break
		}
		if i == 1 && laws(dir) != "" {
			sorted = append(sorted, batch{"laws", laws(dir), catalog, "internal/catalog", time.Minute})
		}
	}
	for i := range sorted {
		b := &sorted[i]
		out, cpu, err := b.test(0, o.memory)
		if err != nil {
			return nil, fmt.Errorf("tests of ./%s fail without a fault: %w\n%s", b.dir, err, out)
		}
		b.cpu = time.Duration(o.factor*float64(cpu)) + time.Second
	}
	return sorted, nil
}

// test runs the batch on the mutant with that id, or on none, and returns what it
// says and how much of the processor's time it took. An error is a failure of a test,
// or the end of its time or memory.
func (b *batch) test(id, memory int) ([]byte, time.Duration, error) {
	// One that sleeps takes no time of the processor.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute+20*b.cpu)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.binary, "-test.v", "-test.failfast", "-test.paniconexit0", "-test.timeout=0", "-test.run", b.run)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), selector+"="+strconv.Itoa(id))
	out := new(head)
	cmd.Stdout, cmd.Stderr = out, out
	limited(cmd, memory, b.cpu)
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.Bytes(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// head keeps the first part of an output: a mutant may print without an end.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 1<<20 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// killer names what has killed a mutant.
func killer(out []byte, err error) string {
	switch {
	case outOfTime(err):
		return "timeout"
	case bytes.Contains(out, []byte("out of memory")), bytes.Contains(out, []byte("cannot allocate memory")):
		return "memory"
	}
	if m := failed.FindSubmatch(out); m != nil {
		return string(m[1])
	}
	return err.Error()
}
