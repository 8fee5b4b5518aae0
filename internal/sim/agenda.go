package sim

import "github.com/aqmkit/aqmkit/aqm"

// agenda is a source for what happens once: a heap of callbacks.
type agenda struct {
	id     ID
	heap   []entry
	serial uint64
}

type entry struct {
	at     aqm.Time
	serial uint64 // callbacks of one instant keep the order of At
	call   func(now aqm.Time)
}

func (e entry) before(f entry) bool {
	return e.at < f.at || e.at == f.at && e.serial < f.serial
}

// At has call happen at a time, or now if that has passed. It is meant for what is
// rare, such as a change of load or a think time; the cost is logarithmic in the
// number of pending calls.
func (s *Sim) At(at aqm.Time, call func(now aqm.Time)) {
	a := s.agenda
	if a == nil {
		a = &agenda{}
		a.id = s.Add(a)
		s.agenda = a
	}
	a.serial++
	a.push(entry{max(at, s.now), a.serial, call})
	s.Set(a.id, a.heap[0].at)
}

// Fire makes the first call.
func (a *agenda) Fire(now aqm.Time) aqm.Time {
	a.pop().call(now)
	if len(a.heap) == 0 {
		return Never
	}
	return a.heap[0].at
}

func (a *agenda) push(e entry) {
	h := append(a.heap, e)
	i := len(h) - 1
	for ; i > 0 && e.before(h[(i-1)/2]); i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i] = e
	a.heap = h
}

func (a *agenda) pop() entry {
	h := a.heap
	top, e := h[0], h[len(h)-1]
	h[len(h)-1] = entry{}
	h = h[:len(h)-1]
	for i := 0; len(h) > 0; {
		c := 2*i + 1
		if c >= len(h) {
			h[i] = e
			break
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(e) {
			h[i] = e
			break
		}
		h[i] = h[c]
		i = c
	}
	a.heap = h
	return top
}
