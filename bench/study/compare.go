package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Alpha is the chance, at most, that any decision of a family is wrong.
const Alpha = .05

// Comparison is a measure of two schemes, seed by seed.
type Comparison struct {
	Measure string  `json:"measure"`
	A       string  `json:"a"` // point and scheme
	B       string  `json:"b"`
	Ratio   bool    `json:"ratio,omitempty"` // Diff and the interval are those of A/B, else of A - B
	N       int     `json:"n"`               // pairs
	MeanA   float64 `json:"mean_a"`
	MeanB   float64 `json:"mean_b"`
	Diff    float64 `json:"diff"`
	P       float64 `json:"p"`     // two-sided, of no difference; not corrected
	Level   float64 `json:"alpha"` // of the interval; corrected
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`

	family   *Family
	mean, se float64 // of the differences, in logs for a ratio
	dist     distuv.StudentsT
}

// test is the hypothesis that a comparison's true value is the limit.
type test struct {
	c       *Comparison
	limit   float64
	p       float64
	alpha   float64
	decided bool
}

// Family are the comparisons on which one claim rests. It comes from [Judge].
type Family struct {
	data  *Data
	comps map[string]*Comparison
	tests map[string]*test
	used  map[string]bool // in this pass
	final bool
}

// Judge has judge make a claim of comparisons. It is called until the tests that it
// asks for are those that were corrected together, and so must ask for the same ones
// again whenever the verdicts are the same.
func Judge(d *Data, judge func(*Family) Claim) Claim {
	f := &Family{data: d, tests: map[string]*test{}}
	var c Claim
	for range 8 {
		f.comps, f.used = map[string]*Comparison{}, map[string]bool{}
		before := len(f.tests)
		c = judge(f)
		if f.final && len(f.tests) == before {
			break
		}
		f.holm()
		f.final = true
	}
	return c
}

// Compare returns A - B of a measure, paired by seed.
func (f *Family) Compare(measure, pointA, schemeA, pointB, schemeB string) *Comparison {
	return f.compare(measure, pointA, schemeA, pointB, schemeB, false)
}

// Ratio returns A/B of a measure, paired by seed. Both must be greater than 0.
func (f *Family) Ratio(measure, pointA, schemeA, pointB, schemeB string) *Comparison {
	return f.compare(measure, pointA, schemeA, pointB, schemeB, true)
}

func (f *Family) compare(measure, pointA, schemeA, pointB, schemeB string, ratio bool) *Comparison {
	c := &Comparison{Measure: measure, A: key(pointA, schemeA), B: key(pointB, schemeB), Ratio: ratio, family: f}
	if old := f.comps[c.id()]; old != nil {
		return old
	}
	a, b := f.data.pairs(measure, pointA, schemeA, pointB, schemeB)
	c.fill(a, b)
	c.Level = Alpha / float64(max(1, len(f.tests)))
	if least := f.level(c.id()); least > 0 {
		c.Level = least
	}
	c.Lo, c.Hi = c.interval(c.Level)
	f.comps[c.id()] = c
	return c
}

// level returns the level of the strictest test of a comparison; 0 without one.
func (f *Family) level(comparison string) (alpha float64) {
	for _, t := range f.tests {
		if t.c.id() == comparison && (alpha == 0 || t.alpha < alpha) {
			alpha = t.alpha
		}
	}
	return alpha
}

func (c *Comparison) id() string {
	return fmt.Sprintf("%s|%s|%s|%t", c.Measure, c.A, c.B, c.Ratio)
}

// fill computes everything but the interval.
func (c *Comparison) fill(a, b []float64) {
	c.N, c.MeanA, c.MeanB = len(a), mean(a), mean(b)
	d := make([]float64, len(a))
	for i := range d {
		if d[i] = a[i] - b[i]; c.Ratio {
			d[i] = math.Log(a[i] / b[i])
		}
	}
	c.mean = mean(d)
	ss := 0.
	for _, x := range d {
		ss += (x - c.mean) * (x - c.mean)
	}
	n := float64(len(d))
	c.dist = distuv.StudentsT{Sigma: 1, Nu: n - 1}
	c.se = math.Inf(1) // with one pair nothing can be said
	if n >= 2 {
		c.se = math.Sqrt(ss / (n - 1) / n)
	}
	c.Diff = c.back(c.mean)
	c.P = c.p(c.forth(c.none()))
}

// none is the value of no difference.
func (c *Comparison) none() float64 {
	if c.Ratio {
		return 1
	}
	return 0
}

func (c *Comparison) forth(x float64) float64 {
	if c.Ratio {
		return math.Log(x)
	}
	return x
}

func (c *Comparison) back(x float64) float64 {
	if c.Ratio {
		return math.Exp(x)
	}
	return x
}

// p returns the two-sided p-value of the hypothesis that the mean is at.
func (c *Comparison) p(at float64) float64 {
	switch {
	case math.IsNaN(c.mean) || math.IsInf(c.mean, 0) || math.IsInf(c.se, 1):
		return 1
	case c.se == 0 && c.mean == at:
		return 1
	case c.se == 0:
		return 0
	}
	return 2 * c.dist.CDF(-math.Abs(c.mean-at)/c.se)
}

// interval returns Student's interval at 1 - alpha.
func (c *Comparison) interval(alpha float64) (lo, hi float64) {
	if c.N < 2 || math.IsNaN(c.mean) {
		return c.back(math.Inf(-1)), c.back(math.Inf(1))
	}
	w := c.se * c.dist.Quantile(1-alpha/2)
	return c.back(c.mean - w), c.back(c.mean + w)
}

// Below says whether the difference, or ratio, is below the limit: it fails if it is
// above it.
func (c *Comparison) Below(limit float64) Verdict {
	switch t := c.test(limit); {
	case !t.decided:
		return Undecided
	case c.mean < c.forth(limit):
		return Holds
	}
	return Fails
}

// Above says whether the difference, or ratio, is above the limit: it fails if it is
// below it.
func (c *Comparison) Above(limit float64) Verdict { return Not(c.Below(limit)) }

// Within says whether the difference, or ratio, lies between the limits.
func (c *Comparison) Within(lo, hi float64) Verdict { return And(c.Above(lo), c.Below(hi)) }

// String returns the value with its interval, and the two means.
func (c *Comparison) String() string {
	if c.Ratio {
		return fmt.Sprintf("%s %.4g, %s %.4g: ratio %.4g [%.4g, %.4g]", c.A, c.MeanA, c.B, c.MeanB, c.Diff, c.Lo, c.Hi)
	}
	return fmt.Sprintf("%s %.4g, %s %.4g: %+.4g [%+.4g, %+.4g]", c.A, c.MeanA, c.B, c.MeanB, c.Diff, c.Lo, c.Hi)
}

func (c *Comparison) test(limit float64) *test {
	f := c.family
	id := fmt.Sprintf("%s|%v", c.id(), limit)
	f.used[id] = true
	t := f.tests[id]
	if t == nil {
		t = &test{c: c, limit: limit, p: c.p(c.forth(limit))}
		f.tests[id] = t
	}
	return t
}

// holm decides the tests that the last pass asked for: the smallest p-value against
// Alpha/m, the next against Alpha/(m-1), and so on up to the first that is not smaller
// [Holm 1979].
func (f *Family) holm() {
	var all []*test
	var ids []string
	for id := range f.tests {
		if f.used[id] {
			ids = append(ids, id)
		} else {
			delete(f.tests, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		all = append(all, f.tests[id])
	}
	slices.SortStableFunc(all, func(a, b *test) int { return cmp.Compare(a.p, b.p) })
	alpha, open := Alpha, true
	for i, t := range all {
		if open {
			alpha = Alpha / float64(len(all)-i)
			open = t.p < alpha
		}
		t.alpha, t.decided = alpha, open
	}
}
