package hadoop

import (
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/bench/study"
	"github.com/aqmkit/aqmkit/internal/shuffle"
)

// TestSchemes: every scheme of the grid can be built for every port.
func TestSchemes(t *testing.T) {
	for _, g := range append(groups(true), groups(false)...) {
		for _, s := range g.schemes {
			for i, rate := range []uint64{cluster.EdgeRate, cluster.CoreRate} {
				_, err := s.make(1, shuffle.Port{Rate: rate, Index: i})
				require.NoError(t, err, "%v at %d", s, rate)
			}
		}
	}
	_, err := scheme{aqm: "blue"}.make(1, shuffle.Port{Rate: 1e9})
	assert.Error(t, err)
}

// TestPlan: names are unique, every point has drop-tail to compare with, on no fewer
// seeds than any other scheme, and each scheme that a claim rests on has the seeds to
// judge it by, the same first ones everywhere.
func TestPlan(t *testing.T) {
	for _, full := range []bool{false, true} {
		p, err := plan(study.Options{Full: full, Seed: 101})
		require.NoError(t, err)
		seen := map[string]bool{}
		seeds := map[string]int{}
		for _, c := range p.Cells {
			require.False(t, seen[c.ID()], c.ID())
			seen[c.ID()] = true
			if c.Point != outside {
				require.Equal(t, uint64(101+seeds[c.Point+"/"+c.Scheme]), c.Seed)
			}
			seeds[c.Point+"/"+c.Scheme]++
		}
		if full {
			assert.LessOrEqual(t, len(p.Cells), 4900, "an hour on two cores")
		}
		for _, g := range groups(full) {
			if g.seeds == insideSeeds {
				continue // compared with themselves alone
			}
			dt := g.point.String() + "/droptail"
			for _, s := range g.schemes {
				assert.GreaterOrEqual(t, seeds[dt], seeds[g.point.String()+"/"+s.String()], "%v %v", g.point, s)
			}
		}
		if !full {
			continue
		}
		for _, c := range claims(world(.01, fastest)) {
			for _, part := range c.Parts {
				if part.Aside {
					continue
				}
				require.NotEmpty(t, part.Comparisons, part.Text)
				for _, k := range part.Comparisons {
					least := mainSeeds
					if c.ID == "H5" {
						least = sweepSeeds
					}
					assert.GreaterOrEqual(t, seeds[k.A], least, "%s: %s", c.ID, k.A)
					assert.True(t, k.B == "" || seeds[k.B] >= least, "%s: %s", c.ID, k.B)
				}
			}
		}
	}
	p, err := plan(study.Options{Seed: 9, Seeds: 1})
	require.NoError(t, err)
	for _, c := range p.Cells {
		assert.Equal(t, uint64(9), c.Seed)
	}
}

// TestRun: a small cell runs, gives the same twice, and has every measure that the
// report looks up; the default mode drops what ACK+SYN protects.
func TestRun(t *testing.T) {
	job := terasort
	job.Output, job.MapTime = 1<<20, job.MapTime/50
	run := func(p point, s scheme) map[string]float64 {
		c := configure(p, s, 1, job)
		c.Network.Nodes = 3
		r, err := shuffle.Run(c)
		require.NoError(t, err)
		return measures(r, p.mixed).Values
	}
	p := at(deep, "dctcp")
	p.mixed = true
	def := run(p, scheme{aqm: "redi", target: 50 * us, mode: "default"})
	assert.Equal(t, def, run(p, scheme{aqm: "redi", target: 50 * us, mode: "default"}))
	safe := run(p, scheme{aqm: "redi", target: 50 * us, mode: "acksyn"})
	all := run(p, scheme{aqm: "redi", target: 50 * us, mode: "all"})
	assert.Positive(t, def["ack_early_pct"])
	assert.Zero(t, safe["control_early_pct"])
	assert.Positive(t, safe["other_early"])
	for _, class := range classes {
		assert.Zero(t, all[class+"_early"], class)
	}
	assert.Positive(t, all["mark_pct"])
	dt := run(p, droptail)
	assert.Zero(t, dt["mark_pct"])
	assert.Greater(t, dt["lat_mean_us"], safe["lat_mean_us"])
	assert.Zero(t, dt["probe_loss_pct"])
	assert.Positive(t, def["probe_loss_pct"])
}

// TestFlood: an ACK flood against a port that protects ACKs, with and without a budget:
// what keeps the queue full, and what does not.
func TestFlood(t *testing.T) {
	by := map[string]guard{}
	for _, g := range guards() {
		by[g.name] = g
	}
	run := func(flood int, name string) map[string]float64 {
		require.Contains(t, by, name)
		m, err := runFlood(flood, by[name], 1, floodWarm+.05)
		require.NoError(t, err)
		return m.Values
	}
	none := run(0, "redi-acksyn-budget")
	assert.Greater(t, none["in_mbps"], 800.)
	assert.Greater(t, none["out_mbps"], 800.)
	assert.Zero(t, none["ack_loss_pct"], "the budget is enough for honest ACKs")
	open, held := run(1, "redi-acksyn"), run(1, "redi-acksyn-budget")
	assert.Greater(t, open["queue_packets"], .9*deep)
	assert.Less(t, held["queue_packets"], .2*deep)
	assert.InEpsilon(t, 1000, open["flood_mbps"], .05)
}

// TestOutside: two flows under a threshold fill 10 Gb/s; RED leaves some of it.
func TestOutside(t *testing.T) {
	k, err := runTenGig(tenGig{kind: "dctcp", queue: "k65"}, changes[0], 1)
	require.NoError(t, err)
	assert.Greater(t, k.Values["gbps"], 9.5)
	red, err := runTenGig(tenGig{kind: "ecn", queue: "red-50-150"}, changes[0], 1)
	require.NoError(t, err)
	assert.Less(t, red.Values["gbps"], 9.5)
}

// world is made-up results: a function of point, scheme and measure, and a little noise
// that is not shared.
func world(noise float64, value func(p point, s scheme, measure string) float64) *study.Data {
	var all []*study.Result
	seen := map[string]bool{}
	for _, g := range groups(true) {
		for _, s := range g.schemes {
			if s.extra != "" || seen[g.point.String()+s.String()] {
				continue
			}
			seen[g.point.String()+s.String()] = true
			for seed := range uint64(8) {
				v := map[string]float64{}
				for _, m := range []string{
					"run_s", "thr_mbps", "lat_mean_us", "queue_mean_us", "control_above", "control_early_pct", "data_loss_pct", "handshakes_pm", "stalls_pm",
					"plain_mean_ms", "probe_loss_pct",
				} {
					h := fnv.New64a()
					_, _ = h.Write([]byte(string(rune('a'+seed)) + g.point.String() + s.String() + m))
					u := float64(h.Sum64()>>11)/(1<<53) - .5
					v[m] = value(g.point, s, m) * (1 + noise*u)
				}
				all = append(all, &study.Result{Point: g.point.String(), Scheme: s.String(), Seed: seed, Measures: study.Measures{Values: v}})
			}
		}
	}
	return study.NewData(all)
}

// ideal is a world in which every claim holds.
func ideal(p point, s scheme, measure string) float64 {
	k := s.aqm == "k" || s.aqm == "ks"
	dt := s.aqm == "droptail"
	unsafe := s.mode == "default"
	pick := func(isDT, isK, isUnsafe, other float64) float64 {
		switch {
		case dt:
			return isDT
		case k:
			return isK
		case unsafe:
			return isUnsafe
		}
		return other
	}
	switch measure {
	case "run_s":
		return pick(1.5, 1.5, 3, 1.5)
	case "thr_mbps":
		if dt && p.buffer == shallow {
			return 600
		}
		return pick(800, 802, 400, 800)
	case "lat_mean_us", "queue_mean_us":
		if dt && p.buffer == shallow {
			return 600
		}
		return pick(2000, 150, 250, 200)
	case "control_above", "control_early_pct":
		return pick(0, 0, 1, 0)
	case "handshakes_pm":
		return pick(0, 0, 20, .1)
	case "stalls_pm":
		return pick(0, 0, 300, 2)
	case "plain_mean_ms":
		return pick(5, 1, 20, map[bool]float64{true: 1, false: 10}[s.mode == "all"])
	case "probe_loss_pct":
		return pick(0, 0, 1, map[bool]float64{true: 0, false: 2}[s.mode == "all"])
	}
	return 0
}

// fastest is a world in which every point of the sweeps beats every threshold.
func fastest(_ point, s scheme, measure string) float64 {
	better := s.aqm != "k" && s.aqm != "ks"
	switch {
	case measure == "thr_mbps" && better, measure == "lat_mean_us" && !better:
		return 900
	case measure == "thr_mbps", measure == "lat_mean_us":
		return 300
	}
	return 1
}

// TestClaims judges made-up worlds: one in which all claims hold, for each claim one in
// which it fails, and one that is too noisy to tell.
func TestClaims(t *testing.T) {
	judges := map[string]func(*study.Data) study.Claim{"H1": h1, "H2": h2, "H3": h3, "H4": h4, "H5": h5, "H6": h6}
	verdicts := func(d *study.Data) (all []string) {
		for _, c := range claims(d) {
			assert.NotEmpty(t, c.Text)
			assert.NotEmpty(t, c.Parts, c.ID)
			all = append(all, c.ID+" "+c.Verdict.String())
		}
		return all
	}
	assert.Equal(t, []string{"H1 holds", "H2 holds", "H3 holds", "H4 holds", "H5 holds", "H6 holds"}, verdicts(world(.01, ideal)))
	for _, w := range []struct {
		fails string
		value func(p point, s scheme, measure string) float64
	}{
		{"H1", func(p point, s scheme, m string) float64 { // the data are lost just as much
			if m == "control_above" && s.mode == "default" && s.aqm == "red" {
				return -1
			}
			return ideal(p, s, m)
		}},
		{"H1", func(p point, s scheme, m string) float64 { // it costs no handshakes
			if m == "handshakes_pm" && s.mode == "default" && s.aqm == "codel" {
				return .1
			}
			return ideal(p, s, m)
		}},
		{"H1", func(p point, s scheme, m string) float64 { // the cost does not vanish
			if m == "handshakes_pm" && s.mode == "acksyn" {
				return 3
			}
			return ideal(p, s, m)
		}},
		{"H2", func(p point, s scheme, m string) float64 {
			if m == "run_s" && p.tcp == "dctcp" && p.buffer == shallow {
				return 1.4 + map[bool]float64{true: .1}[s.aqm == "droptail"]
			}
			return ideal(p, s, m)
		}},
		{"H3", func(p point, s scheme, m string) float64 {
			if m == "lat_mean_us" && s.mode == "acksyn" && p.tcp == "ecn" {
				return 400
			}
			return ideal(p, s, m)
		}},
		{"H4", func(p point, s scheme, m string) float64 {
			if m == "thr_mbps" && p.buffer == shallow && s.aqm == "k" {
				return 750
			}
			return ideal(p, s, m)
		}},
		{"H5", func(p point, s scheme, m string) float64 {
			if s.String() == "codel-200us-ece" && p.buffer == deep {
				return map[string]float64{"thr_mbps": 850, "lat_mean_us": 120}[m]
			}
			return ideal(p, s, m)
		}},
		{"H6", func(p point, s scheme, m string) float64 {
			if m == "probe_loss_pct" && s.mode == "all" {
				return .5
			}
			return ideal(p, s, m)
		}},
		{"H6", func(p point, s scheme, m string) float64 {
			if m == "plain_mean_ms" && s.mode == "default" && s.aqm == "codel" {
				return 4
			}
			return ideal(p, s, m)
		}},
	} {
		c := judges[w.fails](world(.01, w.value))
		assert.Equal(t, study.Fails, c.Verdict, "%s: %s", w.fails, c.Numbers)
	}
	noisy := world(1.9, ideal)
	for _, id := range []string{"H2", "H3", "H4"} {
		assert.Equal(t, study.Undecided, judges[id](noisy).Verdict, id)
	}
	for _, c := range claims(study.NewData(nil)) {
		assert.Equal(t, study.Undecided, c.Verdict, "%s: there is nothing to go by", c.ID)
	}
}

// TestFront: who is beaten by nobody.
func TestFront(t *testing.T) {
	a, b, c := scheme{aqm: "k", target: 50 * us}, scheme{aqm: "k", target: 100 * us}, scheme{aqm: "k", target: 200 * us}
	p := at(deep, "ecn")
	value := map[scheme][2]float64{a: {700, 100}, b: {690, 200}, c: {800, 300}}
	d := world(0, func(_ point, s scheme, m string) float64 {
		switch m {
		case "thr_mbps":
			return value[s][0]
		case "lat_mean_us":
			return value[s][1]
		}
		return 0
	})
	assert.Equal(t, []scheme{a, c}, front(d, p.String(), []scheme{a, b, c}))
}

// TestReport: it is made of any data, whole or not, and its figures can be drawn.
func TestReport(t *testing.T) {
	for _, d := range []*study.Data{world(.01, ideal), study.NewData(nil)} {
		r, err := report(study.Options{Full: true}, d)
		require.NoError(t, err)
		assert.Len(t, r.Claims, 6)
		names := map[string]bool{}
		for _, s := range r.Sections {
			for _, tab := range s.Tables {
				for _, row := range tab.Rows {
					assert.Len(t, row, len(tab.Columns), tab.Title)
				}
			}
			for i := range s.Figures {
				assert.False(t, names[s.Figures[i].Name], s.Figures[i].Name)
				names[s.Figures[i].Name] = true
			}
		}
		for _, s := range r.Sections {
			if len(s.Figures) > 0 {
				_, err := s.Figures[0].SVG()
				require.NoError(t, err)
			}
		}
	}
	for _, p := range Parameters() {
		assert.NotEmpty(t, p.Value)
		assert.NotEmpty(t, p.Source, p.Name)
	}
}
