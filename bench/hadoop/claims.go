package hadoop

import (
	"fmt"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/bench/study"
)

// The claims.
var texts = map[string]string{
	"H1": "With an ECN-marking AQM in default mode ACKs and SYNs are lost at a rate that matters: their early-drop rate, in per cent of their arrivals, is far above the loss of data packets, and has a cost (timeouts of handshakes, stalls) that vanishes when only they are protected.",
	"H2": "At aggressive targets the default mode costs throughput (a longer run time) against drop-tail.",
	"H3": "With ACK and SYN protected, full throughput (at least 99 % of drop-tail on deep buffers) comes at 85 % less latency than drop-tail on deep buffers.",
	"H4": "With protection or the marking threshold, shallow buffers reach the throughput of deep ones (at least 98 %).",
	"H5": "The marking threshold gives TCP-ECN and DCTCP their best result: no point of the AQM sweeps has both more throughput and less latency by more than the noise.",
	"H6": "Other traffic that is not ECN-capable (plain TCP, UDP) suffers in default mode and is repaired by protecting all that is not ECN-capable.",
}

// titles of the algorithms.
var titles = map[string]string{
	"red": "RED", "redi": "RED on the instantaneous queue", "codel": "CoDel", "pie": "PIE", "pie-dc": "PIE, data centre", "pi": "PI",
	"k": "threshold in packets", "ks": "threshold in sojourn time", "droptail": "drop-tail",
}

func (p point) words() string {
	size := map[int]string{shallow: "shallow", deep: "deep"}[p.buffer]
	if size == "" {
		size = fmt.Sprint(p.buffer, " packets")
	}
	kind := map[string]string{"ecn": "TCP-ECN", "dctcp": "DCTCP"}[p.tcp]
	s := fmt.Sprintf("%s, %s", size, kind)
	if p.rto != longRTO {
		s += fmt.Sprintf(", min RTO %v", p.rto)
	}
	switch p.variant {
	case "window":
		s += fmt.Sprintf(", receive windows %d times as large", windowTimes)
	case "long":
		s += fmt.Sprintf(", a job %d times as large", longTimes)
	}
	return s
}

// The algorithms that claims rest on: as published. The others are asides.
var (
	published = []string{"red", "codel"}
	variants  = []string{"redi"}
)

// judge makes a claim of the parts that it rests on, and others that are shown beside
// them, which are corrected for by themselves so that they do not weigh on the claim.
func judge(d *study.Data, id string, rest, beside func(f *study.Family) []study.Part) study.Claim {
	c := study.Judge(d, func(f *study.Family) study.Claim {
		parts := rest(f)
		return study.Claim{ID: id, Text: texts[id], Parts: parts, Verdict: study.Rest(parts)}
	})
	if len(c.Parts) == 0 {
		c.Verdict = study.Undecided
	}
	asides := study.Judge(d, func(f *study.Family) study.Claim { return study.Claim{Parts: beside(f)} })
	c.Numbers = summary(c)
	for _, p := range asides.Parts {
		p.Aside = true
		c.Parts = append(c.Parts, p)
	}
	return c
}

// summary counts the parts, and gives the numbers of the one that decided.
func summary(c study.Claim) string {
	if len(c.Parts) == 0 {
		return "nothing was run"
	}
	counts := map[study.Verdict]int{}
	shown := c.Parts[0]
	for i := len(c.Parts) - 1; i >= 0; i-- {
		p := c.Parts[i]
		counts[p.Verdict]++
		if p.Verdict == c.Verdict {
			shown = p
		}
	}
	return fmt.Sprintf("of %d parts %d hold, %d fail, %d are undecided; %s: %s", len(c.Parts), counts[study.Holds], counts[study.Fails], counts[study.Undecided], shown.Text, shown.Numbers)
}

// short is a comparison's result alone; of a few seeds an interval says nothing.
func short(c *study.Comparison) string {
	if c.N < 4 {
		return fmt.Sprintf("%.4g (%d seeds)", c.Diff, c.N)
	}
	return fmt.Sprintf("%.4g [%.4g, %.4g]", c.Diff, c.Lo, c.Hi)
}

// everywhere calls make for both buffers, both kinds of TCP and the algorithms.
func everywhere(d *study.Data, rto time.Duration, aqms []string, target time.Duration, mode string, make func(p point, s scheme) study.Part) (parts []study.Part) {
	for _, a := range aqms {
		for _, buffer := range []int{deep, shallow} {
			for _, kind := range kinds {
				p := at(buffer, kind)
				p.rto = rto
				s := scheme{aqm: a, target: target, mode: mode}
				if d.Has(p.String(), s.String()) {
					parts = append(parts, make(p, s))
				}
			}
		}
	}
	return parts
}

// asMode returns the scheme in another mode.
func (s scheme) asMode(mode string) scheme {
	s.mode = mode
	return s
}

func claims(d *study.Data) []study.Claim {
	return []study.Claim{h1(d), h2(d), h3(d), h4(d), h5(d), h6(d)}
}

func h1(d *study.Data) study.Claim {
	part := func(f *study.Family) func(point, scheme) study.Part {
		return func(p point, s scheme) study.Part {
			at, def, safe := p.String(), s.String(), s.asMode("acksyn").String()
			above := f.Alone("control_above", at, def)
			hands := f.Compare("handshakes_pm", at, def, at, safe)
			left := f.Alone("handshakes_pm", at, safe)
			stalls := f.Compare("stalls_pm", at, def, at, safe)
			early, data := d.Mean(at, def, "control_early_pct"), d.Mean(at, def, "data_loss_pct")
			return study.Part{
				Text:    fmt.Sprintf("%s at %v, %s", titles[s.aqm], s.target, p.words()),
				Verdict: study.And(above.Above(0), hands.Above(noticed), left.Below(vanished), stalls.Above(noticed)),
				Numbers: fmt.Sprintf("ACK and SYN early drops %.3g %%, data lost %.3g %%, the first less 10 times the second %s; handshake timeouts per 1000 connections %.3g, protected %.3g, difference %s; stalls per 1000 fetches %.3g, protected %.3g, difference %s; data sent again %.2g %%, protected %.2g %%",
					early, data, short(above), hands.MeanA, hands.MeanB, short(hands), stalls.MeanA, stalls.MeanB, short(stalls),
					d.Mean(at, def, "retransmits_pct"), d.Mean(at, safe, "retransmits_pct")),
				Comparisons: []*study.Comparison{above, hands, left, stalls},
			}
		}
	}
	return judge(d, "H1",
		func(f *study.Family) []study.Part {
			return everywhere(d, longRTO, published, aggressive, "default", part(f))
		},
		func(f *study.Family) []study.Part {
			parts := everywhere(d, longRTO, variants, aggressive, "default", part(f))
			parts = append(parts, everywhere(d, longRTO, append(published, variants...), 200*us, "default", part(f))...)
			// What a little more room does for CoDel, which lets the shallow buffer overflow.
			for _, kind := range kinds {
				p, s := at(between, kind), scheme{aqm: "codel", target: aggressive, mode: "default"}
				if d.Has(p.String(), s.String()) {
					parts = append(parts, part(f)(p, s))
				}
			}
			return append(parts, everywhere(d, shortRTO, append(published, variants...), aggressive, "default", part(f))...)
		})
}

func h2(d *study.Data) study.Claim {
	part := func(f *study.Family) func(point, scheme) study.Part {
		return func(p point, s scheme) study.Part {
			at := p.String()
			r := f.Ratio("run_s", at, s.String(), at, droptail.String())
			return study.Part{
				Text:    fmt.Sprintf("%s at %v, %s", titles[s.aqm], s.target, p.words()),
				Verdict: r.Above(1),
				Numbers: fmt.Sprintf("run time %.3g s, drop-tail %.3g s, ratio %s; throughput %.3g Mb/s, drop-tail %.3g Mb/s",
					r.MeanA, r.MeanB, short(r), d.Mean(at, s.String(), "thr_mbps"), d.Mean(at, droptail.String(), "thr_mbps")),
				Comparisons: []*study.Comparison{r},
			}
		}
	}
	return judge(d, "H2",
		func(f *study.Family) []study.Part {
			return everywhere(d, longRTO, published, aggressive, "default", part(f))
		},
		func(f *study.Family) []study.Part {
			parts := everywhere(d, longRTO, published, aggressive, "acksyn", part(f))
			parts = append(parts, everywhere(d, longRTO, variants, aggressive, "default", part(f))...)
			parts = append(parts, everywhere(d, longRTO, append(published, variants...), 200*us, "default", part(f))...)
			for _, kind := range kinds {
				p, s := at(deep, kind), scheme{aqm: "red", target: aggressive, mode: "default"}
				p.variant = "long"
				if d.Has(p.String(), s.String()) {
					parts = append(parts, part(f)(p, s))
				}
			}
			return append(parts, everywhere(d, shortRTO, append(published, variants...), aggressive, "default", part(f))...)
		})
}

// swept returns the schemes of the algorithms in a mode that were run at a point.
func swept(d *study.Data, p point, aqms []string, mode string) (all []scheme) {
	for _, s := range cross(aqms, deepTargets, mode) {
		if d.Has(p.String(), s.String()) {
			all = append(all, s)
		}
	}
	return all
}

// one is a scheme's verdict, and what it rests on.
type one struct {
	scheme  scheme
	verdict study.Verdict
	rank    float64 // to show the best where none holds
	comps   []*study.Comparison
	numbers string
}

// any makes a part that holds if one of the schemes does.
func anyOf(text string, all []one) study.Part {
	p := study.Part{Text: text, Verdict: study.Undecided}
	if len(all) == 0 {
		return p
	}
	var vs []study.Verdict
	best, count := 0, 0
	for i, o := range all {
		vs = append(vs, o.verdict)
		better := o.rank > all[best].rank
		if (o.verdict == study.Holds) != (all[best].verdict == study.Holds) {
			better = o.verdict == study.Holds
		}
		if better {
			best = i
		}
		if o.verdict == study.Holds {
			count++
		}
	}
	p.Verdict = study.Or(vs...)
	p.Comparisons = all[best].comps
	p.Numbers = fmt.Sprintf("%d of %d hold; the best, %s: %s", count, len(all), all[best].scheme, all[best].numbers)
	return p
}

func h3(d *study.Data) study.Claim {
	by := func(f *study.Family, measure string, p point, aqms []string, mode, text string) study.Part {
		base, dt := p, droptail.String()
		base.buffer = deep
		var all []one
		for _, s := range swept(d, p, aqms, mode) {
			thr := f.Ratio("thr_mbps", p.String(), s.String(), base.String(), dt)
			lat := f.Ratio(measure, p.String(), s.String(), base.String(), dt)
			all = append(all, one{
				s, study.And(thr.Above(full), lat.Below(less)), min(thr.Diff/full, less/lat.Diff),
				[]*study.Comparison{thr, lat},
				fmt.Sprintf("throughput %s of drop-tail's, latency %s (%.4g us, drop-tail %.4g us)", short(thr), short(lat), lat.MeanA, lat.MeanB),
			})
		}
		return anyOf(text+", "+p.words(), all)
	}
	part := func(f *study.Family, p point, aqms []string, mode, text string) study.Part {
		return by(f, "lat_mean_us", p, aqms, mode, text)
	}
	return judge(d, "H3",
		func(f *study.Family) (parts []study.Part) {
			for _, kind := range kinds {
				parts = append(parts, part(f, at(deep, kind), sweeps, "acksyn", "ACK and SYN protected, some AQM at some target"))
			}
			return parts
		},
		func(f *study.Family) (parts []study.Part) {
			for _, kind := range kinds {
				for _, a := range sweeps {
					parts = append(parts, part(f, at(deep, kind), []string{a}, "acksyn", titles[a]+" with ACK and SYN protected"))
				}
				parts = append(parts, part(f, at(deep, kind), sweeps, "default", "unprotected"),
					part(f, at(deep, kind), []string{"k"}, "", "threshold"), part(f, at(shallow, kind), []string{"k"}, "", "threshold"),
					part(f, at(shallow, kind), sweeps, "acksyn", "ACK and SYN protected"))
				parts = append(parts, by(f, "queue_mean_us", at(deep, kind), sweeps, "acksyn", "the wait at ports alone, ACK and SYN protected"),
					by(f, "queue_mean_us", at(deep, kind), []string{"k"}, "", "the wait at ports alone, threshold"))
				p := at(deep, kind)
				p.rto = shortRTO
				parts = append(parts, part(f, p, sweeps, "acksyn", "ACK and SYN protected"), part(f, p, []string{"k"}, "", "threshold"))
				for _, variant := range []string{"window", "long"} {
					p := at(deep, kind)
					p.variant = variant
					parts = append(parts, part(f, p, sweeps, "acksyn", "ACK and SYN protected"), part(f, p, []string{"k"}, "", "threshold"))
				}
			}
			return parts
		})
}

func h4(d *study.Data) study.Claim {
	part := func(f *study.Family, kind string, rto time.Duration, aqms []string, mode, text string) study.Part {
		low, high := at(shallow, kind), at(deep, kind)
		low.rto, high.rto = rto, rto
		var all []one
		for _, s := range swept(d, low, aqms, mode) {
			if !d.Has(high.String(), s.String()) {
				continue
			}
			same := f.Ratio("thr_mbps", low.String(), s.String(), high.String(), s.String())
			dt := f.Ratio("thr_mbps", low.String(), s.String(), high.String(), droptail.String())
			all = append(all, one{
				s, study.And(same.Above(reaches), dt.Above(reaches)), min(same.Diff, dt.Diff),
				[]*study.Comparison{same, dt},
				fmt.Sprintf("throughput on shallow buffers %s of its own on deep ones, %s of drop-tail's on deep ones", short(same), short(dt)),
			})
		}
		low.buffer = deep // for the words
		return anyOf(text+strings.TrimPrefix(low.words(), "deep"), all)
	}
	return judge(d, "H4",
		func(f *study.Family) (parts []study.Part) {
			for _, kind := range kinds {
				parts = append(parts, part(f, kind, longRTO, sweeps, "acksyn", "ACK and SYN protected"), part(f, kind, longRTO, []string{"k"}, "", "threshold"))
			}
			return parts
		},
		func(f *study.Family) (parts []study.Part) {
			for _, kind := range kinds {
				for _, a := range sweeps {
					parts = append(parts, part(f, kind, longRTO, []string{a}, "acksyn", titles[a]+" with ACK and SYN protected"))
				}
				parts = append(parts, part(f, kind, longRTO, sweeps, "default", "unprotected"), part(f, kind, longRTO, []string{"ks"}, "", "threshold in sojourn time"),
					part(f, kind, shortRTO, sweeps, "acksyn", "ACK and SYN protected"), part(f, kind, shortRTO, []string{"k"}, "", "threshold"))
			}
			return parts
		})
}

// front returns the schemes that no other has both more throughput and less latency
// than, by the means.
func front(d *study.Data, at string, all []scheme) (out []scheme) {
	for _, s := range all {
		beaten := false
		for _, o := range all {
			if d.Mean(at, o.String(), "thr_mbps") > d.Mean(at, s.String(), "thr_mbps") && d.Mean(at, o.String(), "lat_mean_us") < d.Mean(at, s.String(), "lat_mean_us") {
				beaten = true
			}
		}
		if !beaten {
			out = append(out, s)
		}
	}
	return out
}

func h5(d *study.Data) study.Claim {
	part := func(f *study.Family, p point, thresholds []scheme, text string) study.Part {
		at := p.String()
		best := front(d, at, thresholds)
		out := study.Part{Text: text + ", " + p.words(), Verdict: study.Holds}
		var beaten, open []string
		n := 0
		for _, mode := range []string{"default", "ece", "acksyn", "all"} {
			for _, s := range swept(d, p, sweeps, mode) {
				v := study.Holds // that it beats none
				for _, t := range best {
					thr := f.Ratio("thr_mbps", at, s.String(), at, t.String())
					lat := f.Ratio("lat_mean_us", at, s.String(), at, t.String())
					beats := study.And(thr.Above(noiseThr), lat.Below(noiseLat))
					if beats == study.Holds {
						out.Comparisons = append(out.Comparisons, thr, lat)
						beaten = append(beaten, fmt.Sprintf("%s beats %s: throughput %s, latency %s", s, t, short(thr), short(lat)))
					}
					v = study.And(v, study.Not(beats))
				}
				if v == study.Undecided {
					open = append(open, s.String())
				}
				n++
				out.Verdict = study.And(out.Verdict, v)
			}
		}
		if n == 0 || len(best) == 0 {
			out.Verdict = study.Undecided
		}
		var names []string
		for _, t := range best {
			names = append(names, fmt.Sprintf("%s (%.4g Mb/s, %.4g us)", t, d.Mean(at, t.String(), "thr_mbps"), d.Mean(at, t.String(), "lat_mean_us")))
		}
		out.Numbers = fmt.Sprintf("%d AQM points against %s; beaten: %s; undecided: %s", n, strings.Join(names, ", "), list(beaten), list(open))
		return out
	}
	over := func(f *study.Family, aqm string) (parts []study.Part) {
		for _, buffer := range []int{deep, shallow} {
			for _, kind := range kinds {
				parts = append(parts, part(f, at(buffer, kind), swept(d, at(buffer, kind), []string{aqm}, ""), titles[aqm]))
			}
		}
		return parts
	}
	return judge(d, "H5",
		func(f *study.Family) []study.Part { return over(f, "k") },
		func(f *study.Family) []study.Part { return over(f, "ks") })
}

func list(all []string) string {
	switch {
	case len(all) == 0:
		return "none"
	case len(all) > 12:
		return fmt.Sprint(len(all), " of them")
	}
	return strings.Join(all, ", ")
}

func h6(d *study.Data) study.Claim {
	part := func(f *study.Family, p point, s scheme) study.Part {
		at, dt := p.String(), droptail.String()
		def, all := s.asMode("default").String(), s.asMode("all").String()
		hurt := f.Ratio("plain_mean_ms", at, def, at, dt)
		lost := f.Compare("probe_loss_pct", at, def, at, dt)
		healed := f.Ratio("plain_mean_ms", at, all, at, dt)
		kept := f.Compare("probe_loss_pct", at, all, at, dt)
		return study.Part{
			Text:    fmt.Sprintf("%s at %v, %s", titles[s.aqm], s.target, p.words()),
			Verdict: study.And(hurt.Above(1), lost.Above(0), healed.Below(repaired), kept.Below(repairedPC)),
			Numbers: fmt.Sprintf("plain TCP's mean response %.4g ms in default mode, %.4g ms with all protected, %.4g ms with ACK and SYN, drop-tail %.4g ms: ratios %s and %s; datagrams lost %.3g %%, %.3g %%, %.3g %%, drop-tail %.3g %%: differences %s and %s",
				hurt.MeanA, healed.MeanA, d.Mean(at, s.asMode("acksyn").String(), "plain_mean_ms"), hurt.MeanB, short(hurt), short(healed),
				lost.MeanA, kept.MeanA, d.Mean(at, s.asMode("acksyn").String(), "probe_loss_pct"), lost.MeanB, short(lost), short(kept)),
			Comparisons: []*study.Comparison{hurt, lost, healed, kept},
		}
	}
	over := func(f *study.Family, aqms []string, targets ...time.Duration) (parts []study.Part) {
		for _, a := range aqms {
			for _, t := range targets {
				for _, buffer := range []int{deep, shallow} {
					p, s := at(buffer, "ecn"), scheme{aqm: a, target: t}
					p.mixed = true
					if d.Has(p.String(), s.asMode("all").String()) {
						parts = append(parts, part(f, p, s))
					}
				}
			}
		}
		return parts
	}
	return judge(d, "H6",
		func(f *study.Family) []study.Part { return over(f, published, aggressive) },
		func(f *study.Family) []study.Part {
			return append(over(f, variants, aggressive), over(f, sweeps, 200*us, 500*us)...)
		})
}
