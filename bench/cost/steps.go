package cost

// steps tells how far a measurement is.
type steps struct {
	tell     func(done, of int, what string)
	done, of int
}

// newSteps returns steps for of of them. tell may be nil.
func newSteps(of int, tell func(done, of int, what string)) *steps {
	if tell == nil {
		tell = func(int, int, string) {}
	}
	return &steps{tell, 0, of}
}

// next tells that a step begins.
func (s *steps) next(what string) {
	s.tell(s.done, s.of, what)
	s.done++
}
