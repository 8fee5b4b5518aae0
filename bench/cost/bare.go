package cost

import (
	"fmt"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/internal/regime"
	"github.com/aqmkit/aqmkit/pi"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/rem"
	"github.com/aqmkit/aqmkit/threshold"
)

// bare is (*regime.Load).Pairs without the interface: the calls are direct, and the
// compiler may inline them. That takes a loop for each type: one of type parameters
// would call through a table as well.
func bare(l *regime.Load, a aqm.AQM, now aqm.Time, n int) (aqm.Time, int) {
	switch a := a.(type) {
	case aqm.TailDrop:
		return bareTailDrop(l, a, now, n)
	case *threshold.Threshold:
		return bareThreshold(l, a, now, n)
	case *red.RED:
		return bareRED(l, a, now, n)
	case *pi.PI:
		return barePI(l, a, now, n)
	case *rem.REM:
		return bareREM(l, a, now, n)
	case *pie.PIE:
		return barePIE(l, a, now, n)
	case *codel.CoDel:
		return bareCoDel(l, a, now, n)
	}
	panic(fmt.Sprintf("cost: no loop for %T", a)) // a test runs those of the catalog
}

func bareTailDrop(l *regime.Load, a aqm.TailDrop, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) {
		s := &l[i%regime.Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Arrival()
		if v := a.Enqueue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
		p, q = s.Departure(now)
		if v := a.Dequeue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}

func bareThreshold(l *regime.Load, a *threshold.Threshold, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) {
		s := &l[i%regime.Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Arrival()
		if v := a.Enqueue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
		p, q = s.Departure(now)
		if v := a.Dequeue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}

func bareRED(l *regime.Load, a *red.RED, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) {
		s := &l[i%regime.Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Arrival()
		if v := a.Enqueue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
		p, q = s.Departure(now)
		if v := a.Dequeue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}

func barePI(l *regime.Load, a *pi.PI, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) {
		s := &l[i%regime.Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Arrival()
		if v := a.Enqueue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
		p, q = s.Departure(now)
		if v := a.Dequeue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}

func bareREM(l *regime.Load, a *rem.REM, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) {
		s := &l[i%regime.Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Arrival()
		if v := a.Enqueue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
		p, q = s.Departure(now)
		if v := a.Dequeue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}

func barePIE(l *regime.Load, a *pie.PIE, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) {
		s := &l[i%regime.Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Arrival()
		if v := a.Enqueue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
		p, q = s.Departure(now)
		if v := a.Dequeue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}

func bareCoDel(l *regime.Load, a *codel.CoDel, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) {
		s := &l[i%regime.Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Arrival()
		if v := a.Enqueue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
		p, q = s.Departure(now)
		if v := a.Dequeue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}
