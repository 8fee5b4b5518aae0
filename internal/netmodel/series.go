package netmodel

import (
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// Sample is a queue at an instant.
type Sample struct {
	At          aqm.Time
	Packets     int
	Bytes       int64
	Delay       time.Duration // what sending the backlog takes at the present rate
	Probability float64       // the algorithm's; 0 if it has none
}

// Series samples a link's queue at equal intervals.
type Series struct {
	Samples []Sample

	link  *Link
	every aqm.Time
	most  int
}

// Watch samples the link's queue now and then every interval, most times at the most;
// the memory for them is allocated now. An interval below 1 ns counts as 1 ns.
func (l *Link) Watch(every time.Duration, most int) *Series {
	s := &Series{Samples: make([]Sample, 0, max(most, 0)), link: l, every: aqm.Time(max(every, 1)), most: most}
	if most > 0 {
		l.net.sim.Set(l.net.sim.Add(s), l.net.sim.Now())
	}
	return s
}

// Fire implements sim.Source: a sample is due.
func (s *Series) Fire(now aqm.Time) aqm.Time {
	l := s.link
	x := Sample{At: now, Packets: l.Len(), Bytes: l.Bytes()}
	x.Delay = time.Duration(uint64(x.Bytes) * l.psByte / 1000)
	if p, ok := l.aqm.(interface{ Probability() float64 }); ok {
		x.Probability = p.Probability()
	}
	s.Samples = append(s.Samples, x)
	if len(s.Samples) >= s.most {
		return sim.Never
	}
	return now + s.every
}
