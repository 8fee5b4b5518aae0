package study

import (
	"slices"
)

// Data are the results, to be looked up.
type Data struct {
	points  []string
	schemes map[string][]string // by point
	cells   map[string][]*Result
}

// Data returns the output's results, to be looked up.
func (o *Output) Data() *Data { return NewData(o.Results) }

// NewData returns results, to be looked up.
func NewData(results []*Result) *Data {
	d := &Data{schemes: map[string][]string{}, cells: map[string][]*Result{}}
	for _, r := range results {
		if !slices.Contains(d.points, r.Point) {
			d.points = append(d.points, r.Point)
		}
		if !slices.Contains(d.schemes[r.Point], r.Scheme) {
			d.schemes[r.Point] = append(d.schemes[r.Point], r.Scheme)
		}
		key := key(r.Point, r.Scheme)
		d.cells[key] = append(d.cells[key], r)
	}
	for _, c := range d.cells {
		slices.SortFunc(c, func(a, b *Result) int { return int(int64(a.Seed - b.Seed)) })
	}
	return d
}

func key(point, scheme string) string { return point + "/" + scheme }

// Points returns all points, in the order of the plan.
func (d *Data) Points() []string { return d.points }

// Schemes returns the schemes at a point, in the order of the plan.
func (d *Data) Schemes(point string) []string { return d.schemes[point] }

// Has reports whether the scheme was run at the point.
func (d *Data) Has(point, scheme string) bool { return len(d.cells[key(point, scheme)]) > 0 }

// Seeds returns the seeds of a scheme at a point, ascending.
func (d *Data) Seeds(point, scheme string) (seeds []uint64) {
	for _, r := range d.cells[key(point, scheme)] {
		seeds = append(seeds, r.Seed)
	}
	return seeds
}

// Values returns a measure by seed, ascending; those cells without it are left out.
func (d *Data) Values(point, scheme, measure string) (values []float64) {
	for _, r := range d.cells[key(point, scheme)] {
		if x, ok := r.Values[measure]; ok {
			values = append(values, x)
		}
	}
	return values
}

// Mean returns a measure's mean over the seeds; 0 if there is none.
func (d *Data) Mean(point, scheme, measure string) float64 {
	return mean(d.Values(point, scheme, measure))
}

// Means returns the means of a measure of two schemes over the seeds that both have.
func (d *Data) Means(measure, pointA, schemeA, pointB, schemeB string) (a, b float64) {
	x, y := d.pairs(measure, pointA, schemeA, pointB, schemeB)
	return mean(x), mean(y)
}

// Curve returns a curve's mean over the seeds; nil if there is none.
func (d *Data) Curve(point, scheme, curve string) []float64 {
	var sum []float64
	n := 0.
	for _, r := range d.cells[key(point, scheme)] {
		c, ok := r.Curves[curve]
		if !ok {
			continue
		}
		if sum == nil {
			sum = make([]float64, len(c))
		}
		for i := range min(len(sum), len(c)) {
			sum[i] += c[i]
		}
		n++
	}
	for i := range sum {
		sum[i] /= n
	}
	return sum
}

// pairs returns a measure of two schemes by the seeds that both have.
func (d *Data) pairs(measure, pointA, schemeA, pointB, schemeB string) (a, b []float64) {
	other := map[uint64]float64{}
	for _, r := range d.cells[key(pointB, schemeB)] {
		if x, ok := r.Values[measure]; ok {
			other[r.Seed] = x
		}
	}
	for _, r := range d.cells[key(pointA, schemeA)] {
		x, ok := r.Values[measure]
		y, both := other[r.Seed]
		if ok && both {
			a, b = append(a, x), append(b, y)
		}
	}
	return a, b
}

func mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
