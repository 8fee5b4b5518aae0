// Command corpus chooses the inputs of a fuzz target that are committed with it:
// go run ./internal/corpus -fuzz 20s pie FuzzPIE
//
// It lets the fuzzer run, and takes what that has found so far, and the beginnings of
// inputs that are too long. Of these it keeps, in testdata/fuzz, the few that
// together reach what all of them reach, each statement in as many ways as there is
// room for. What was committed before is among the candidates.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

func main() {
	fuzz := flag.String("fuzz", "0s", "how long the fuzzer runs first; 0s = not at all")
	keep := flag.Int("keep", 20, "inputs to keep, at most")
	size := flag.Int("size", 250, "bytes of a kept input, at most")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/corpus [flags] FOLDER TARGET\n\nChooses the inputs that are committed with a fuzz target. Run it in the root of the repository.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 || *keep < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := choose(flag.Arg(0), flag.Arg(1), *fuzz, *keep, *size); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func choose(dir, target, fuzz string, keep, size int) error {
	pkg := "./" + filepath.ToSlash(filepath.Clean(dir))
	if fuzz != "0s" {
		if _, err := run("", "go", "test", "-run", "^$", "-fuzz", "^"+target+"$", "-fuzztime", fuzz, pkg); err != nil {
			return err
		}
	}
	committed := filepath.Join(dir, "testdata", "fuzz", target)
	inputs, err := candidates(pkg, target, committed, size)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	reached, err := coverage(tmp, pkg, target, inputs)
	if err != nil {
		return err
	}
	chosen := cover(reached, inputs, keep)
	if err := os.RemoveAll(committed); err != nil {
		return err
	}
	if err := write(committed, inputs, chosen); err != nil {
		return err
	}
	all, some := map[string]bool{}, map[string]bool{}
	for i, blocks := range reached {
		for _, b := range blocks {
			all[b] = true
		}
		for _, c := range chosen {
			if c == i {
				for _, b := range blocks {
					some[b] = true
				}
			}
		}
	}
	fmt.Printf("%s %s: kept %d inputs of %d, which reach %d of %d blocks\n", dir, target, len(chosen), len(inputs), len(some), len(all))
	return nil
}

// candidates returns what is committed and what the fuzzer keeps in its cache, as
// the files have it, and beginnings of those that are longer than size.
func candidates(pkg, target, committed string, size int) ([]string, error) {
	path, err := run("", "go", "list", pkg)
	if err != nil {
		return nil, err
	}
	cache, err := run("", "go", "env", "GOCACHE")
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, dir := range []string{committed, filepath.Join(strings.TrimSpace(cache), "fuzz", filepath.FromSlash(strings.TrimSpace(path)), target)} {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			for _, n := range []int{size, size / 2, size / 4} {
				if short, ok := shorten(string(content), n); ok {
					found[short] = true
				}
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no inputs of %s in %s or the fuzzer's cache: let the fuzzer run with -fuzz", target, committed)
	}
	var inputs []string
	for input := range found {
		inputs = append(inputs, input)
	}
	sort.Strings(inputs)
	return inputs, nil
}

// shorten cuts every string of bytes in an input to the first n.
func shorten(content string, n int) (string, bool) {
	lines := strings.Split(strings.TrimSpace(content), "\n")
	for i, line := range lines[1:] {
		quoted, ok := strings.CutPrefix(line, "[]byte(")
		if !ok {
			continue
		}
		value, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
		if err != nil {
			return "", false
		}
		lines[i+1] = "[]byte(" + strconv.Quote(value[:min(n, len(value))]) + ")"
	}
	return strings.Join(lines, "\n") + "\n", true
}

// name returns the name that the go command gives an input's file.
func name(input string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(input)))[:16] }

// coverage returns which blocks of statements each input reaches, in the package and
// its oracle.
func coverage(tmp, pkg, target string, inputs []string) ([][]string, error) {
	binary := filepath.Join(tmp, "target.test")
	if _, err := run("", "go", "test", "-c", "-covermode=set", "-coverpkg="+pkg+",./internal/oracle", "-o", binary, pkg); err != nil {
		return nil, err
	}
	every := make([]int, len(inputs))
	for i := range every {
		every[i] = i
	}
	if err := write(filepath.Join(tmp, "testdata", "fuzz", target), inputs, every); err != nil {
		return nil, err
	}
	var reached [][]string
	profile := filepath.Join(tmp, "profile")
	for _, input := range inputs {
		if _, err := run(tmp, binary, "-test.run", "^"+target+"$/^"+name(input)+"$", "-test.coverprofile", profile); err != nil {
			return nil, err
		}
		content, err := os.ReadFile(profile)
		if err != nil {
			return nil, err
		}
		var blocks []string
		for line := range strings.Lines(string(content)) {
			if block, ok := strings.CutSuffix(strings.TrimSpace(line), " 1"); ok {
				blocks = append(blocks, block)
			}
		}
		reached = append(reached, blocks)
	}
	return reached, nil
}

// cover chooses inputs one by one: the one that reaches most of what few of the
// chosen reach, and of equals the shortest.
func cover(reached [][]string, inputs []string, keep int) (chosen []int) {
	times := map[string]int{}
	taken := map[int]bool{}
	for len(chosen) < min(keep, len(inputs)) {
		best, bestGain := -1, 0.0
		for i, blocks := range reached {
			if taken[i] {
				continue
			}
			gain := 0.0
			for _, b := range blocks {
				gain += 1 / float64(uint64(1)<<min(4*times[b], 60))
			}
			if best < 0 || gain > bestGain || gain == bestGain && len(inputs[i]) < len(inputs[best]) {
				best, bestGain = i, gain
			}
		}
		taken[best] = true
		chosen = append(chosen, best)
		for _, b := range reached[best] {
			times[b]++
		}
	}
	return chosen
}

func write(dir string, inputs []string, which []int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, i := range which {
		if err := os.WriteFile(filepath.Join(dir, name(inputs[i])), []byte(inputs[i]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// run runs a program in dir and returns what it prints.
func run(dir, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out), nil
}
