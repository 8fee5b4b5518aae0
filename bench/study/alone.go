package study

// Alone returns a measure of one scheme by itself, for limits that are no other
// scheme's.
func (f *Family) Alone(measure, point, scheme string) *Comparison {
	c := &Comparison{Measure: measure, A: key(point, scheme), family: f}
	if old := f.comps[c.id()]; old != nil {
		return old
	}
	a := f.data.Values(point, scheme, measure)
	c.fill(a, make([]float64, len(a)))
	c.Level = Alpha / float64(max(1, len(f.tests)))
	if least := f.level(c.id()); least > 0 {
		c.Level = least
	}
	c.Lo, c.Hi = c.interval(c.Level)
	f.comps[c.id()] = c
	return c
}
