package cost

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// Share is a place in the code with what it costs of every packet.
type Share struct {
	Place string  `json:"place"` // function, or file:line
	NS    float64 `json:"ns"`
}

// Profile is where the time of a regime goes: both decisions and the loop around
// them.
type Profile struct {
	Algorithm string  `json:"algorithm"`
	Regime    string  `json:"regime"`
	NS        float64 `json:"ns"` // per packet
	Samples   int64   `json:"samples"`
	Functions []Share `json:"functions"`
	Lines     []Share `json:"lines"`
}

// RunProfiles profiles every regime of the algorithms with these names for the given
// time.
func RunProfiles(names []string, each time.Duration, progress func(done, of int, what string)) ([]Profile, error) {
	if progress == nil {
		progress = func(int, int, string) {}
	}
	type task struct {
		name string
		g    regime.Regime
	}
	var tasks []task
	for _, name := range names {
		if _, err := catalog.Find(name); err != nil {
			return nil, err
		}
		for _, g := range regime.For(name) {
			tasks = append(tasks, task{name, g})
		}
	}
	var all []Profile
	for i, t := range tasks {
		progress(i, len(tasks), t.name+", "+t.g.Name)
		p, err := profiled(newInstance(t.g), each)
		if err != nil {
			return nil, err
		}
		p.Algorithm, p.Regime = t.name, t.g.Name
		all = append(all, p)
	}
	return all, nil
}

func profiled(i *instance, each time.Duration) (Profile, error) {
	defer thread()()
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		return Profile{}, fmt.Errorf("cost: %w", err)
	}
	began, n := cpuTime(), 0
	for cpuTime()-began < each {
		i.pairs()
		n += packets
	}
	ns := float64(cpuTime()-began) / float64(n)
	pprof.StopCPUProfile()
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		return Profile{}, fmt.Errorf("cost: %w", err)
	}
	return attribute(p, ns), nil
}

// attribute spreads ns over the places where the samples were taken: the function,
// inlined ones included, and its line.
func attribute(p *profile.Profile, ns float64) Profile {
	functions, lines := map[string]int64{}, map[string]int64{}
	r := Profile{NS: ns}
	for _, s := range p.Sample {
		if len(s.Location) == 0 || len(s.Location[0].Line) == 0 {
			continue
		}
		at := s.Location[0].Line[0] // the innermost
		name := strings.TrimPrefix(at.Function.Name, "github.com/aqmkit/aqmkit/")
		functions[name] += s.Value[0]
		lines[fmt.Sprintf("%s %s:%d", name, path.Base(at.Function.Filename), at.Line)] += s.Value[0]
		r.Samples += s.Value[0]
	}
	shares := func(counts map[string]int64) []Share {
		var all []Share
		for place, n := range counts {
			all = append(all, Share{place, ns * float64(n) / float64(r.Samples)})
		}
		slices.SortFunc(all, func(a, b Share) int { return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Place, b.Place)) })
		return all
	}
	r.Functions, r.Lines = shares(functions), shares(lines)
	return r
}

// WriteProfiles writes the profiles for people, with the most expensive lines.
func WriteProfiles(w io.Writer, all []Profile, most int) error {
	for _, p := range all {
		fmt.Fprintf(w, "%s, %s: %.2f ns per packet at either end together, %d samples\n", p.Algorithm, p.Regime, p.NS, p.Samples)
		t := newTable(w)
		for _, part := range [][]Share{p.Functions, p.Lines} {
			for _, s := range part[:min(most, len(part))] {
				fmt.Fprintf(t, "%.2f\t%.0f %%\t\t%s\n", s.NS, 100*s.NS/p.NS, s.Place)
			}
			fmt.Fprintln(t, "\t\t\t")
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
