package web

import (
	"github.com/aqmkit/aqmkit/bench/study"
)

// Study returns the study.
func Study() *study.Study {
	return &study.Study{
		Name:   "web",
		Title:  "The effects of AQM and ECN on web performance, reproduced",
		Plan:   plan,
		Report: report,
	}
}

// both returns the schemes of laws at both settings.
func both(laws []string, like Scheme) (s []Scheme) {
	for _, law := range laws {
		for _, q := range settings {
			like.Law, like.Setting = law, q
			s = append(s, like)
		}
	}
	return s
}

var aredLaws = []string{lawARED, lawAREDBytes}

// coreSchemes are the paper's, as its routers were.
func coreSchemes() []Scheme {
	s := []Scheme{{Law: uncongested}, {Law: dropTail, Setting: 24}, {Law: dropTail, Setting: 240}, {Law: dropTail, Setting: 2400}}
	s = append(s, both(paperLaws, Scheme{})...)
	s = append(s, both(paperLaws, Scheme{ECN: true})...)
	return append(s, both(aredLaws, Scheme{ECN: true, Reverse: true})...)
}

// protectedSchemes are the same with pure ACKs, SYNs and SYN-ACKs protected, and REM as
// it is in ns-2.
func protectedSchemes() []Scheme {
	s := both(paperLaws, Scheme{Protect: true})
	s = append(s, both(paperLaws, Scheme{ECN: true, Protect: true})...)
	s = append(s, both(aredLaws, Scheme{ECN: true, Reverse: true, Protect: true})...)
	return append(s, both([]string{lawREM}, Scheme{ECN: true, All: true})...)
}

// laterSchemes go beyond the paper.
func laterSchemes() []Scheme {
	s := both([]string{lawRED}, Scheme{})
	s = append(s, both([]string{lawRED}, Scheme{ECN: true})...)
	for _, law := range []string{lawPIE, lawCoDel} {
		s = append(s, Scheme{Law: law}, Scheme{Law: law, ECN: true}, Scheme{Law: law, ECN: true, Protect: true})
	}
	s = append(s, both([]string{lawThreshold}, Scheme{ECN: true})...)
	return append(s, both([]string{lawThreshold}, Scheme{ECN: true, Protect: true})...)
}

func allSchemes() []Scheme {
	return append(append(coreSchemes(), protectedSchemes()...), laterSchemes()...)
}

// spreadSchemes are those that W6 compares.
func spreadSchemes() []Scheme {
	s := []Scheme{{Law: uncongested}, {Law: dropTail, Setting: 24}, {Law: dropTail, Setting: 240}}
	s = append(s, both(paperLaws, Scheme{})...)
	s = append(s, both(paperLaws, Scheme{ECN: true})...)
	s = append(s, both(paperLaws, Scheme{Protect: true})...)
	return append(s, both(paperLaws, Scheme{ECN: true, Protect: true})...)
}

// parameters are all that the cells rest on.
type parameters struct {
	Assumptions []assumption `json:"assumptions"`
	Calibration []calibrated `json:"calibration"`
	Points      []*point     `json:"points"`
}

// planner puts a plan together.
type planner struct {
	study.Plan
	first  uint64
	points []*point
}

func (b *planner) add(p *point, seeds int, schemes []Scheme) {
	b.points = append(b.points, p)
	b.more(p, seeds, schemes)
}

func (b *planner) more(p *point, seeds int, schemes []Scheme) {
	for _, s := range schemes {
		for i := range seeds {
			b.Cells = append(b.Cells, p.cell(s, b.first+uint64(i)))
		}
	}
}

func plan(o study.Options) (*study.Plan, error) {
	b := &planner{first: o.Seed}
	if o.Full {
		b.full(o)
	} else {
		b.quick(o)
	}
	b.Parameters = parameters{assumptions(), calibration, b.points}
	return &b.Plan, nil
}

func (b *planner) full(o study.Options) {
	n := o.SeedsOr(fullSeeds)
	for _, load := range allLoads {
		p := basePoint(loadPoint(load), load)
		b.add(p, n, append(coreSchemes(), protectedSchemes()...))
		b.more(p, (n+1)/2, laterSchemes()) // no claim rests on these
	}
	for _, spread := range []string{"narrow", "wide"} {
		b.add(spreadPoint(spread), n, spreadSchemes())
	}
	for _, load := range rfcLoads {
		n := o.SeedsOr(rfcSeeds)
		if load > 110 { // what most of a run's time would go into, for the sake of orderings
			n = min(n, rfcOverSeeds)
		}
		b.add(rfcPoint(load), n, rfcSchemes())
	}
	for _, v := range variations() {
		b.add(v.point, o.SeedsOr(investigateSeeds), variationSchemes())
	}
}

func (b *planner) quick(o study.Options) {
	n := o.SeedsOr(quickSeeds)
	short := func(p *point, t times) *point {
		p.times = t
		return p
	}
	for _, load := range []int{80, 98, 105} {
		schemes := coreSchemes()
		if load == 98 {
			schemes = allSchemes()
		}
		b.add(short(basePoint(loadPoint(load), load), quickTimes), n, schemes)
	}
	for _, spread := range []string{"narrow", "wide"} {
		b.add(short(spreadPoint(spread), quickTimes), n, spreadSchemes()[:3+2*2*len(paperLaws)])
	}
	for _, load := range []int{95, 110} {
		b.add(short(rfcPoint(load), rfcQuickTimes), min(n, 2), rfcSchemes())
	}
}

// spreadLoad is the load at which W6 compares spreads of round-trip times.
const spreadLoad = 98

func spreadPoint(spread string) *point {
	p := basePoint(loadPoint(spreadLoad)+"-rtt-"+spread, spreadLoad)
	p.RTT = spread
	return p
}
