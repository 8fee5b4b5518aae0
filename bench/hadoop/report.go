package hadoop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/bench/study"
)

// report makes the report of the data alone.
func report(o study.Options, d *study.Data) (*study.Report, error) {
	j := jobOf(o.Full)
	r := &study.Report{
		Title: "The marking threshold and what cannot be marked, on a MapReduce cluster",
		Lead: fmt.Sprintf("%d racks of %d nodes on 1 Gb/s, 10 Gb/s between them; a shuffle of %d MiB per node (%d maps of %d MiB, %d reducers of %d fetches at a time), beside a service of small requests. Reproduced from the abstract of R. Fischer e Silva and P. M. Carpenter, \"TCP Proactive Congestion Control for East-West Traffic: the Marking Threshold\"; what is not in it is assumed, see the table of parameters.",
			cluster.Racks, cluster.Nodes, int64(j.Maps)*j.Output>>20, j.Maps, j.Output>>20, j.Reducers, j.Parallel),
		Claims: claims(d),
	}
	r.Sections = append(r.Sections, mainSections(d)...)
	r.Sections = append(r.Sections, dropSection(d))
	r.Sections = append(r.Sections, otherSections(d)...)
	r.Sections = append(r.Sections, mixedSection(d), floodSection(o, d), outsideSection(d), parameterSection())
	r.Sections = slices.DeleteFunc(r.Sections, func(s study.Section) bool { return len(s.Tables)+len(s.Figures) == 0 })
	return r, nil
}

func number(x float64, digits int) string { return strconv.FormatFloat(x, 'g', digits, 64) }

// fixed prints without an exponent.
func fixed(x float64, decimals int) string { return strconv.FormatFloat(x, 'f', decimals, 64) }

// ratio prints a measure over that of another scheme.
func ratio(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fixed(a/b, 3)
}

const tableNote = "run and throughput relative to drop-tail on shallow buffers, latency to drop-tail with the same buffer. ACK, SYN (with SYN-ACK) and data: lost, in per cent of what arrived at ports. queue: the mean time in a port's queue. Handshake timeouts per 1000 connections, stalls (later timeouts) per 1000 fetches. Means over the seeds, of which schemes have different numbers; relative values are of those that both schemes have."

// table returns the measures of all schemes at a point.
func table(d *study.Data, p point, schemes []string) study.Table {
	at, base := p.String(), p
	if p.variant == "" {
		base.buffer = shallow
	}
	dt := droptail.String()
	t := study.Table{
		Title: "Measures: " + p.words(), Note: tableNote,
		Columns: []string{
			"scheme", "seeds", "run s", "rel", "Mb/s per node", "rel", "latency us", "rel", "p99 us", "queue us", "service ms", "p99 ms",
			"data %", "ACK %", "SYN %", "marked %", "handshake t/o", "stalls", "sent again %",
		},
	}
	for _, s := range schemes {
		m := func(name string) float64 { return d.Mean(at, s, name) }
		rel := func(measure, base string) string { return ratio(d.Means(measure, at, s, base, dt)) }
		syn := 0.
		if n := m("syn_arrived") + m("synack_arrived"); n > 0 {
			syn = 100 * (m("syn_early") + m("syn_overflow") + m("synack_early") + m("synack_overflow")) / n
		}
		t.Rows = append(t.Rows, []string{
			s, fmt.Sprint(len(d.Seeds(at, s))), fixed(m("run_s"), 3), rel("run_s", base.String()), fixed(m("thr_mbps"), 1), rel("thr_mbps", base.String()),
			fixed(m("lat_mean_us"), 0), rel("lat_mean_us", at), fixed(m("lat_p99_us"), 0), fixed(m("queue_mean_us"), 0),
			fixed(m("svc_mean_ms"), 3), fixed(m("svc_p99_ms"), 2),
			number(m("data_loss_pct"), 3), number(m("ack_loss_pct"), 3), number(syn, 3), fixed(m("mark_pct"), 2),
			fixed(m("handshakes_pm"), 2), fixed(m("stalls_pm"), 1), number(m("retransmits_pct"), 3),
		})
	}
	return t
}

// plain schemes have no extra, and are of the paper.
func ofPaper(s string) bool {
	return !strings.HasPrefix(s, "pi") && !strings.Contains(s, "carry") && !strings.Contains(s, "guideline")
}

// mainPoints are the points at the long RTO.
func mainPoints(d *study.Data) (all []point) {
	for _, buffer := range []int{deep, shallow} {
		for _, kind := range kinds {
			if p := at(buffer, kind); d.Has(p.String(), droptail.String()) {
				all = append(all, p)
			}
		}
	}
	return all
}

func mainSections(d *study.Data) (all []study.Section) {
	for _, p := range mainPoints(d) {
		schemes := d.Schemes(p.String())
		s := study.Section{Title: "Sweep: " + p.words()}
		s.Tables = append(s.Tables, table(d, p, keep(schemes, ofPaper)))
		s.Figures = append(s.Figures, sweepFigure(d, p, "throughput", "thr_mbps", "throughput per node (Mb/s)"),
			sweepFigure(d, p, "latency", "lat_mean_us", "mean latency of data packets (us)"), paretoFigure(d, p), dropFigure(d, p))
		all = append(all, s)
	}
	return all
}

func keep(all []string, want func(string) bool) (out []string) {
	for _, s := range all {
		if want(s) {
			out = append(out, s)
		}
	}
	return out
}

// legend is how much wider figures are than what they show, for the legend.
const legend = 6

// lines of the figures: an algorithm and a mode.
var lines = []struct {
	aqm, mode string
	color     int
	dashed    bool
}{
	{"red", "default", 2, true},
	{"red", "acksyn", 2, false},
	{"redi", "default", 5, true},
	{"redi", "acksyn", 5, false},
	{"codel", "default", 3, true},
	{"codel", "acksyn", 3, false},
	{"k", "", 1, false},
	{"ks", "", 6, false},
}

func lineName(aqm, mode string) string {
	n := titles[aqm]
	switch mode {
	case "default":
		n += ", default"
	case "acksyn":
		n += ", ACK+SYN"
	}
	return n
}

// along returns a measure over the targets.
func along(d *study.Data, p point, aqm, mode, measure string) (x, y []float64) {
	for _, s := range swept(d, p, []string{aqm}, mode) {
		x = append(x, micros(s.target))
		y = append(y, d.Mean(p.String(), s.String(), measure))
	}
	return x, y
}

func sweepFigure(d *study.Data, p point, name, measure, label string) study.Figure {
	f := study.Figure{
		Name: name + "-" + p.String(), Title: label + " against target: " + p.words(),
		Caption: "Dashed: default mode. Drop-tail is the same at every target.",
		XLabel:  "target delay (us)", YLabel: label, LogX: true, LogY: measure == "lat_mean_us",
	}
	var xs []float64
	for _, l := range lines {
		x, y := along(d, p, l.aqm, l.mode, measure)
		if len(x) > len(xs) {
			xs = x
		}
		f.Series = append(f.Series, study.Series{Name: lineName(l.aqm, l.mode), X: x, Y: y, Dashed: l.dashed, Color: l.color})
	}
	if len(xs) > 0 {
		dt := d.Mean(p.String(), droptail.String(), measure)
		f.Series = append(f.Series, study.Series{Name: "drop-tail", X: []float64{xs[0], xs[len(xs)-1]}, Y: []float64{dt, dt}, Color: 8})
		f.XMin, f.XMax = .8*xs[0], legend*xs[len(xs)-1]
	}
	return f
}

// paretoFigure shows every scheme, and the front of all.
func paretoFigure(d *study.Data, p point) study.Figure {
	at := p.String()
	f := study.Figure{
		Name: "front-" + at, Title: "throughput against latency: " + p.words(),
		Caption: "Every scheme at every target. The line joins those that no other has both more throughput and less latency than.",
		XLabel:  "mean latency of data packets (us)", YLabel: "throughput per node (Mb/s)", LogX: true,
	}
	of := func(s string) (x, y float64) { return d.Mean(at, s, "lat_mean_us"), d.Mean(at, s, "thr_mbps") }
	groups := []struct {
		name  string
		color int
		want  func(string) bool
	}{
		{"drop-tail", 8, func(s string) bool { return s == "droptail" }},
		{"threshold", 1, func(s string) bool { return strings.HasPrefix(s, "k-") || strings.HasPrefix(s, "ks-") }},
		{"RED and CoDel, default", 2, func(s string) bool { return ofPaper(s) && strings.HasSuffix(s, "-default") }},
		{"RED and CoDel, ECE bit", 5, func(s string) bool { return ofPaper(s) && strings.HasSuffix(s, "-ece") }},
		{"RED and CoDel, ACK+SYN or all", 3, func(s string) bool {
			return ofPaper(s) && (strings.HasSuffix(s, "-acksyn") || strings.HasSuffix(s, "-all"))
		}},
		{"PIE and PI, default", 4, func(s string) bool { return strings.HasPrefix(s, "pi") && strings.HasSuffix(s, "-default") }},
		{"PIE and PI, ACK+SYN", 6, func(s string) bool { return strings.HasPrefix(s, "pi") && strings.HasSuffix(s, "-acksyn") }},
	}
	for _, g := range groups {
		s := study.Series{Name: g.name, Points: true, Color: g.color}
		for _, name := range keep(d.Schemes(at), g.want) {
			x, y := of(name)
			s.X, s.Y = append(s.X, x), append(s.Y, y)
		}
		f.Series = append(f.Series, s)
	}
	names := keep(d.Schemes(at), func(s string) bool { return !strings.Contains(s, "carry") && !strings.Contains(s, "guideline") })
	slices.SortStableFunc(names, func(a, b string) int {
		x, _ := of(a)
		y, _ := of(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	line, top := study.Series{Name: "front", Color: 7}, -1.
	for _, name := range names {
		if x, y := of(name); y > top {
			top = y
			line.X, line.Y, line.Labels = append(line.X, x), append(line.Y, y), append(line.Labels, name)
		}
	}
	f.Series = append(f.Series, line)
	return f
}

// dropFigure shows what each class loses in default mode.
func dropFigure(d *study.Data, p point) study.Figure {
	f := study.Figure{
		Name: "drops-" + p.String(), Title: "lost by class, default mode: " + p.words(),
		Caption: "In per cent of the class's arrivals at ports. Nothing lost is not drawn.",
		XLabel:  "target delay (us)", YLabel: "lost (%)", LogX: true, LogY: true,
	}
	var last float64
	for _, a := range sweeps {
		for _, class := range []string{"ack", "syn", "synack", "data"} {
			x, y := along(d, p, a, "default", class+"_loss_pct")
			f.Series = append(f.Series, study.Series{Name: titles[a] + ": " + class, X: x, Y: y, Dashed: class == "data", Color: len(f.Series) + 1})
			if len(x) > 0 {
				last = max(last, x[len(x)-1])
				f.XMin, f.XMax = .8*x[0], legend*last
			}
		}
	}
	return f
}

// dropSection counts the drops of each class.
func dropSection(d *study.Data) study.Section {
	s := study.Section{Title: "Drops by class"}
	for _, p := range mainPoints(d) {
		at := p.String()
		t := study.Table{
			Title: "Packets dropped: " + p.words(), Note: "early: by the algorithm; full: for want of room. Sums over all ports, means over the seeds.",
			Columns: []string{"scheme", "data", "early", "full", "ACK", "early", "full", "SYN", "early", "full", "SYN-ACK", "early", "full", "other", "early", "full"},
		}
		for _, name := range keep(d.Schemes(at), ofPaper) {
			row := []string{name}
			for _, c := range classes {
				for _, what := range []string{"_arrived", "_early", "_overflow"} {
					row = append(row, fixed(d.Mean(at, name, c+what), 0))
				}
			}
			t.Rows = append(t.Rows, row)
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

// otherSections are what is beyond the main sweeps.
func otherSections(d *study.Data) (all []study.Section) {
	beyond := study.Section{Aside: true, Title: "Beyond the paper: PIE and PI, Carry, the guideline", Text: "Carry gives a protected packet's signal to the next that can be marked. The schemes named guideline drop ECN-capable packets where RED is past its upper threshold (RFC 3168 section 7)."}
	for _, p := range mainPoints(d) {
		names := keep(d.Schemes(p.String()), func(s string) bool { return !ofPaper(s) })
		if len(names) > 0 {
			beyond.Tables = append(beyond.Tables, table(d, p, append([]string{droptail.String()}, names...)))
		}
	}
	rto := study.Section{Aside: true, Title: "A minimum RTO of 10 ms"}
	for _, buffer := range []int{deep, shallow} {
		for _, kind := range kinds {
			p := at(buffer, kind)
			p.rto = shortRTO
			if names := d.Schemes(p.String()); len(names) > 0 {
				rto.Tables = append(rto.Tables, table(d, p, names))
			}
		}
	}
	buffers := study.Section{Aside: true, Title: "Other buffers"}
	for _, kind := range kinds {
		for _, buffer := range []int{between, 500, 2000, 4000} {
			p := at(buffer, kind)
			if names := d.Schemes(p.String()); len(names) > 0 {
				buffers.Tables = append(buffers.Tables, table(d, p, names))
			}
		}
		if d.Has(at(between, kind).String(), droptail.String()) {
			buffers.Figures = append(buffers.Figures, bufferFigure(d, kind, "thr_mbps", "throughput per node (Mb/s)"), bufferFigure(d, kind, "lat_mean_us", "mean latency of data packets (us)"))
		}
	}
	changed := study.Section{Aside: true, Title: "One thing changed", Text: "To look into what came out: receive windows that fill deep buffers more, and a job that is longer beside timeouts of 0.2 and 1 s."}
	for _, kind := range kinds {
		for _, variant := range []string{"window", "long"} {
			p := at(deep, kind)
			p.variant = variant
			if names := d.Schemes(p.String()); len(names) > 0 {
				t := table(d, p, names)
				// The base would be a shallow point of the variant, which was not run.
				t.Note = strings.Replace(t.Note, "run and throughput relative to drop-tail on shallow buffers, latency to drop-tail with the same buffer.", "Relative to drop-tail here.", 1)
				changed.Tables = append(changed.Tables, t)
			}
		}
	}
	return []study.Section{beyond, rto, buffers, changed}
}

func bufferFigure(d *study.Data, kind, measure, label string) study.Figure {
	f := study.Figure{
		Name: strings.TrimSuffix(measure, "_mbps") + "-buffers-" + kind, Title: label + " against buffer: " + strings.TrimPrefix(at(deep, kind).words(), "deep, "),
		XLabel: "buffer (packets)", YLabel: label, LogX: true, LogY: measure == "lat_mean_us",
	}
	for i, s := range []scheme{
		droptail,
		{aqm: "k", target: 200 * us},
		{aqm: "k", target: 500 * us},
		{aqm: "red", target: 200 * us, mode: "default"},
		{aqm: "red", target: 200 * us, mode: "acksyn"},
	} {
		line := study.Series{Name: s.String(), Color: []int{8, 1, 6, 2, 3}[i]}
		for _, b := range []int{100, 200, 500, 1000, 2000, 4000} {
			if p := at(b, kind); d.Has(p.String(), s.String()) {
				line.X, line.Y = append(line.X, float64(b)), append(line.Y, d.Mean(p.String(), s.String(), measure))
			}
		}
		f.Series = append(f.Series, line)
	}
	return f
}

func mixedSection(d *study.Data) study.Section {
	s := study.Section{Title: "Other traffic that is not ECN-capable"}
	for _, buffer := range []int{deep, shallow} {
		p := at(buffer, "ecn")
		p.mixed = true
		names := d.Schemes(p.String())
		if len(names) == 0 {
			continue
		}
		t := study.Table{
			Title: "Plain TCP and datagrams beside the job: " + p.words(), Note: "lost: in per cent of arrivals at ports (plain TCP), of what was sent (datagrams).",
			Columns: []string{"scheme", "run s", "plain TCP ms", "p99 ms", "lost %", "datagrams lost %", "us", "p99 us", "service ms", "p99 ms", "latency us"},
		}
		for _, name := range names {
			m := func(measure string) float64 { return d.Mean(p.String(), name, measure) }
			t.Rows = append(t.Rows, []string{
				name, fixed(m("run_s"), 3), fixed(m("plain_mean_ms"), 3), fixed(m("plain_p99_ms"), 2), number(m("plain_loss_pct"), 3),
				number(m("probe_loss_pct"), 3), fixed(m("probe_mean_us"), 0), fixed(m("probe_p99_us"), 0), fixed(m("svc_mean_ms"), 3), fixed(m("svc_p99_ms"), 2), fixed(m("lat_mean_us"), 0),
			})
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

func floodSection(o study.Options, d *study.Data) study.Section {
	s := study.Section{
		Title: "Floods", Text: fmt.Sprintf("A node receives from four others and sends to them as fast as it can, and answers the service of a fifth, while two attackers send 1 Gb/s each to its port of 1 Gb/s. RED on the instantaneous queue, or the threshold, at %v; buffer %d packets; %v are measured.", floodTarget, deep, floodTime(o.Full).Round(time.Millisecond)),
	}
	for _, f := range floods {
		p := "flood-" + f.name
		t := study.Table{
			Title:   "Flood: " + f.name,
			Note:    "in, out: what the node receives and sends, without retransmissions. ACK: of what it sends. unanswered: requests of the service.",
			Columns: []string{"guard", "in Mb/s", "out Mb/s", "queue packets", "delay us", "p99 us", "service ms", "p99 ms", "unanswered %", "data lost %", "ACK lost %", "flood passed Mb/s", "flood lost %"},
		}
		for _, g := range d.Schemes(p) {
			m := func(measure string) float64 { return d.Mean(p, g, measure) }
			t.Rows = append(t.Rows, []string{
				g, fixed(m("in_mbps"), 1), fixed(m("out_mbps"), 1), fixed(m("queue_packets"), 1), fixed(m("delay_mean_us"), 0), fixed(m("delay_p99_us"), 0),
				fixed(m("svc_mean_ms"), 3), fixed(m("svc_p99_ms"), 2), fixed(m("svc_open_pct"), 1), number(m("data_loss_pct"), 3), number(m("ack_loss_pct"), 3),
				fixed(m("flood_mbps"), 1), fixed(m("flood_loss_pct"), 1),
			})
		}
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	return s
}

func outsideSection(d *study.Data) study.Section {
	s := study.Section{Title: "Outside checks: what was published of DCTCP", Text: "M. Alizadeh et al., \"Data Center TCP (DCTCP)\", SIGCOMM 2010, section 4.1. At 1 Gb/s and K = 20 the queue is about K + N at 0.95 Gb/s. At 10 Gb/s TCP with RED (thresholds 50 and 150, weight 1/512) falls to 7.8 Gb/s, and is at 9.2 from a least threshold of 150 on, where DCTCP with K = 65 has all that drop-tail has: each switch with its own sender. Here both senders meet both queues, and what the result hangs on is changed one by one."}
	one := study.Table{Title: "Threshold of 20 packets at 1 Gb/s", Columns: []string{"run", "Gb/s", "queue at its top", "K + N", "within 3 packets"}}
	ten := study.Table{Title: "Two flows at 10 Gb/s, round trip 0.4 ms", Columns: []string{"run", "Gb/s", "published", "mean queue, packets"}}
	m := func(name, measure string) float64 { return d.Mean(outside, name, measure) }
	for _, name := range d.Schemes(outside) {
		if strings.Contains(name, "-10g") {
			continue
		}
		near := "no"
		if diff := m(name, "queue_max") - m(name, "queue_max_expected"); diff <= 3 && diff >= -3 && m(name, "gbps") >= .95 {
			near = "yes"
		}
		one.Rows = append(one.Rows, []string{name, fixed(m(name, "gbps"), 3), fixed(m(name, "queue_max"), 1), fixed(m(name, "queue_max_expected"), 0), near})
	}
	changed := study.Table{Title: "The same with one thing changed: Gb/s", Columns: []string{"changed"}}
	for _, sq := range tenGigs {
		if name := sq.cell(changes[0]); d.Has(outside, name) {
			ten.Rows = append(ten.Rows, []string{name, fixed(m(name, "gbps"), 2), sq.published(), fixed(m(name, "queue_mean"), 1)})
		}
		if !sq.aside {
			changed.Columns = append(changed.Columns, sq.kind+" "+sq.queue)
		}
	}
	for i, c := range changes {
		row, n := []string{c.words}, 0
		if i == 0 {
			row[0] = "nothing"
		}
		for _, sq := range tenGigs {
			if sq.aside {
				continue
			}
			cell := "-"
			if name := sq.cell(c); d.Has(outside, name) {
				cell = fixed(m(name, "gbps"), 2)
				n++
			}
			row = append(row, cell)
		}
		if n > 0 {
			changed.Rows = append(changed.Rows, row)
		}
	}
	for _, t := range []study.Table{one, ten, changed} {
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	return s
}

func parameterSection() study.Section {
	t := study.Table{Title: "Parameters", Columns: []string{"parameter", "value", "source"}}
	for _, p := range Parameters() {
		t.Rows = append(t.Rows, []string{p.Name, p.Value, p.Source})
	}
	return study.Section{Title: "Parameters and their sources", Tables: []study.Table{t}}
}
