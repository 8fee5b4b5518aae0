package web

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestMeans compares means with closed forms, and the numerical mean with both.
func TestMeans(t *testing.T) {
	cut := func(d Cut) float64 { // E[min(Max, X)] - Min, by the tail's integral
		a, k := d.Shape, d.Min
		return math.Pow(k, a) * (math.Pow(d.Max, 1-a) - math.Pow(k, 1-a)) / (1 - a)
	}
	for _, c := range []struct {
		d    Dist
		mean float64
	}{
		{Constant(7), 7},
		{Uniform{10, 150}, 80},
		{LogUniform{2, 435}, 433 / math.Log(435./2)},
		{Exponential{30}, 30},
		{Weibull{.5, 2, math.Inf(1)}, 2 * math.Gamma(3)},
		{Cut{1.1, 2, 55}, cut(Cut{1.1, 2, 55})},
		{Cut{2.43, 1, 100}, cut(Cut{2.43, 1, 100})},
		{Pareto{1.2, 651, 1e6}, 1.2 / .2 * 651 * (1 - math.Pow(651e-6, .2)) / (1 - math.Pow(651e-6, 1.2))},
		{Pareto{1, 1000, 2e6}, 1000 * math.Log(2000) / (1 - 1./2000)},
		{Moments(7758, 126168, 1e-9, 1e300), 7758}, // without bounds that matter
		{Moments(10710, 25032, 100, 2e6), Moments(10710, 25032, 100, 2e6).Mean()},
	} {
		assert.InEpsilon(t, c.mean, Mean(c.d), 2e-3, "%v", c.d)
		assert.InEpsilon(t, c.mean, integrate(c.d), 5e-3, "%v, numerically", c.d)
	}
	assert.InEpsilon(t, 5.64, Mean(CDMA2000().Embedded), 1e-3, "the mean that 3GPP2 states")
	assert.InEpsilon(t, 3000, Mean(PackMime().Main), .01, "RFC 5562's mean flow")
	assert.InEpsilon(t, 80, Mean(LogUniform{2, 435}), .01)
}

// TestTails has the distribution functions give back what the quantile functions were
// given.
func TestTails(t *testing.T) {
	for _, c := range []struct {
		d   Dist
		cdf func(x float64) float64
	}{
		{Exponential{30}, func(x float64) float64 { return 1 - math.Exp(-x/30) }},
		{Weibull{.382, 1.46, 1e9}, func(x float64) float64 { return 1 - math.Exp(-math.Pow(x/1.46, .382)) }},
		{Pareto{1.2, 651, 1e6}, func(x float64) float64 {
			return (1 - math.Pow(651/x, 1.2)) / (1 - math.Pow(651e-6, 1.2))
		}},
		{Cut{1.1, 2, 1e9}, func(x float64) float64 { return 1 - math.Pow(2/(x+2), 1.1) }},
		{Moments(7758, 126168, 50, 2e6), func(x float64) float64 {
			d := Moments(7758, 126168, 50, 2e6)
			phi := func(x float64) float64 { return .5 * (1 + math.Erf((math.Log(x)-d.Mu)/d.Sigma/math.Sqrt2)) }
			return (phi(x) - phi(50)) / (phi(2e6) - phi(50))
		}},
	} {
		last := math.Inf(-1)
		for _, u := range []float64{1e-6, .01, .1, .5, .9, .99, .9999} {
			x := c.d.Quantile(u)
			assert.InDelta(t, u, c.cdf(x), 1e-9, "%v at %v", c.d, u)
			assert.Greater(t, x, last)
			last = x
		}
	}
	d := Moments(7758, 126168, 50, 2e6)
	assert.GreaterOrEqual(t, d.Quantile(0x1p-54), 50.)
	assert.LessOrEqual(t, d.Quantile(1-0x1p-53), 2e6)
}

// TestResidual: what is left of an exponential time is exponential, of a constant one
// uniform.
func TestResidual(t *testing.T) {
	s := newStream(1, 1)
	exp, constant := newResidual(Exponential{30}), newResidual(Constant(8))
	sum, over, most := 0., 0., 0.
	const n = 20000
	for range n {
		x := exp.draw(s.u(), s.u())
		sum += x / n
		if x > 60 {
			over++
		}
		most = max(most, constant.draw(s.u(), s.u()))
	}
	assert.InDelta(t, 30, sum, 1)
	assert.InDelta(t, math.Exp(-2), over/n, .01)
	assert.InDelta(t, 8, most, .01)
}

// TestDraws: a model's pages have the means of its distributions.
func TestDraws(t *testing.T) {
	m := CDMA2000()
	var p page
	const users, pages = 400, 20
	think, embedded, main, persistent := 0., 0., 0., 0.
	for i := range users {
		s := newStream(3, uint64(i))
		for range pages {
			m.draw(s, &p)
			think += p.think / users / pages
			embedded += float64(len(p.objects)-1) / users / pages
			main += float64(p.objects[0].response) / users / pages
			if p.persistent {
				persistent += 1. / users / pages
			}
		}
	}
	assert.InDelta(t, 30, think, 4*30/math.Sqrt(users*pages))
	assert.InDelta(t, Mean(m.Main), main, 4*22000/math.Sqrt(users*pages))
	assert.InDelta(t, .5, persistent, .03)
	// The number of embedded objects is rounded down: half an object less, or so.
	assert.InDelta(t, Mean(m.Embedded)-.4, embedded, .6)
}

func TestModels(t *testing.T) {
	for _, m := range Models() {
		got, err := FindModel(m.Name)
		assert.NoError(t, err)
		assert.Equal(t, m.Name, got.Name)
		assert.NoError(t, m.validate())
	}
	_, err := FindModel("gopher")
	assert.ErrorContains(t, err, "3gpp2")
	assert.ErrorContains(t, (&Model{Persistent: 2}).validate(), "Persistent = 2")
}
