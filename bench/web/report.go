package web

import (
	"fmt"
	"strings"

	"github.com/aqmkit/aqmkit/bench/study"
)

// report is made of the data alone.
func report(o study.Options, d *study.Data) (*study.Report, error) {
	r := &study.Report{
		Title: "The effects of AQM and ECN on web performance, reproduced",
		Lead: "Users browse over a link of 100 Mb/s that is congested from the servers to the clients, under drop-tail, PI, REM and Adaptive RED, " +
			"with and without ECN, and beyond the paper under RED, PIE, CoDel and a plain threshold. " +
			"A scheme's number is the queue in packets that it is to hold (drop-tail: its room); +ecn: the hosts use ECN; +reverse: packets are marked where RFC 3168 section 7 has them dropped; " +
			"+protect: no early drop of pure ACKs and SYN-ACKs; +all: of nothing that is not ECN-capable. " +
			"A response time is that from the opening of the connection for its first exchange, and from the writing of the request for those that follow; \"request\" is the reading without any handshake. " +
			"Intervals are 95 % over seeds, corrected for all tests of a claim.",
	}
	r.Claims = judged(d)
	r.Claims = append(r.Claims, rfcClaims(d)...)
	for _, load := range allLoads {
		if s := loadSection(d, load); len(s.Tables) > 0 {
			r.Sections = append(r.Sections, s)
		}
	}
	for _, s := range []study.Section{spreadSection(d), rfcSection(d), investigation(d)} {
		if len(s.Tables) > 0 {
			r.Sections = append(r.Sections, s)
		}
	}
	r.Sections = append(r.Sections, assumedSection())
	return r, nil
}

// column of a table of schemes.
type column struct {
	name, measure string
	scale         float64
	format        string
}

var responseColumns = []column{
	{"100 ms %", "share_100ms_handshake", 100, "%.1f"},
	{"500 ms %", "share_500ms_handshake", 100, "%.1f"},
	{"1 s %", "share_1s_handshake", 100, "%.1f"},
	{"2 s %", "share_2s_handshake", 100, "%.2f"},
	{">2 s %", "over_2s_handshake", 100, "%.2f"},
	{"mean to 2 s ms", "mean2s_ms_handshake", 1, "%.1f"},
	{"p99 ms", "p99_ms_handshake", 1, "%.0f"},
	{"request: 500 ms %", "share_500ms_request", 100, "%.1f"},
	{">2 s %", "over_2s_request", 100, "%.2f"},
	{"mean ms", "mean2s_ms_request", 1, "%.1f"},
	{"first: mean ms", "mean2s_ms_first", 1, "%.1f"},
	{"follow-ups: mean ms", "mean2s_ms_follow", 1, "%.1f"},
}

var linkColumns = []column{
	{"loss %", "loss_all", 100, "%.2f"},
	{"data %", "loss_data", 100, "%.2f"},
	{"ACK %", "loss_pure_ack", 100, "%.2f"},
	{"SYN-ACK %", "loss_syn-ack", 100, "%.2f"},
	{"marked %", "marked_all", 100, "%.2f"},
	{"data marked %", "marked_data", 100, "%.2f"},
	{"Mb/s", "throughput_mbps", 1, "%.1f"},
	{"exchanges/s", "exchanges_per_s", 1, "%.0f"},
	{"queue mean", "queue_mean_packets", 1, "%.1f"},
	{"p99", "queue_p99_packets", 1, "%.0f"},
	{"delay mean ms", "delay_mean_ms", 1, "%.2f"},
	{"p99 ms", "delay_p99_ms", 1, "%.1f"},
	{"users", "population", 1, "%.0f"},
	{"given up", "handshakes_given_up", 1, "%.1f"},
}

func table(d *study.Data, title, point string, columns []column) study.Table {
	t := study.Table{Title: title, Columns: []string{"scheme"}}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.name)
	}
	for _, s := range d.Schemes(point) {
		row := []string{s}
		for _, c := range columns {
			row = append(row, fmt.Sprintf(c.format, c.scale*d.Mean(point, s, c.measure)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func loadSection(d *study.Data, load int) study.Section {
	p := loadPoint(load)
	s := study.Section{Title: fmt.Sprintf("Load %d %%", load)}
	if len(d.Schemes(p)) == 0 {
		return s
	}
	u := Scheme{Law: uncongested}.String()
	s.Text = fmt.Sprintf("Offered: %d %% of 100 Mb/s. Carried by the uncongested link: %.2f Mb/s, by %.0f users on average over %d seeds, in packets of %.0f bytes.",
		load, d.Mean(p, u, "throughput_mbps"), d.Mean(p, u, "population"), len(d.Seeds(p, u)), d.Mean(p, u, "mean_packet_bytes"))
	s.Tables = []study.Table{
		table(d, fmt.Sprintf("Response times, load %d %%", load), p, responseColumns),
		table(d, fmt.Sprintf("Link, load %d %%", load), p, linkColumns),
	}
	s.Figures = figures(d, load)
	return s
}

func spreadSection(d *study.Data) study.Section {
	base := loadPoint(spreadLoad)
	s := study.Section{Title: "Spread of the round-trip times", Text: "W6 at a load of 98 %: round-trip times of 70 to 90 ms (narrow), 10 to 150 ms (base) and log-uniform from 2 to 435 ms (wide), all with a mean of 80 ms."}
	if !d.Has(base+"-rtt-wide", Scheme{Law: uncongested}.String()) {
		return s
	}
	t := study.Table{Title: "What AQM and ECN change, in ms of the truncated mean", Columns: []string{"spread", "reading", "NotECT", "AQM against drop-tail", "ECN against none", "AQM % of drop-tail", "ECN %"}}
	for _, protect := range []bool{false, true} {
		for _, reading := range []string{handshake, request} {
			x := derive(d, reading, protect)
			name := differencesName(protect)
			for _, p := range []string{base + "-rtt-narrow", base, base + "-rtt-wide"} {
				if !x.Has(p, name) {
					continue
				}
				treated := "dropped"
				if protect {
					treated = "protected"
				}
				row := []string{strings.TrimPrefix(p, base+"-rtt-"), reading, treated}
				if p == base {
					row[0] = "base"
				}
				for _, m := range []string{"aqm_", "ecn_", "relative_aqm_", "relative_ecn_"} {
					row = append(row, fmt.Sprintf("%.1f", x.Mean(p, name, m+reading)))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	s.Tables = append(s.Tables, t)
	for _, spread := range []string{"narrow", "wide"} {
		s.Tables = append(s.Tables, table(d, "Response times, RTT "+spread, base+"-rtt-"+spread, responseColumns))
	}
	return s
}

func assumedSection() study.Section {
	t := study.Table{Title: "Parameters", Columns: []string{"what", "value", "source"}}
	for _, a := range assumptions() {
		t.Rows = append(t.Rows, []string{a.Name, a.Value, a.Source})
	}
	c := study.Table{
		Title:   "Calibration on the uncongested link",
		Note:    "Users are added, seed by seed, until what they would offer within the time of measurement - reckoned from their random numbers, times the factor - is the load. In the open form it is the bits of a connection. aqmbench web --calibrate measures the factors again.",
		Columns: []string{"model", "RTT", "form", "factor or bits", "mean packet"},
	}
	for _, k := range calibration {
		form := "closed"
		if k.Open {
			form = "open"
		}
		c.Rows = append(c.Rows, []string{k.Model, k.RTT, form, fmt.Sprintf("%.5g", k.Factor), fmt.Sprintf("%.0f", k.MeanPacket)})
	}
	return study.Section{
		Title:  "What is assumed",
		Text:   "Fixed before the claims were looked at.",
		Tables: []study.Table{t, c},
	}
}
