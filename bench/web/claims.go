package web

import (
	"fmt"

	"github.com/aqmkit/aqmkit/bench/study"
)

// claim is one of the paper's, and what it rests on.
type claim struct {
	id, text string
	parts    func(j *judge, points []string) []study.Part
	loads    []int // judged
}

// claims are the paper's, in the words of its abstract where they were read.
var claims = []claim{
	{"W1", "without ECN, byte-mode ARED is the best of the AQMs, and better than drop-tail at loads above 90 %", w1, highLoads},
	{"W2", "packet-mode ARED, with or without ECN, is the worst scheme, worse than drop-tail", w2, highLoads},
	{"W3", "with ECN, PI and REM are the best schemes overall, clearly better than byte-mode ARED", w3, highLoads},
	{"W4", "REM without ECN is worse than drop-tail at every load; with ECN it gains more than any other scheme", w4, allLoads},
	{"W5", "ECN does not change ARED under the RFC 3168 guideline; it improves clearly once the guideline is reversed; the best ARED is still without ECN", w5, highLoads},
	{"W6", "the wider the RTTs are spread, the smaller the differences that AQM and ECN make", w6, []int{spreadLoad}},
	{"W7", "with PI or REM and ECN, the link runs near saturation (98 %) with response times close to the uncongested network", w7, []int{98}},
}

func w1(j *judge, points []string) (parts []study.Part) {
	best := j.scheme(points, Scheme{Law: lawAREDBytes})
	for _, p := range points {
		for _, law := range []string{lawPI, lawREM, lawARED, dropTail} {
			parts = append(parts, j.better(p, best, j.scheme(points, Scheme{Law: law})))
		}
		parts = append(parts, aside(j.better(p, best, Scheme{Law: dropTail, Setting: 2400})))
	}
	return parts
}

func w2(j *judge, points []string) (parts []study.Part) {
	others := []Scheme{{Law: dropTail}, {Law: lawPI}, {Law: lawREM}, {Law: lawAREDBytes}, {Law: lawPI, ECN: true}, {Law: lawREM, ECN: true}, {Law: lawAREDBytes, ECN: true}}
	for _, p := range points {
		for _, ecn := range []bool{false, true} {
			worst := j.scheme(points, Scheme{Law: lawARED, ECN: ecn})
			for _, o := range others {
				parts = append(parts, j.better(p, j.scheme(points, o), worst))
			}
		}
	}
	return parts
}

func w3(j *judge, points []string) (parts []study.Part) {
	others := []Scheme{
		{Law: dropTail},
		{Law: lawPI},
		{Law: lawREM},
		{Law: lawARED},
		{Law: lawAREDBytes},
		{Law: lawARED, ECN: true},
		{Law: lawAREDBytes, ECN: true},
		{Law: lawARED, ECN: true, Reverse: true},
		{Law: lawAREDBytes, ECN: true, Reverse: true},
	}
	for _, p := range points {
		for _, law := range []string{lawPI, lawREM} {
			best := j.scheme(points, Scheme{Law: law, ECN: true})
			for _, o := range others {
				parts = append(parts, j.better(p, best, j.scheme(points, o)))
			}
			parts = append(parts, j.clearly(p, best, j.scheme(points, Scheme{Law: lawAREDBytes})))
			parts = append(parts, aside(j.clearly(p, best, j.scheme(points, Scheme{Law: lawAREDBytes, ECN: true}))))
		}
	}
	return parts
}

func w4(j *judge, points []string) (parts []study.Part) {
	for _, p := range points {
		parts = append(parts, j.better(p, j.scheme(points, Scheme{Law: dropTail}), j.scheme(points, Scheme{Law: lawREM})))
	}
	for _, p := range high(points) {
		mine := gainName(lawREM, false, j.protect)
		margin := meanMargin * j.d.Mean(p, mine, "without_"+j.reading)
		for _, law := range []string{lawPI, lawARED, lawAREDBytes} {
			for _, reverse := range []bool{false, true} {
				if reverse && law == lawPI {
					continue
				}
				theirs := gainName(law, reverse, j.protect)
				part := larger(fmt.Sprintf("%s: %s is larger than %s", p, mine, theirs), j.Compare("gain_"+j.reading, p, mine, p, theirs), margin)
				part.Aside = reverse
				parts = append(parts, part)
			}
		}
	}
	return parts
}

func w5(j *judge, points []string) (parts []study.Part) {
	for _, p := range points {
		for _, law := range aredLaws {
			with, without := j.scheme(points, Scheme{Law: law, ECN: true}), j.scheme(points, Scheme{Law: law})
			reversed := j.scheme(points, Scheme{Law: law, ECN: true, Reverse: true})
			improves := j.clearly(p, reversed, with)
			// By bytes it cannot: that it is close to ARED without ECN, and this better than
			// when reversed, is said as well.
			improves.Aside = law == lawAREDBytes
			parts = append(parts, j.close(p, with, without), improves)
		}
		best := j.scheme(points, Scheme{Law: lawAREDBytes})
		for _, o := range []Scheme{{Law: lawARED}, {Law: lawARED, ECN: true}, {Law: lawARED, ECN: true, Reverse: true}, {Law: lawAREDBytes, ECN: true}, {Law: lawAREDBytes, ECN: true, Reverse: true}} {
			parts = append(parts, j.better(p, best, j.scheme(points, o)))
		}
	}
	return parts
}

func w6(j *judge, points []string) (parts []study.Part) {
	base := points[0]
	narrow, wide := base+"-rtt-narrow", base+"-rtt-wide"
	name := differencesName(j.protect)
	for _, what := range []string{"aqm", "ecn"} {
		for _, relative := range []bool{false, true} {
			measure := what + "_" + j.reading
			if relative {
				measure = "relative_" + measure
			}
			for _, pair := range [][2]string{{narrow, base}, {base, wide}} {
				c := j.Compare(measure, pair[0], name, pair[1], name)
				part := larger(fmt.Sprintf("the difference that %s makes is larger at %s than at %s", what, pair[0], pair[1]), c, meanMargin*j.d.Mean(base, name, "unit_"+j.reading))
				if relative {
					part = larger(fmt.Sprintf("the same in per cent of drop-tail's mean, %s", what), c, 100*meanMargin)
					part.Numbers = fmt.Sprintf("%.1f and %.1f %%: %+.1f [%+.1f, %+.1f]", c.MeanA, c.MeanB, c.Diff, c.Lo, c.Hi)
				}
				part.Aside = relative
				parts = append(parts, part)
			}
		}
	}
	return parts
}

func w7(j *judge, points []string) (parts []study.Part) {
	for _, p := range points {
		for _, law := range []string{lawPI, lawREM} {
			s := j.scheme(points, Scheme{Law: law, ECN: true})
			used := j.Compare("utilisation", p, s.String(), p, nothing)
			parts = append(parts, study.Part{
				Text:        fmt.Sprintf("%s: %v uses at least %g %% of the link", p, s, 100*nearlyFull),
				Verdict:     used.Above(nearlyFull),
				Numbers:     fmt.Sprintf("%.2f %% [%.2f, %.2f]", 100*used.MeanA, 100*used.Lo, 100*used.Hi),
				Comparisons: []*study.Comparison{used},
			}, j.close(p, s, Scheme{Law: uncongested}), aside(j.better(p, Scheme{Law: uncongested}, s)))
		}
	}
	return parts
}

// high returns the points at loads above 90 %.
func high(points []string) (h []string) {
	for _, load := range highLoads {
		for _, p := range points {
			if p == loadPoint(load) {
				h = append(h, p)
			}
		}
	}
	return h
}

// judged judges every claim in both readings, with NotECT packets dropped and
// protected, at those of its loads that were run.
func judged(d *study.Data) (all []study.Claim) {
	for _, protect := range []bool{false, true} {
		for _, reading := range []string{handshake, request} {
			d := derive(d, reading, protect)
			for _, c := range claims {
				points := ran(d, c.loads, protect)
				if len(points) == 0 || c.id == "W6" && !d.Has(points[0]+"-rtt-wide", differencesName(protect)) {
					continue
				}
				id, text := c.id, c.text
				if reading == request {
					id += " request"
					text += "; without the handshake"
				}
				if protect {
					id += " protected"
					text += "; SYN-ACKs and pure ACKs protected"
				}
				all = append(all, study.Judge(d, func(f *study.Family) study.Claim {
					return conclude(id, text, c.parts(&judge{f, d, reading, protect}, points))
				}))
			}
		}
	}
	return all
}

// ran returns the points of loads where the paper's schemes were run.
func ran(d *study.Data, loads []int, protect bool) (points []string) {
	for _, load := range loads {
		p := loadPoint(load)
		if d.Has(p, Scheme{Law: lawPI, Setting: 24, ECN: true, Protect: protect}.String()) && d.Has(p, Scheme{Law: lawPI, Setting: 24, Protect: protect}.String()) {
			points = append(points, p)
		}
	}
	return points
}
