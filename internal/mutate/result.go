package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The fates of a mutant. Those that are the same program or do not compile count
// neither as killed nor as planted.
const (
	killed   = "killed"
	survived = "survived"
	same     = "same program"
	invalid  = "does not compile"
)

// A result is one line of the file of results.
type result struct {
	Package string            `json:"package"`
	File    string            `json:"file"`
	Line    int               `json:"line"`
	Source  string            `json:"source"` // the line, before the fault
	Fault   string            `json:"fault"`
	Key     string            `json:"key"` // of the mutant's file
	Fate    string            `json:"fate"`
	By      map[string]string `json:"by,omitempty"` // kind of test: the test that killed it, or "" for none
}

// every reports whether each kind of test was run.
func (r *result) every(kinds []string) bool {
	return !slices.ContainsFunc(kinds, func(k string) bool { _, ok := r.By[k]; return !ok })
}

func (m *mutant) key() string {
	sum := sha256.Sum256(append([]byte(m.file+"\x00"+m.what+"\x00"), m.source...))
	return hex.EncodeToString(sum[:12])
}

// A store has the results of this run and of those before it. Each is in the file
// as soon as it is known, so that an interrupted run goes on where it ended.
type store struct {
	mu    sync.Mutex
	file  *os.File
	known map[string]result
}

func openStore(name string) (*store, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	s := &store{file: f, known: map[string]result{}}
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var r result
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return s, nil
		} else if err != nil {
			return nil, errors.Join(fmt.Errorf("%s is no file of results (remove it): %w", name, err), f.Close())
		}
		s.known[r.Key] = r
	}
}

func (s *store) get(key string) (result, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.known[key]
	return r, ok
}

func (s *store) put(r result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[r.Key] = r
	_, err = s.file.Write(append(line, '\n'))
	return err
}

// explained is the list of survivors that no test can kill.
const explained = "internal/mutate/SURVIVORS.md"

// report writes the table in Markdown, and the survivors below it in the form of the
// rows of SURVIVORS.md. It returns how many of them have no row there.
func report(w io.Writer, packages []tested) (int, error) {
	list, err := os.ReadFile(explained)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var out strings.Builder
	out.WriteString("| package | faults | tested | not a fault | planted | killed | score | survivors explained | by unit tests | by oracles | by laws |\n| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n")
	cell := strings.NewReplacer("|", `\|`)
	var survivors []string
	open := 0
	for _, p := range packages {
		known := 0
		counts := map[string]int{}
		by := map[string]int{}
		complete := 0
		for _, r := range p.results {
			counts[r.Fate]++
			if r.Fate == survived {
				note, id := "", fmt.Sprintf(" | `%s` | %s |", cell.Replace(r.Source), cell.Replace(r.Fault))
				if strings.Contains(string(list), id) { // by its text: the line may have moved
					known++
				} else {
					open++
					note = " not explained in " + explained
				}
				survivors = append(survivors, fmt.Sprintf("| %s:%d%s%s\n", r.File, r.Line, id, note))
			}
			if r.Fate != killed && r.Fate != survived || !r.every(p.kinds) {
				continue
			}
			complete++
			for kind, test := range r.By {
				if test != "" {
					by[kind]++
				}
			}
		}
		planted := counts[killed] + counts[survived]
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d | %d | %.1f %% | %d |", p.dir, p.faults, len(p.results), counts[same]+counts[invalid], planted,
			counts[killed], 100*float64(counts[killed])/float64(max(planted, 1)), known)
		for _, kind := range kinds {
			switch {
			case complete == 0 || !slices.Contains(p.kinds, kind):
				out.WriteString(" |")
			default:
				fmt.Fprintf(&out, " %d of %d |", by[kind], complete)
			}
		}
		out.WriteString("\n")
	}
	if len(survivors) > 0 {
		out.WriteString("\n" + strings.Join(survivors, ""))
	}
	_, err = io.WriteString(w, out.String())
	return open, err
}
