// Command mutate plants small faults in a package, one at a time, and counts those
// that its tests notice: go run ./internal/mutate red codel
//
// A mutant is compiled from an overlay, so that the work tree stays as it is. One
// that does not compile, or that the compiler turns into the same program, does not
// count. The tests are run by kind, and the table says which kind kills how many:
// the laws of aqmtest, the oracles in the fuzz targets over their committed corpus,
// and everything else in the package. Survivors are listed with their line.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"
)

func main() {
	workers := flag.Int("workers", 2, "mutants that are tested at the same time")
	every := flag.Int("every", 1, "test only every n-th mutant: a sample")
	all := flag.Bool("all", false, "run every kind of test on every mutant, for the table by kind; otherwise stop at the first kill")
	timeout := flag.Duration("timeout", 60*time.Second, "for the tests of one mutant; a mutant that takes longer is killed")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/mutate [flags] FOLDER...\n\nPlants faults in the packages, one at a time, and counts those that the tests notice.\nRun it in the root of the repository. An hour for six packages on two cores.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || *workers < 1 || *every < 1 {
		flag.Usage()
		os.Exit(2)
	}
	for _, dir := range flag.Args() {
		if err := mutate(dir, *workers, *every, *all, *timeout); err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(1)
		}
	}
}

// kinds are the kinds of test, the cheapest to run first.
var kinds = []string{"unit", "oracle", "laws"}

// command returns the go test arguments of one kind for the package in dir.
func command(kind, dir string) []string {
	switch kind {
	case "oracle":
		return []string{"-run", "^Fuzz|^TestTimer|^TestLazy|Oracle", "./" + dir}
	case "laws":
		return []string{"-run", "^TestLaws$/^" + filepath.Base(dir) + "$", "./internal/catalog"}
	}
	return []string{"-skip", "^Fuzz|^TestTimer|^TestLazy|Oracle", "./" + dir}
}

type outcome struct {
	mutant
	invalid bool
	killed  map[string]bool
}

func mutate(dir string, workers, every int, all bool, timeout time.Duration) error {
	mutants, err := plant(dir)
	if err != nil {
		return err
	}
	var sample []mutant
	for i := 0; i < len(mutants); i += every {
		sample = append(sample, mutants[i])
	}
	outcomes := make([]outcome, len(sample))
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				outcomes[i] = test(sample[i], dir, all, timeout)
			}
		})
	}
	start := time.Now()
	for i := range sample {
		next <- i
		fmt.Fprintf(os.Stderr, "\r%s: %d of %d mutants, %v", dir, i+1, len(sample), time.Since(start).Round(time.Second))
	}
	close(next)
	wg.Wait()
	fmt.Fprintln(os.Stderr)
	report(dir, outcomes, all)
	return nil
}

// test runs the tests of each kind on one mutant.
func test(m mutant, dir string, all bool, timeout time.Duration) outcome {
	o := outcome{mutant: m, killed: map[string]bool{}}
	tmp, err := os.MkdirTemp("", "mutant")
	if err != nil {
		o.invalid = true
		return o
	}
	defer os.RemoveAll(tmp)
	file := filepath.Join(tmp, "mutant.go")
	abs, _ := filepath.Abs(m.file)
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{abs: file}})
	if os.WriteFile(file, m.source, 0o600) != nil || os.WriteFile(filepath.Join(tmp, "overlay.json"), overlay, 0o600) != nil {
		o.invalid = true
		return o
	}
	for _, kind := range kinds {
		args := append([]string{"test", "-vet=off", "-count=1", "-failfast", "-overlay", filepath.Join(tmp, "overlay.json")}, command(kind, dir)...)
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		cmd := exec.CommandContext(ctx, "go", args...)
		killTree(cmd) // a mutant in an endless loop is a grandchild, and goes on allocating
		out, err := cmd.CombinedOutput()
		timedOut := ctx.Err() != nil
		cancel()
		if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) {
			o.invalid = true
			return o
		}
		if err != nil || timedOut {
			o.killed[kind] = true
			if !all {
				return o
			}
		}
	}
	return o
}

func report(dir string, outcomes []outcome, all bool) {
	planted, killed := 0, 0
	by := map[string]int{}
	var survivors []string
	for _, o := range outcomes {
		if o.invalid {
			continue
		}
		planted++
		if len(o.killed) == 0 {
			survivors = append(survivors, fmt.Sprintf("  %s:%d: %s", o.file, o.line, o.what))
			continue
		}
		killed++
		for kind := range o.killed {
			by[kind]++
		}
	}
	fmt.Printf("%s: %d of %d mutants killed, %.1f %%", dir, killed, planted, 100*float64(killed)/float64(max(planted, 1)))
	if all {
		var parts []string
		for _, kind := range kinds {
			parts = append(parts, fmt.Sprintf("%s %d", kind, by[kind]))
		}
		fmt.Printf(" (by %s)", strings.Join(parts, ", "))
	}
	fmt.Println()
	sort.Strings(survivors)
	for _, s := range survivors {
		fmt.Println(s)
	}
}
