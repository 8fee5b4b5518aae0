package study

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// coin is a study whose truth is known: scheme b is better than a by gain at the point
// "high", and the same at "low".
func coin(gain float64) *Study {
	plan := func(o Options) (*Plan, error) {
		p := &Plan{Parameters: map[string]float64{"gain": gain}}
		for _, point := range []string{"low", "high"} {
			for _, scheme := range []string{"a", "b"} {
				for seed := o.Seed; seed < o.Seed+uint64(o.SeedsOr(8)); seed++ {
					p.Cells = append(p.Cells, Cell{Point: point, Scheme: scheme, Seed: seed, Run: func() (*Measures, error) {
						common := rand.New(rand.NewPCG(seed, 1)).NormFloat64() * 10
						own := rand.New(rand.NewPCG(seed, uint64(len(point)+2*int(scheme[0])))).NormFloat64()
						x := 100 + common + own
						if point == "high" && scheme == "b" {
							x += gain
						}
						return &Measures{Values: map[string]float64{"x": x}, Curves: map[string][]float64{"c": {0, x, 2 * x}}}, nil
					}})
				}
			}
		}
		return p, nil
	}
	report := func(o Options, d *Data) (*Report, error) {
		claim := Judge(d, func(f *Family) Claim {
			high, low := f.Compare("x", "high", "b", "high", "a"), f.Compare("x", "low", "b", "low", "a")
			parts := []Part{
				{Text: "better at high", Verdict: high.Above(0), Numbers: high.String(), Comparisons: []*Comparison{high}},
				{Text: "close at low", Verdict: low.Within(-5, 5), Numbers: low.String(), Comparisons: []*Comparison{low}},
			}
			return Claim{ID: "C1", Text: "b is better at high, and close at low", Verdict: Rest(parts), Numbers: high.String(), Parts: parts}
		})
		return &Report{
			Title: "A study of <coins>", Lead: "Nothing but numbers.", Claims: []Claim{claim},
			Sections: []Section{{
				Title: "Means", Text: "By scheme.",
				Tables: []Table{{Title: "x", Columns: []string{"scheme", "low", "high"}, Rows: [][]string{
					{"a", fmt.Sprintf("%.1f", d.Mean("low", "a", "x")), fmt.Sprintf("%.1f", d.Mean("high", "a", "x"))},
					{"b", fmt.Sprintf("%.1f", d.Mean("low", "b", "x")), fmt.Sprintf("%.1f", d.Mean("high", "b", "x"))},
				}}},
				Figures: []Figure{
					{Name: "curve", Title: "The curve", XLabel: "place", YLabel: "x", Series: []Series{
						{Name: "a", X: []float64{1, 2, 3}, Y: d.Curve("high", "a", "c")}, {Name: "b", X: []float64{1, 2, 3}, Y: d.Curve("high", "b", "c"), Dashed: true},
					}},
					{Name: "log", Title: "On logarithmic axes", LogX: true, LogY: true, Series: []Series{{X: []float64{0, 1, 10}, Y: []float64{1, 1, 100}, Points: true}}},
					{Name: "empty", Title: "Nothing to show"},
				},
			}},
		}, nil
	}
	return &Study{Name: "coin", Title: "A study of <coins>", Plan: plan, Report: report}
}

func verdict(t *testing.T, s *Study, o Options) Claim {
	t.Helper()
	out, err := s.Run(o, Shard{}, nil, 2, nil)
	require.NoError(t, err)
	r, err := s.Report(o, out.Data())
	require.NoError(t, err)
	return r.Claims[0]
}

func TestJudge(t *testing.T) {
	assert.Equal(t, Holds, verdict(t, coin(8), Options{Seed: 1}).Verdict)
	assert.Equal(t, Fails, verdict(t, coin(-8), Options{Seed: 1}).Verdict)
	assert.Equal(t, Undecided, verdict(t, coin(0), Options{Seed: 1}).Verdict)
	assert.Equal(t, Undecided, verdict(t, coin(8), Options{Seed: 1, Seeds: 1}).Verdict, "one seed says nothing")
	// Pairing takes out what the seeds have in common: the interval is that of the
	// schemes' own noise, not ten times as wide.
	c := verdict(t, coin(8), Options{Seed: 1}).Parts[0].Comparisons[0]
	assert.Less(t, c.Hi-c.Lo, 8.)
	assert.Less(t, c.Level, Alpha)
}

// TestWrong is the promise of the correction: no wrong decision in 95 of 100 families
// at least, when nothing differs.
func TestWrong(t *testing.T) {
	const families, comparisons, seeds = 400, 20, 6
	r := rand.New(rand.NewPCG(1, 1))
	wrong := 0
	for range families {
		var results []*Result
		for k := range comparisons {
			for _, scheme := range []string{"a", "b"} {
				for s := range uint64(seeds) {
					results = append(results, &Result{Point: fmt.Sprint(k), Scheme: scheme, Seed: s, Measures: Measures{Values: map[string]float64{"x": r.NormFloat64()}}})
				}
			}
		}
		decided := false
		Judge(NewData(results), func(f *Family) Claim {
			for k := range comparisons {
				c := f.Compare("x", fmt.Sprint(k), "a", fmt.Sprint(k), "b")
				decided = c.Below(0) != Undecided || k > 0 && decided
			}
			return Claim{}
		})
		if decided {
			wrong++
		}
	}
	// 5 % of 400 are 20, with a standard deviation of 4.4.
	assert.Less(t, wrong, 34)
	assert.Positive(t, wrong, "never wrong is not 95 %")
}

// TestInterval has Student's own example: the additional hours of sleep that a drug
// gave ten patients [Student 1908]: t = -4.0621, p = 0.00283, interval -2.46 to -0.70.
func TestInterval(t *testing.T) {
	one := []float64{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}
	two := []float64{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	var results []*Result
	for i := range one {
		for k, x := range [][]float64{one, two} {
			results = append(results, &Result{Point: "sleep", Scheme: fmt.Sprint(k + 1), Seed: uint64(i), Measures: Measures{Values: map[string]float64{"x": x[i]}}})
		}
	}
	Judge(NewData(results), func(f *Family) Claim {
		c := f.Compare("x", "sleep", "1", "sleep", "2")
		if v := c.Below(0); f.final {
			assert.Equal(t, Holds, v)
			assert.InDelta(t, .002833, c.P, 1e-6)
			assert.InDelta(t, -2.4598858, c.Lo, 1e-6)
			assert.InDelta(t, -.7001142, c.Hi, 1e-6)
			assert.InDelta(t, -1.58, c.Diff, 1e-12)
		}
		return Claim{}
	})
}

// TestHolm has p-values that Holm's procedure treats each in its own way.
func TestHolm(t *testing.T) {
	f := &Family{tests: map[string]*test{}, used: map[string]bool{}}
	for i, p := range []float64{.04, .01, .03, .005} {
		id := fmt.Sprint(i)
		f.tests[id], f.used[id] = &test{p: p}, true
	}
	f.holm()
	// .005 < .05/4 and .01 < .05/3, but .03 > .05/2; .04 < .05 comes too late.
	var decided []bool
	for i := range 4 {
		decided = append(decided, f.tests[fmt.Sprint(i)].decided)
	}
	assert.Equal(t, []bool{false, true, false, true}, decided)
	assert.InDelta(t, .025, f.tests["0"].alpha, 1e-15)
}

func TestKleene(t *testing.T) {
	all := []Verdict{Undecided, Holds, Fails}
	value := map[Verdict]int{Fails: 0, Undecided: 1, Holds: 2}
	for _, a := range all {
		assert.Equal(t, 2-value[a], value[Not(a)])
		for _, b := range all {
			assert.Equal(t, min(value[a], value[b]), value[And(a, b)])
			assert.Equal(t, max(value[a], value[b]), value[Or(a, b)])
		}
	}
	assert.Equal(t, Holds, Rest([]Part{{Verdict: Holds}, {Verdict: Fails, Aside: true}}))
}

func TestRatio(t *testing.T) {
	var results []*Result
	for s := range uint64(6) {
		x := 1 + float64(s)
		results = append(results,
			&Result{Point: "p", Scheme: "a", Seed: s, Measures: Measures{Values: map[string]float64{"x": 2 * x * (1 + .001*float64(s%2)), "zero": 0}}},
			&Result{Point: "p", Scheme: "b", Seed: s, Measures: Measures{Values: map[string]float64{"x": x, "zero": 1}}})
	}
	c := Judge(NewData(results), func(f *Family) Claim {
		return Claim{Verdict: And(f.Ratio("x", "p", "a", "p", "b").Within(1.9, 2.1), Not(f.Ratio("x", "p", "a", "p", "b").Above(3)))}
	})
	assert.Equal(t, Holds, c.Verdict)
	c = Judge(NewData(results), func(f *Family) Claim {
		return Claim{Verdict: f.Ratio("zero", "p", "a", "p", "b").Below(1)}
	})
	assert.Equal(t, Undecided, c.Verdict, "a ratio of nothing says nothing")
}

// TestShards has every way to split a run give the bytes of a run in one piece.
func TestShards(t *testing.T) {
	s, o := coin(1), Options{Seed: 3, Seeds: 2}
	var whole bytes.Buffer
	out, err := s.Run(o, Shard{}, nil, 1, nil)
	require.NoError(t, err)
	require.NoError(t, out.WriteJSON(&whole))
	for of := 1; of <= 5; of++ {
		var parts []*Output
		for i := of; i >= 1; i-- {
			part, err := s.Run(o, Shard{i, of}, nil, 3, nil)
			require.NoError(t, err)
			var b bytes.Buffer
			require.NoError(t, part.WriteJSON(&b))
			part, err = ReadOutput(&b)
			require.NoError(t, err)
			parts = append(parts, part)
		}
		merged, err := s.Merge(parts)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, merged.WriteJSON(&b))
		assert.Equal(t, whole.String(), b.String())
		if of > 1 {
			_, err = s.Merge(parts[1:])
			assert.ErrorContains(t, err, "is a shard missing?")
			_, err = s.Merge(append(parts, parts[0]))
			assert.ErrorContains(t, err, "is in two outputs")
			_, err = coin(2).Merge(parts)
			assert.ErrorContains(t, err, "other parameters")
			parts[0].Study = "dice"
			_, err = s.Merge(parts)
			assert.ErrorContains(t, err, `of the study "dice"`)
		}
	}
	_, err = s.Merge(nil)
	assert.Error(t, err)
}

func TestRunErrors(t *testing.T) {
	s := coin(1)
	_, err := s.Run(Options{Seed: 1}, Shard{}, regexp.MustCompile("nowhere"), 1, nil)
	assert.ErrorContains(t, err, "none of the 32 cells")
	broken := func(m *Measures, err error) error {
		s := &Study{Name: "broken", Plan: func(Options) (*Plan, error) {
			return &Plan{Cells: []Cell{{Point: "p", Scheme: "s", Seed: 7, Run: func() (*Measures, error) { return m, err }}}}, nil
		}}
		_, err = s.Run(Options{}, Shard{}, nil, 1, nil)
		return err
	}
	assert.ErrorContains(t, broken(nil, errors.New("no power")), "p/s/7: no power")
	assert.ErrorContains(t, broken(&Measures{Values: map[string]float64{"x": math.NaN()}}, nil), "measure x = NaN")
	assert.ErrorContains(t, broken(&Measures{Curves: map[string][]float64{"c": {1, math.Inf(1)}}}, nil), "curve c[1] = +Inf")
	twice := &Study{Name: "twice", Plan: func(Options) (*Plan, error) { return &Plan{Cells: make([]Cell, 2)}, nil }}
	_, err = twice.Run(Options{}, Shard{}, nil, 1, nil)
	assert.ErrorContains(t, err, "is there twice")
}

func TestShardText(t *testing.T) {
	for _, text := range []string{"", "1", "0/2", "3/2", "a/b", "1/2/3", "-1/2"} {
		assert.Error(t, new(Shard).UnmarshalText([]byte(text)), text)
	}
	var s Shard
	require.NoError(t, s.UnmarshalText([]byte("2/4")))
	assert.Equal(t, Shard{2, 4}, s)
}

func TestText(t *testing.T) {
	s, o := coin(8), Options{Seed: 1}
	out, err := s.Run(o, Shard{}, nil, 2, nil)
	require.NoError(t, err)
	r, err := s.Report(o, out.Data())
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.WriteText(&b, o))
	assert.Contains(t, b.String(), "Indicative only")
	assert.Regexp(t, `(?m)^C1   holds      high/b`, b.String())
	b.Reset()
	require.NoError(t, r.WriteMarkdown(&b, Options{Full: true}))
	assert.Contains(t, b.String(), "| scheme | low | high |\n| --- | --- | --- |\n")
	assert.Contains(t, b.String(), "![The curve](figures/curve.svg)")
}
