package web

import (
	"fmt"

	"github.com/aqmkit/aqmkit/bench/study"
)

// comparison is what one figure of the paper's form shows.
type comparison struct {
	name, title string
	schemes     []Scheme // those with two settings enter with the better one, but for drop-tail's
	each        bool     // every setting as it is given
}

func comparisons() []comparison {
	withECN := func(s Scheme, laws []string) (all []Scheme) {
		for _, law := range laws {
			s.Law = law
			all = append(all, s)
		}
		return all
	}
	tail := Scheme{Law: dropTail}
	return []comparison{
		{"droptail", "drop-tail", []Scheme{{Law: dropTail, Setting: 24}, {Law: dropTail, Setting: 240}, {Law: dropTail, Setting: 2400}}, true},
		{"noecn", "without ECN", append([]Scheme{tail}, withECN(Scheme{}, paperLaws)...), false},
		{"ecn", "with ECN", append([]Scheme{tail}, withECN(Scheme{ECN: true}, paperLaws)...), false},
		{"ecn-protect", "with ECN, SYN-ACKs and pure ACKs protected", append([]Scheme{tail}, withECN(Scheme{ECN: true, Protect: true}, paperLaws)...), false},
		{"pi-rem", "PI and REM, with ECN and without", []Scheme{{Law: lawPI}, {Law: lawPI, ECN: true}, {Law: lawREM}, {Law: lawREM, ECN: true}, {Law: lawREM, ECN: true, All: true}, {Law: lawAREDBytes}}, false},
		{"ared", "ARED and the guideline", []Scheme{
			{Law: lawARED},
			{Law: lawARED, ECN: true},
			{Law: lawARED, ECN: true, Reverse: true},
			{Law: lawAREDBytes},
			{Law: lawAREDBytes, ECN: true},
			{Law: lawAREDBytes, ECN: true, Reverse: true},
		}, false},
		{"later", "later algorithms with ECN, SYN-ACKs and pure ACKs protected where marked so", []Scheme{
			{Law: dropTail, Setting: 240},
			{Law: lawRED, Setting: 24, ECN: true},
			{Law: lawPIE, ECN: true},
			{Law: lawPIE, ECN: true, Protect: true},
			{Law: lawCoDel, ECN: true},
			{Law: lawCoDel, ECN: true, Protect: true},
			{Law: lawThreshold, Setting: 240, ECN: true, Protect: true},
		}, true},
	}
}

// figures are the distribution of response times up to 2 s and its complement beyond,
// one each for a load and a comparison.
func figures(d *study.Data, load int) (all []study.Figure) {
	p := loadPoint(load)
	for _, c := range comparisons() {
		cdf := study.Figure{
			Name: fmt.Sprintf("cdf-%s-%d", c.name, load), Title: fmt.Sprintf("Response times, load %d %%: %s", load, c.title),
			Caption: "Share of responses complete within a time, first exchanges with the handshake.",
			XLabel:  "response time (s)", YLabel: "share of responses", XMin: 0, XMax: 2, YMin: 0, YMax: 1,
		}
		ccdf := study.Figure{
			Name: fmt.Sprintf("ccdf-%s-%d", c.name, load), Title: fmt.Sprintf("Tail of the response times, load %d %%: %s", load, c.title),
			Caption: "Share of responses that take longer.",
			XLabel:  "response time (s)", YLabel: "share of responses that take longer", LogX: true, LogY: true, XMin: .1, XMax: 10, YMin: 1e-4, YMax: 1,
		}
		for i, s := range append([]Scheme{{Law: uncongested}}, c.schemes...) {
			if !c.each && i > 0 {
				s = better(d, []string{p}, s, handshake)
			}
			name := s.String()
			if !d.Has(p, name) {
				continue
			}
			// The colour goes with the place, and the ideal is dashed.
			line := study.Series{Name: name, X: cdfAt, Y: d.Curve(p, name, "cdf_"+handshake), Dashed: i == 0, Color: (i+7)%8 + 1}
			cdf.Series = append(cdf.Series, line)
			line.X, line.Y = ccdfAt, d.Curve(p, name, "ccdf_"+handshake)
			ccdf.Series = append(ccdf.Series, line)
		}
		if len(cdf.Series) > 2 {
			all = append(all, cdf, ccdf)
		}
	}
	return all
}
