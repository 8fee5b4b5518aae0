package hadoop

import (
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/bench/study"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/shuffle"
)

// point is where schemes meet: equal seeds give equal jobs.
type point struct {
	buffer int
	tcp    string // ecn, dctcp
	rto    time.Duration
	mixed  bool // with plain TCP and datagrams
	// one thing changed, to look into what came out: window (the receivers') or long
	// (the job)
	variant string
}

// String returns the point's name, such as 1000-dctcp-200ms.
func (p point) String() string {
	s := fmt.Sprintf("%d-%s-%dms", p.buffer, p.tcp, p.rto.Milliseconds())
	if p.mixed {
		s += "-mixed"
	}
	if p.variant != "" {
		s += "-" + p.variant
	}
	return s
}

// at is the main point of a buffer and a kind of TCP.
func at(buffer int, tcp string) point { return point{buffer: buffer, tcp: tcp, rto: longRTO} }

// kinds of TCP.
var kinds = []string{"ecn", "dctcp"}

// group is a set of schemes at a point.
type group struct {
	point   point
	schemes []scheme
	seeds   int
}

// The seeds of a scheme at a point. How many a claim needs was estimated from a first run
// of six seeds, 1 to 6, which left parts undecided: the verdicts of the reproduction
// rest on other seeds, from 101 on. Where two schemes have different numbers of seeds
// they meet on those that both have.
const (
	closeSeeds  = 48 // what a part hangs on that lies near its margin
	mainSeeds   = 20 // what parts rest on
	sweepSeeds  = 9  // the rest of the sweeps: in H5 alone, and further from the thresholds
	insideSeeds = 5  // what shows why a part failed
	otherSeeds  = 3  // what no claim rests on
	fewSeeds    = 2
	quickSeeds  = 3
)

// thresholds returns the marking threshold over targets.
func thresholds(targets []time.Duration) []scheme {
	return append(cross([]string{"k"}, targets, ""), cross([]string{"ks"}, targets, "")...)
}

// groups returns the grid. Of a scheme that two groups of a point have, the first counts.
func groups(full bool) (all []group) {
	taken := map[string]bool{}
	add := func(p point, seeds int, parts ...[]scheme) {
		g := group{point: p, seeds: seeds}
		for _, part := range parts {
			for _, s := range part {
				if id := p.String() + "/" + s.String(); !taken[id] {
					taken[id] = true
					g.schemes = append(g.schemes, s)
				}
			}
		}
		all = append(all, g)
	}
	dt, one := []scheme{droptail}, []time.Duration{aggressive}
	if !full {
		for _, buffer := range []int{shallow, deep} {
			for _, kind := range kinds {
				add(at(buffer, kind), quickSeeds, dt, cross(sweeps, quickTargets, "default", "acksyn"), thresholds(quickTargets))
			}
		}
		mixed := at(deep, "ecn")
		mixed.mixed = true
		add(mixed, quickSeeds, dt, cross(sweeps, one, "default", "acksyn", "all"), cross([]string{"k"}, one, ""))
		return all
	}
	// The first run put H1, H2 and H6 near their margins at CoDel on shallow buffers
	// with TCP-ECN, and nowhere else.
	codel, mixed := []string{"codel"}, at(shallow, "ecn")
	mixed.mixed = true
	add(at(shallow, "ecn"), closeSeeds, dt, cross(codel, one, "default", "acksyn"))
	add(mixed, closeSeeds, dt, cross(codel, one, "default", "all"))
	for _, buffer := range []int{shallow, deep} {
		targets, long := deepTargets, []time.Duration{500 * us, 1000 * us, 3000 * us}
		if buffer == shallow {
			targets, long = shallowTargets, long[:2]
		}
		for _, kind := range kinds {
			p := at(buffer, kind)
			add(p, mainSeeds, dt, cross(published, one, "default"), cross(sweeps, targets, "acksyn"), cross([]string{"k"}, targets, ""),
				// These come near to beating a threshold (H5).
				cross(variants, long, "default"), cross(variants, someTargets, "ece", "all"), cross(codel, one, "ece", "all"))
			add(p, sweepSeeds, cross(sweeps, targets, "default"), cross(sweeps, someTargets, "ece", "all"))
			add(p, otherSeeds, cross([]string{"ks"}, targets, ""))
		}
	}
	for _, buffer := range []int{shallow, deep} {
		p := at(buffer, "ecn")
		p.mixed = true
		add(p, mainSeeds, dt, cross(published, one, "default", "all"))
		add(p, otherSeeds, cross(sweeps, []time.Duration{aggressive, 200 * us}, "default", "acksyn", "all"), cross([]string{"k"}, []time.Duration{aggressive, 200 * us}, ""))
	}
	for _, kind := range kinds {
		beyond := append(cross([]string{"pie", "pi"}, []time.Duration{200 * us, 1000 * us}, "default", "acksyn"), cross([]string{"pie-dc"}, []time.Duration{0}, "default", "acksyn")...)
		add(at(deep, kind), fewSeeds,
			with("carry", cross(sweeps, someTargets, "acksyn")),
			with("guideline", cross([]string{"red"}, someTargets, "default", "acksyn")),
			beyond)
	}
	for _, buffer := range []int{shallow, deep} {
		for _, kind := range kinds {
			p := at(buffer, kind)
			p.rto = shortRTO
			add(p, otherSeeds, dt, cross(sweeps, []time.Duration{aggressive, 200 * us}, "default", "acksyn"), cross([]string{"k"}, []time.Duration{50 * us, 200 * us, 500 * us}, ""))
		}
	}
	for _, kind := range kinds {
		add(at(between, kind), insideSeeds, cross(codel, one, "default", "acksyn"))
	}
	for _, buffer := range []int{between, 500, 2000, 4000} {
		for _, kind := range kinds {
			add(at(buffer, kind), fewSeeds, dt, cross([]string{"red"}, []time.Duration{aggressive, 200 * us}, "default", "acksyn"), cross([]string{"k"}, []time.Duration{200 * us, 500 * us}, ""))
		}
	}
	for _, kind := range kinds {
		for _, variant := range []string{"window", "long"} {
			p := at(deep, kind)
			p.variant = variant
			add(p, fewSeeds, dt, cross([]string{"red", "redi"}, []time.Duration{aggressive, 200 * us}, "default", "acksyn"), cross([]string{"k"}, []time.Duration{aggressive, 200 * us}, ""))
		}
	}
	return all
}

// Study returns the study.
func Study() *study.Study {
	return &study.Study{
		Name:   "hadoop",
		Title:  "The marking threshold and what cannot be marked, on a MapReduce cluster",
		Plan:   plan,
		Report: report,
	}
}

func plan(o study.Options) (*study.Plan, error) {
	p := &study.Plan{Parameters: struct {
		Table   []Parameter      `json:"table"`
		Cluster shuffle.Network  `json:"cluster"`
		Job     shuffle.Job      `json:"job"`
		Service shuffle.Requests `json:"service"`
		Plain   shuffle.Requests `json:"plain"`
		Probes  shuffle.Probes   `json:"probes"`
	}{Parameters(), cluster, jobOf(o.Full), service, plain, probes}}
	for _, g := range groups(o.Full) {
		for i := range o.SeedsOr(g.seeds) {
			for _, s := range g.schemes {
				seed := o.Seed + uint64(i)
				p.Cells = append(p.Cells, study.Cell{
					Point: g.point.String(), Scheme: s.String(), Seed: seed,
					Run: func() (*study.Measures, error) { return run(g.point, s, seed, o.Full) },
				})
			}
		}
	}
	p.Cells = append(p.Cells, floodCells(o)...)
	p.Cells = append(p.Cells, outsideCells(o)...)
	return p, nil
}

// jobOf returns the job of a profile.
func jobOf(full bool) shuffle.Job {
	j := terasort
	if !full {
		j.Output /= quickPart
		j.MapTime /= quickPart
	}
	return j
}

// configure returns a run.
func configure(p point, s scheme, seed uint64, j shuffle.Job) shuffle.Config {
	c := shuffle.Config{
		Network: cluster, TCP: senders(p.tcp, p.rto), Job: j, Service: service, Seed: seed,
		MakeAQM: func(port shuffle.Port) (aqm.AQM, error) { return s.make(seed, port) },
		Limit:   10 * time.Minute,
	}
	c.Network.Buffer = p.buffer
	if p.mixed {
		c.Plain, c.Probes = plain, probes
	}
	switch p.variant {
	case "window":
		c.TCP.ReceiveWindow *= windowTimes
	case "long":
		c.Job.Output *= longTimes
		c.Job.MapTime *= longTimes
	}
	return c
}

func run(p point, s scheme, seed uint64, full bool) (*study.Measures, error) {
	r, err := shuffle.Run(configure(p, s, seed, jobOf(full)))
	if err != nil {
		return nil, err
	}
	return measures(r, p.mixed), nil
}

// The classes of packets, in the order of netmodel's kinds.
var classes = []string{"data", "ack", "syn", "synack", "other"}

// control are those that ACK+SYN protects.
var control = []netmodel.Kind{netmodel.KindPureACK, netmodel.KindSYN, netmodel.KindSYNACK}

// measures returns what is kept of a run.
func measures(r *shuffle.Result, mixed bool) *study.Measures {
	v := map[string]float64{
		"run_s":         r.RunTime.Seconds(),
		"thr_mbps":      r.Throughput / 1e6,
		"lat_mean_us":   micros(r.Latency[netmodel.KindData].Mean()),
		"lat_p99_us":    micros(r.Latency[netmodel.KindData].Quantile(.99)),
		"queue_mean_us": micros(r.Queue.Mean()),
		"svc_mean_ms":   r.Service.Time.Mean().Seconds() * 1e3,
		"svc_p99_ms":    r.Service.Time.Quantile(.99).Seconds() * 1e3,
		"svc_requests":  float64(r.Service.Time.Count()),
		"fetches":       float64(r.Fetches),
		"mark_pct":      percent(r.Kinds[netmodel.KindData].Marked, r.Kinds[netmodel.KindData].Arrived),
	}
	for k, name := range classes {
		c := r.Kinds[k]
		v[name+"_arrived"] = float64(c.Arrived)
		v[name+"_early"] = float64(c.Early + c.Forced)
		v[name+"_overflow"] = float64(c.Overflow)
		v[name+"_early_pct"] = percent(c.Early+c.Forced, c.Arrived)
		v[name+"_loss_pct"] = percent(c.Dropped(), c.Arrived)
	}
	var early, arrived uint64
	for _, k := range control {
		early += r.Kinds[k].Early + r.Kinds[k].Forced
		arrived += r.Kinds[k].Arrived
	}
	v["control_early_pct"] = percent(early, arrived)
	v["control_above"] = v["control_early_pct"] - farAbove*v["data_loss_pct"]
	all := r.TCP
	s := r.Service.TCP
	conns := float64(all.Connections + s.Connections)
	v["handshakes_pm"] = 1e3 * float64(all.Handshakes+s.Handshakes) / conns
	v["stalls_pm"] = 1e3 * float64(all.Stalls) / float64(all.Connections)
	v["retransmits_pct"] = percent(all.Retransmits, all.Segments)
	v["given_up"] = float64(all.GivenUp + s.GivenUp + r.Plain.TCP.GivenUp)
	if mixed {
		p, u := r.Flows[shuffle.FlowPlain], r.Flows[shuffle.FlowProbes]
		v["plain_mean_ms"] = r.Plain.Time.Mean().Seconds() * 1e3
		v["plain_p99_ms"] = r.Plain.Time.Quantile(.99).Seconds() * 1e3
		v["plain_loss_pct"] = percent(p.Dropped(), p.Arrived)
		v["probe_loss_pct"] = percent(u.Dropped(), r.Probes)
		v["probe_mean_us"] = micros(r.Latency[netmodel.KindOther].Mean())
		v["probe_p99_us"] = micros(r.Latency[netmodel.KindOther].Quantile(.99))
	}
	return &study.Measures{Values: v}
}

func micros(d time.Duration) float64 { return d.Seconds() * 1e6 }

func percent(n, of uint64) float64 { return 100 * float64(n) / float64(max(of, 1)) }
