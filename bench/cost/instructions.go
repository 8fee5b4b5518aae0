package cost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/internal/regime"
)

// Instructions is how many instructions a packet takes, by algorithm, regime and
// kind: "decisions" at either end together, and a "FIFO" round trip; and an arrival
// under a policy, by what that has to do.
type Instructions struct {
	Go      string             `json:"go"`
	Arch    string             `json:"arch"`
	Packets int                `json:"packets"`
	Counts  map[string]float64 `json:"instructions_per_packet"`
}

// tolerance is by how much a count may rise over the baseline. Counts of the same
// program differ by less than a thousandth.
const tolerance = 0.03

// patience is how long one try may take: half a minute is usual, and a program in Go
// that stands still under valgrind does so for good.
const patience = 10 * time.Minute

// counted is the number of packets that are counted.
const counted = 20_000

// countedRun is what callgrind counts, by its name.
//
//go:noinline
func countedRun(run func()) { run() }

// countedRow is one count: prepare returns what is counted.
type countedRow struct {
	name    string
	prepare func() func()
}

// countedRows returns the rows of the algorithms with these names; nil are all, and
// what policies cost besides.
func countedRows(names []string) ([]countedRow, error) {
	all, err := tasks(names)
	if err != nil {
		return nil, err
	}
	var rows []countedRow
	for _, t := range all {
		g := t.regime
		rows = append(rows,
			countedRow{t.algorithm + "/" + g.Name + "/decisions", func() func() {
				a, now := g.Instance()
				return func() { g.Load.Pairs(a, now, counted) }
			}},
			countedRow{t.algorithm + "/" + g.Name + "/FIFO", func() func() {
				q := g.Queue()
				return func() { q.Pass(counted) }
			}})
	}
	if names == nil {
		for _, p := range regime.Policies() {
			rows = append(rows, countedRow{"policy/" + p.Name, func() func() {
				a, now := p.Under()
				return func() { p.Load.Enqueues(a, now, counted) }
			}})
		}
	}
	return rows, nil
}

// Counted runs, one after the other, what callgrind counts.
func Counted(names []string) error {
	rows, err := countedRows(names)
	for _, row := range rows {
		countedRun(row.prepare())
	}
	return err
}

// CountInstructions runs command, which must end up in Counted with the same names,
// under callgrind. That gives up on programs in Go now and then, and is asked again.
func CountInstructions(names, command []string) (Instructions, error) {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		return Instructions{}, errors.New("--instructions needs valgrind, which is not installed (Debian: apt-get install valgrind)")
	}
	for try := 1; ; try++ {
		r, err := count(valgrind, names, command)
		if err == nil || try == 3 {
			return r, err
		}
	}
}

func count(valgrind string, names, command []string) (Instructions, error) {
	folder, err := os.MkdirTemp("", "aqmbench-callgrind-")
	if err != nil {
		return Instructions{}, fmt.Errorf("cost: %w", err)
	}
	defer os.RemoveAll(folder)
	const function = "github.com/aqmkit/aqmkit/bench/cost.countedRun"
	args := append([]string{
		"--tool=callgrind", "--callgrind-out-file=" + filepath.Join(folder, "out"),
		"--toggle-collect=" + function, "--dump-after=" + function,
	}, command...)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, valgrind, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1", "GOGC=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		return Instructions{}, fmt.Errorf("cost: valgrind: %w: %s", err, lines[len(lines)-1])
	}
	r := Instructions{Go: runtime.Version(), Arch: runtime.GOARCH, Packets: counted, Counts: map[string]float64{}}
	rows, err := countedRows(names)
	for i, row := range rows {
		n, err := total(fmt.Sprintf("%s.%d", filepath.Join(folder, "out"), i+1))
		if err != nil {
			return Instructions{}, fmt.Errorf("cost: callgrind's count of %s: %w", row.name, err)
		}
		r.Counts[row.name] = float64(n) / counted
	}
	return r, err
}

// total returns the number of instructions in a dump of callgrind's.
func total(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		for _, key := range []string{"totals: ", "summary: "} {
			if value, ok := strings.CutPrefix(string(line), key); ok {
				return strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("%s has no total", filepath.Base(file))
}

// ReadBaseline reads what WriteJSON wrote.
func ReadBaseline(file string) (Instructions, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Instructions{}, fmt.Errorf("--baseline: %w", err)
	}
	var r Instructions
	if err := json.Unmarshal(text, &r); err != nil {
		return Instructions{}, fmt.Errorf("--baseline: %s: %w", file, err)
	}
	if len(r.Counts) == 0 {
		return Instructions{}, fmt.Errorf("--baseline: %s has no counts", file)
	}
	return r, nil
}

// Rises returns what is more than 3 % above the baseline, one line each, what the
// baseline does not know, and what only the baseline knows of the algorithms that were
// counted, which nil names are all. A baseline of another architecture or Go is an
// error.
func (r Instructions) Rises(baseline Instructions, names []string) ([]string, error) {
	switch {
	case r.Arch != baseline.Arch:
		return nil, fmt.Errorf("the baseline was counted on %s, and this is %s: counts of different architectures do not compare", baseline.Arch, r.Arch)
	case r.Go != baseline.Go:
		return nil, fmt.Errorf("the baseline was counted with %s, and this is %s, whose compiler counts for itself: take %s, or renew the baseline with --instructions --save FILE", baseline.Go, r.Go, baseline.Go)
	}
	var rises []string
	for _, row := range slices.Sorted(maps.Keys(r.Counts)) {
		was, ok := baseline.Counts[row]
		switch is := r.Counts[row]; {
		case !ok:
			rises = append(rises, fmt.Sprintf("%s: %.1f instructions, and none in the baseline", row, is))
		case is > was*(1+tolerance):
			rises = append(rises, fmt.Sprintf("%s: %.1f instructions, %.1f %% above the baseline's %.1f", row, is, 100*(is/was-1), was))
		}
	}
	for _, row := range slices.Sorted(maps.Keys(baseline.Counts)) {
		algorithm, _, _ := strings.Cut(row, "/")
		if _, ok := r.Counts[row]; !ok && (names == nil || slices.Contains(names, algorithm)) {
			rises = append(rises, fmt.Sprintf("%s: in the baseline, and no longer counted", row))
		}
	}
	return rises, nil
}

// WriteTable writes the counts for people, beside those of baseline if that has any.
func (r Instructions) WriteTable(w io.Writer, baseline Instructions) error {
	fmt.Fprintf(w, "Instructions per packet under callgrind, over %d packets (%s, %s)\n\n", r.Packets, r.Go, r.Arch)
	t := newTable(w)
	fmt.Fprint(t, "what\tinstructions\t")
	if baseline.Counts != nil {
		fmt.Fprint(t, "baseline\tchange\t")
	}
	fmt.Fprintln(t)
	for _, row := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(t, "%s\t%.1f\t", row, r.Counts[row])
		if was, ok := baseline.Counts[row]; ok {
			fmt.Fprintf(t, "%.1f\t%+.1f %%\t", was, 100*(r.Counts[row]/was-1))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
