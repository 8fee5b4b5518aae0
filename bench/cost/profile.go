package cost

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Share is a place in the code with what it costs of every packet.
type Share struct {
	Place string  `json:"place"` // function, or file:line
	NS    float64 `json:"ns"`
}

// Profile is where the time of a regime goes, with the loop around it.
type Profile struct {
	Algorithm string  `json:"algorithm"`
	Regime    string  `json:"regime"`
	Kind      string  `json:"kind"` // "both decisions" or "FIFO round trip"
	NS        float64 `json:"ns"`   // per packet
	Samples   int64   `json:"samples"`
	Functions []Share `json:"functions"`
	Lines     []Share `json:"lines"`
}

// timedLabel is on the samples of a profile that are of what is timed, and not of
// what prepares it.
const timedLabel = "timed"

// RunProfiles profiles every regime of the algorithms with these names, both
// decisions and the round trip, each for the given time.
func RunProfiles(names []string, each time.Duration, progress func(done, of int, what string)) ([]Profile, error) {
	tasks, err := tasks(names)
	if err != nil {
		return nil, err
	}
	steps := newSteps(2*len(tasks), progress)
	all := []Profile{}
	for _, t := range tasks {
		for _, k := range []struct {
			kind string
			run  *run
		}{{"both decisions", pairs(t.regime)}, {"FIFO round trip", roundTrips(t.regime)}} {
			steps.next(t.algorithm + ", " + t.regime.Name + ", " + k.kind)
			p, err := profiled(k.run, each)
			if err != nil {
				return nil, err
			}
			p.Algorithm, p.Regime, p.Kind = t.algorithm, t.regime.Name, k.kind
			all = append(all, p)
		}
	}
	return all, nil
}

func profiled(r *run, each time.Duration) (Profile, error) {
	defer thread()()
	runtime.GC() // what the regimes before have left
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		return Profile{}, fmt.Errorf("cost: %w", err)
	}
	var took time.Duration
	n := 0
	for took < each {
		r.prepare()
		pprof.Do(context.Background(), pprof.Labels(timedLabel, "yes"), func(context.Context) {
			start := cpuTime()
			r.pass()
			took += cpuTime() - start
		})
		n += packets
	}
	pprof.StopCPUProfile()
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		return Profile{}, fmt.Errorf("cost: %w", err)
	}
	return attribute(p, float64(took)/float64(n)), nil
}

// attribute spreads ns over the places where the samples were taken: the function,
// inlined ones included, and its line.
func attribute(p *profile.Profile, ns float64) Profile {
	functions, lines := map[string]int64{}, map[string]int64{}
	r := Profile{NS: ns}
	for _, s := range p.Sample {
		if s.Label[timedLabel] == nil || len(s.Location) == 0 || len(s.Location[0].Line) == 0 {
			continue
		}
		at := s.Location[0].Line[0] // the innermost
		name := strings.TrimPrefix(at.Function.Name, "github.com/aqmkit/aqmkit/")
		functions[name] += s.Value[0]
		lines[fmt.Sprintf("%s %s:%d", name, path.Base(at.Function.Filename), at.Line)] += s.Value[0]
		r.Samples += s.Value[0]
	}
	shares := func(counts map[string]int64) []Share {
		all := []Share{}
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
		fmt.Fprintf(w, "%s, %s: %s, %.2f ns per packet, %d samples\n", p.Algorithm, p.Regime, p.Kind, p.NS, p.Samples)
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
