// Command mutate plants small faults in a package, one at a time, and counts those
// that its tests notice: go run ./internal/mutate red codel
//
// A fault that does not compile, or that the compiler turns into the same program,
// does not count. The tests are run by kind: the laws of aqmtest, the oracles in the
// fuzz targets over their committed corpus, and everything else in the package. Each
// result goes to a file at once, and a second run goes on where the first ended. The
// table is in Markdown, with the survivors below it; SURVIVORS.md explains those that
// no test can kill.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

type options struct {
	workers, every, memory int
	factor                 float64
	all, again, quick      bool
	out                    string
}

func main() {
	var o options
	flag.IntVar(&o.workers, "workers", 2, "mutants that are tested at the same time")
	flag.IntVar(&o.every, "every", 1, "test only every n-th mutant: a sample")
	flag.IntVar(&o.memory, "memory", 2048, "MiB that a mutant may take; one that wants more is killed")
	flag.Float64Var(&o.factor, "timeout", 5, "a mutant may take as many times the processor's time as the package without a fault, and 1 s more")
	flag.BoolVar(&o.all, "all", false, "run every kind of test on every mutant, for the table by kind; otherwise stop at the first kill")
	flag.BoolVar(&o.quick, "quick", false, "run only tests of the package that take 50 ms or less: a lower bound in minutes; without it, those that survived are tested further")
	flag.BoolVar(&o.again, "again", false, "test those again that survived: new tests may kill them")
	flag.StringVar(&o.out, "out", filepath.Join("out", "mutants.jsonl"), "file of results, one JSON object a line; those in it are not tested again")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/mutate [flags] FOLDER...\n\nPlants faults in the packages, one at a time, and counts those that the tests notice.\nRun it in the root of the repository. A package is built once with all its mutants; each then takes as long as the tests\nthat it does not break. For all packages, half an hour on two cores.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || o.workers < 1 || o.every < 1 || o.memory < 1 || !(o.factor >= 1) {
		flag.Usage()
		os.Exit(2)
	}
	open, err := run(o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	if open > 0 {
		fmt.Fprintf(os.Stderr, "mutate: %d survivors without an explanation: write a test that fails, or a row in %s\n", open, explained)
		os.Exit(1)
	}
}

// tested is a package and what became of its mutants.
type tested struct {
	dir     string
	faults  int
	kinds   []string
	results []result
}

func run(o options, dirs []string) (open int, err error) {
	s, err := openStore(o.out)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.file.Close()) }()
	var packages []tested
	for _, dir := range dirs {
		p, err := mutate(o, s, filepath.Clean(dir))
		if err != nil {
			return 0, err
		}
		packages = append(packages, p)
	}
	return report(os.Stdout, packages)
}

// mutate tests the mutants of the package in dir that the store does not know yet.
func mutate(o options, s *store, dir string) (tested, error) {
	mutants, err := plant(dir)
	if err != nil {
		return tested{}, err
	}
	p := tested{dir: dir, faults: len(mutants), kinds: kindsFor(dir)}
	var todo, sample []mutant
	for i := 0; i < len(mutants); i += o.every {
		m := mutants[i]
		sample = append(sample, m)
		r, ok := s.get(m.key())
		if !ok || r.Fate == survived && (o.again || !o.quick && !r.every(p.kinds)) || o.all && r.By != nil && !r.every(p.kinds) {
			todo = append(todo, m)
		}
	}
	if len(todo) > 0 {
		l, err := newLab(o, dir, mutants)
		if err != nil {
			return tested{}, err
		}
		defer os.RemoveAll(l.tmp)
		if err := l.testAll(s, todo); err != nil {
			return tested{}, err
		}
	}
	for _, m := range sample {
		if r, ok := s.get(m.key()); ok {
			p.results = append(p.results, r)
		}
	}
	return p, nil
}
