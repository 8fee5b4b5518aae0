package web

import (
	"math/rand/v2"
	"strings"

	"github.com/aqmkit/aqmkit/bench/study"
)

// world is results that somebody made up: the truncated mean of every scheme, from
// which all else follows.
type world struct {
	mean  func(point, scheme string) float64 // ms
	noise float64                            // ms; of each seed, beside what all schemes share
	used  float64                            // utilisation
}

// right is a world in which the paper is right in everything.
func right() world {
	return world{noise: .2, used: .98, mean: func(point, scheme string) float64 {
		scheme = strings.TrimSuffix(scheme, "+protect")
		at := map[string]float64{
			"uncongested": 200, "droptail": 300, "pi": 290, "rem": 320, "aredb": 250, "ared": 400,
			"pi+ecn": 205, "rem+ecn": 206, "aredb+ecn": 252, "ared+ecn": 401, "aredb+ecn+reverse": 260, "ared+ecn+reverse": 300,
		}
		worse := 0.
		if strings.Contains(scheme, "24") && !strings.Contains(scheme, "240") {
			worse = 5 // the setting that does not enter
		}
		name := strings.NewReplacer("2400", "", "240", "", "24", "").Replace(scheme)
		x, ok := at[name]
		if !ok {
			x = 310
		}
		x += worse
		switch {
		case strings.HasSuffix(point, "narrow"):
			x = 200 + 1.5*(x-200)
		case strings.HasSuffix(point, "wide"):
			x = 200 + .5*(x-200)
		case point == "load80":
			x = 200 + .2*(x-200)
		}
		return x
	}}
}

// data fills the cells of a plan.
func (w world) data(o study.Options) *study.Data {
	p, err := plan(o)
	if err != nil {
		panic(err)
	}
	var all []*study.Result
	for i, c := range p.Cells {
		shared := rand.New(rand.NewPCG(c.Seed, 1)).NormFloat64() * 20 // what pairing takes out
		own := rand.New(rand.NewPCG(c.Seed, uint64(i))).NormFloat64() * w.noise
		mean := w.mean(c.Point, c.Scheme) + shared + own
		v := map[string]float64{"utilisation": w.used + own/1e5, "loss_all": .01 + own/1e5}
		for _, r := range []string{handshake, request} {
			v["mean2s_ms_"+r] = mean
			v["over_2s_"+r] = .005 + mean/2e4
			v["share_500ms_"+r], v["share_1s_"+r] = .97-(mean-200)/800, .99-(mean-200)/1600
		}
		v["share_3s_"+handshake], v["share_5s_"+handshake] = .99, .995
		all = append(all, &study.Result{Point: c.Point, Scheme: c.Scheme, Seed: c.Seed, Measures: study.Measures{Values: v, Curves: map[string][]float64{
			"cdf_handshake": make([]float64, len(cdfAt)), "ccdf_handshake": make([]float64, len(ccdfAt)),
		}}})
	}
	return study.NewData(all)
}

// but returns the world with the means of some schemes changed.
func (w world) but(change func(point, scheme string, mean float64) float64) world {
	old := w.mean
	w.mean = func(point, scheme string) float64 { return change(point, scheme, old(point, scheme)) }
	return w
}
