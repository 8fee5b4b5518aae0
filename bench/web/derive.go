package web

import (
	"math"

	"github.com/aqmkit/aqmkit/bench/study"
)

// Names of what is derived: schemes of their own, so that they can be compared.
const nothing = "nothing" // has every measure at 0

func gainName(law string, reverse, protect bool) string {
	return "gain of " + Scheme{Law: law, Reverse: reverse, Protect: protect}.String()
}

func differencesName(protect bool) string {
	if protect {
		return "differences+protect"
	}
	return "differences"
}

// derive returns the data for the claims in a reading, with what is derived of them
// seed by seed: what each law gains by ECN at the loads above 90 %, and how much AQM
// and ECN change at each spread of the round-trip times.
func derive(d *study.Data, reading string, protect bool) *study.Data {
	measures := []string{"mean2s_ms_" + reading, "over_2s_" + reading, "share_500ms_" + reading, "share_1s_" + reading, "utilisation"}
	var all []*study.Result
	for _, p := range d.Points() {
		for _, s := range d.Schemes(p) {
			all = append(all, copied(d, p, s, measures)...)
		}
		if schemes := d.Schemes(p); len(schemes) > 0 {
			for _, seed := range d.Seeds(p, schemes[0]) {
				all = append(all, result(p, nothing, seed, map[string]float64{"utilisation": 0}))
			}
		}
	}
	points := high(ran(d, highLoads, protect))
	x := &deriver{d, reading, protect}
	for _, p := range points {
		for _, law := range paperLaws {
			all = append(all, x.gain(p, points, law, false)...)
		}
		for _, law := range aredLaws {
			all = append(all, x.gain(p, points, law, true)...)
		}
	}
	base := loadPoint(spreadLoad)
	for _, p := range []string{base, base + "-rtt-narrow", base + "-rtt-wide"} {
		all = append(all, x.differences(p)...)
	}
	return study.NewData(all)
}

func result(point, scheme string, seed uint64, values map[string]float64) *study.Result {
	return &study.Result{Point: point, Scheme: scheme, Seed: seed, Measures: study.Measures{Values: values}}
}

func copied(d *study.Data, point, scheme string, measures []string) (all []*study.Result) {
	for i, seed := range d.Seeds(point, scheme) {
		values := map[string]float64{}
		for _, m := range measures {
			if x := d.Values(point, scheme, m); i < len(x) {
				values[m] = x[i]
			}
		}
		all = append(all, result(point, scheme, seed, values))
	}
	return all
}

type deriver struct {
	d       *study.Data
	reading string
	protect bool
}

// bySeed returns the truncated means of a scheme at its better setting over points.
func (x *deriver) bySeed(point string, points []string, s Scheme) map[uint64]float64 {
	s.Protect = x.protect && s.Law != dropTail
	name := better(x.d, points, s, x.reading).String()
	means := map[uint64]float64{}
	for i, v := range x.d.Values(point, name, "mean2s_ms_"+x.reading) {
		means[x.d.Seeds(point, name)[i]] = v
	}
	return means
}

func (x *deriver) gain(point string, points []string, law string, reverse bool) (all []*study.Result) {
	without := x.bySeed(point, points, Scheme{Law: law})
	with := x.bySeed(point, points, Scheme{Law: law, ECN: true, Reverse: reverse})
	for _, seed := range x.seeds(point) {
		a, ok := without[seed]
		b, both := with[seed]
		if ok && both {
			all = append(all, result(point, gainName(law, reverse, x.protect), seed, map[string]float64{
				"gain_" + x.reading: a - b, "without_" + x.reading: a,
			}))
		}
	}
	return all
}

// seeds are drop-tail's.
func (x *deriver) seeds(point string) []uint64 {
	return x.d.Seeds(point, Scheme{Law: dropTail, Setting: settings[0]}.String())
}

// differences are the mean distances of the AQMs' truncated means from drop-tail's, and
// of those with ECN from those without.
func (x *deriver) differences(point string) (all []*study.Result) {
	points := []string{point}
	tail := x.bySeed(point, points, Scheme{Law: dropTail})
	type pair struct{ without, with map[uint64]float64 }
	var laws []pair
	for _, law := range paperLaws {
		laws = append(laws, pair{x.bySeed(point, points, Scheme{Law: law}), x.bySeed(point, points, Scheme{Law: law, ECN: true})})
	}
	for _, seed := range x.seeds(point) {
		aqm, ecn, complete := 0., 0., true
		for _, l := range laws {
			a, ok := l.without[seed]
			b, both := l.with[seed]
			complete = complete && ok && both
			aqm += math.Abs(a-tail[seed]) / float64(len(laws))
			ecn += math.Abs(a-b) / float64(len(laws))
		}
		if complete {
			all = append(all, result(point, differencesName(x.protect), seed, map[string]float64{
				"aqm_" + x.reading: aqm, "ecn_" + x.reading: ecn, "unit_" + x.reading: tail[seed],
				"relative_aqm_" + x.reading: 100 * aqm / tail[seed], "relative_ecn_" + x.reading: 100 * ecn / tail[seed],
			}))
		}
	}
	return all
}
