package web

import (
	"fmt"
	"math"
	"sort"
)

// Dist is a distribution, by its quantile function: one uniform number makes one draw,
// so that the draws of two runs stay in step.
type Dist interface {
	Quantile(u float64) float64 // u in (0, 1)
	String() string
}

// Constant is always the same.
type Constant float64

// Quantile implements Dist.
func (c Constant) Quantile(float64) float64 { return float64(c) }

func (c Constant) String() string { return fmt.Sprintf("%g", float64(c)) }

// Uniform has every number between Min and Max.
type Uniform struct{ Min, Max float64 }

// Quantile implements Dist.
func (d Uniform) Quantile(u float64) float64 { return d.Min + float64((d.Max-d.Min)*u) }

func (d Uniform) String() string { return fmt.Sprintf("uniform %g to %g", d.Min, d.Max) }

// LogUniform has a logarithm that is uniform.
type LogUniform struct{ Min, Max float64 }

// Quantile implements Dist.
func (d LogUniform) Quantile(u float64) float64 {
	return d.Min * exp(u*log(d.Max/d.Min))
}

func (d LogUniform) String() string { return fmt.Sprintf("log-uniform %g to %g", d.Min, d.Max) }

// Exponential has the given mean.
type Exponential struct{ Mean float64 }

// Quantile implements Dist.
func (d Exponential) Quantile(u float64) float64 { return -d.Mean * log1p(-u) }

func (d Exponential) String() string { return fmt.Sprintf("exponential, mean %g", d.Mean) }

// Weibull has a tail exp(-(x/Scale)^Shape), cut off at Max.
type Weibull struct{ Shape, Scale, Max float64 }

// Quantile implements Dist.
func (d Weibull) Quantile(u float64) float64 {
	return min(d.Max, d.Scale*pow(-log1p(-u), 1/d.Shape))
}

func (d Weibull) String() string {
	return fmt.Sprintf("Weibull, shape %g, scale %g, at most %g", d.Shape, d.Scale, d.Max)
}

// Pareto is bounded: x^-(Shape+1) from Min to Max.
type Pareto struct{ Shape, Min, Max float64 }

// Quantile implements Dist.
func (d Pareto) Quantile(u float64) float64 {
	tail := pow(d.Min/d.Max, d.Shape) // beyond Max
	return d.Min / pow(1-float64(u*(1-tail)), 1/d.Shape)
}

func (d Pareto) String() string {
	return fmt.Sprintf("Pareto, shape %g, %g to %g", d.Shape, d.Min, d.Max)
}

// Mean returns the mean in closed form.
func (d Pareto) Mean() float64 {
	l, h, a := d.Min, d.Max, d.Shape
	if a == 1 {
		return l * log(h/l) / (1 - l/h)
	}
	return a / (a - 1) * l * (1 - pow(l/h, a-1)) / (1 - pow(l/h, a))
}

// Cut is a Pareto distribution of which all above Max is Max, less Min: the number of
// embedded objects in the 3GPP2 model.
type Cut struct{ Shape, Min, Max float64 }

// Quantile implements Dist.
func (d Cut) Quantile(u float64) float64 {
	return min(d.Max, d.Min/pow(1-u, 1/d.Shape)) - d.Min
}

func (d Cut) String() string {
	return fmt.Sprintf("Pareto, shape %g, from %g, cut at %g, less %[2]g", d.Shape, d.Min, d.Max)
}

// Lognormal is the distribution of exp(Mu + Sigma*Z) on the condition that it is in
// [Min, Max]. It comes from NewLognormal.
type Lognormal struct {
	Mu, Sigma, Min, Max float64
	lo, hi              float64 // the standard normal's shares below Min and Max
}

// NewLognormal returns the distribution within bounds.
func NewLognormal(mu, sigma, least, most float64) Lognormal {
	return Lognormal{mu, sigma, least, most, normal((log(least) - mu) / sigma), normal((log(most) - mu) / sigma)}
}

// Moments returns a lognormal distribution that has the mean and standard deviation
// before it is cut to the bounds.
func Moments(mean, sd, least, most float64) Lognormal {
	v := log1p(sd * sd / (mean * mean))
	return NewLognormal(log(mean)-v/2, math.Sqrt(v), least, most)
}

func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// Quantile implements Dist.
func (d Lognormal) Quantile(u float64) float64 {
	z := math.Sqrt2 * math.Erfinv(2*(d.lo+float64((d.hi-d.lo)*u))-1)
	return min(d.Max, max(d.Min, exp(d.Mu+float64(d.Sigma*z))))
}

// Mean returns the mean in closed form.
func (d Lognormal) Mean() float64 {
	part := normal((log(d.Max)-d.Mu)/d.Sigma-d.Sigma) - normal((log(d.Min)-d.Mu)/d.Sigma-d.Sigma)
	return exp(d.Mu+d.Sigma*d.Sigma/2) * part / (d.hi - d.lo)
}

func (d Lognormal) String() string {
	return fmt.Sprintf("lognormal, mu %.4g, sigma %.4g, within %g to %g", d.Mu, d.Sigma, d.Min, d.Max)
}

// steps of numerical integration.
const steps = 1 << 14

// Mean returns a distribution's mean, numerically where there is no closed form.
func Mean(d Dist) float64 {
	if m, ok := d.(interface{ Mean() float64 }); ok {
		return m.Mean()
	}
	return integrate(d)
}

func integrate(d Dist) float64 {
	sum := 0.
	for i := range steps {
		sum += d.Quantile((float64(i) + .5) / steps)
	}
	mean := sum / steps
	// The last step is halved again and again: that is where a tail has its weight.
	lo, w := 1-1./steps, 1./steps
	mean -= d.Quantile(1-.5/steps) * w
	for range 30 {
		w /= 2
		mean += d.Quantile(lo+w/2) * w
		lo += w
	}
	return mean + d.Quantile(lo+w/2)*w
}

// residual draws what is left of a draw of d at a time that has nothing to do with it:
// a part of one that was picked by its length.
type residual struct {
	d   Dist
	cum []float64
}

func newResidual(d Dist) residual {
	cum := make([]float64, 4096)
	sum := 0.
	for i := range cum {
		sum += d.Quantile((float64(i) + .5) / float64(len(cum)))
		cum[i] = sum
	}
	return residual{d, cum}
}

func (r residual) draw(u, v float64) float64 {
	i := sort.SearchFloat64s(r.cum, u*r.cum[len(r.cum)-1])
	i = min(i, len(r.cum)-1)
	return v * r.d.Quantile((float64(i)+.5)/float64(len(r.cum)))
}

// The last bit of these differs between architectures. What users are made of them is
// rounded to bytes, microseconds and milliseconds.
func exp(x float64) float64    { return math.Exp(x) }    //nolint:forbidigo // rounded later
func log(x float64) float64    { return math.Log(x) }    //nolint:forbidigo // rounded later
func log1p(x float64) float64  { return math.Log1p(x) }  //nolint:forbidigo // rounded later
func pow(x, y float64) float64 { return math.Pow(x, y) } //nolint:forbidigo // rounded later
