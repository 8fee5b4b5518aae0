package web

import (
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/bench/study"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// variation is one thing changed in the scenario.
type variation struct {
	what  string
	point *point
}

// variationLoad is the load at which one thing is changed: at lower ones too little is
// lost for schemes to differ.
const variationLoad = 105

// variations change one thing at a time; the first changes nothing.
func variations() []variation {
	var all []variation
	add := func(name, what string, change func(*point)) {
		p := basePoint(loadPoint(variationLoad)+"-"+name, variationLoad)
		p.times = investigateTimes
		change(p)
		all = append(all, variation{what, p})
	}
	add("as-is", "nothing", func(*point) {})
	add("cubic", "TCP: CUBIC", func(p *point) { p.TCP.Variant = tcp.CUBIC })
	add("window64k", "receive window 64 KB", func(p *point) { p.TCP.ReceiveWindow = 65536 })
	add("iw10", "initial window 10", func(p *point) { p.TCP.InitialWindow = 10 })
	add("rto200ms", "minimum RTO 200 ms", func(p *point) { p.TCP.MinRTO = 200 * time.Millisecond })
	add("syn1s", "SYN timeout 1 s", func(p *point) { p.TCP.InitialRTO = time.Second })
	add("mean500", "mean packet 500 bytes", func(p *point) { p.MeanPacket = 500 })
	add("pb0.1", "guideline: p_b from 0.1 on (ns-2)", func(p *point) { p.MaxECN = .1 })
	add("surge", "web model SURGE", func(p *point) { p.Model = "surge" })
	add("open", "open form, one exchange a connection", func(p *point) { p.Open = true })
	add("room480", "room for 480 packets under an AQM", func(p *point) { p.Room = 480 })
	add("20mbps", "20 Mb/s, queues not scaled", func(p *point) { p.Rate = linkRate / 5 })
	add("long", "warm-up of 120 s", func(p *point) { p.Warmup = 120 * time.Second })
	return all
}

// variationSchemes are those that the effects are made of.
func variationSchemes() []Scheme {
	s := []Scheme{{Law: uncongested}, {Law: dropTail, Setting: 24}, {Law: dropTail, Setting: 240}}
	s = append(s, both(paperLaws, Scheme{})...)
	s = append(s, both(paperLaws, Scheme{ECN: true})...)
	return append(s, both(aredLaws, Scheme{ECN: true, Reverse: true})...)
}

// effect is a number on which a claim turns: a difference of two schemes.
type effect struct {
	name    string
	measure string
	a, b    Scheme
	scale   float64
}

// effects are those numbers, each of the better settings at the point.
func effects() []effect {
	const mean, half = "mean2s_ms_" + handshake, "share_500ms_" + handshake
	return []effect{
		{"W1 aredb - pi, ms", mean, Scheme{Law: lawAREDBytes}, Scheme{Law: lawPI}, 1},
		{"W1 aredb - droptail", mean, Scheme{Law: lawAREDBytes}, Scheme{Law: dropTail}, 1},
		{"W2 ared - droptail", mean, Scheme{Law: lawARED}, Scheme{Law: dropTail}, 1},
		{"W2 ared+ecn - droptail", mean, Scheme{Law: lawARED, ECN: true}, Scheme{Law: dropTail}, 1},
		{"W3 pi+ecn - aredb", mean, Scheme{Law: lawPI, ECN: true}, Scheme{Law: lawAREDBytes}, 1},
		{"W3 rem+ecn - aredb", mean, Scheme{Law: lawREM, ECN: true}, Scheme{Law: lawAREDBytes}, 1},
		{"W3 pi+ecn - aredb, points in 500 ms", half, Scheme{Law: lawPI, ECN: true}, Scheme{Law: lawAREDBytes}, 100},
		{"W4 rem - droptail, ms", mean, Scheme{Law: lawREM}, Scheme{Law: dropTail}, 1},
		{"W4 rem - rem+ecn", mean, Scheme{Law: lawREM}, Scheme{Law: lawREM, ECN: true}, 1},
		{"W4 pi - pi+ecn", mean, Scheme{Law: lawPI}, Scheme{Law: lawPI, ECN: true}, 1},
		{"W5 ared+ecn - ared", mean, Scheme{Law: lawARED, ECN: true}, Scheme{Law: lawARED}, 1},
		{"W5 reversed, ared, points in 500 ms", half, Scheme{Law: lawARED, ECN: true, Reverse: true}, Scheme{Law: lawARED, ECN: true}, 100},
		{"W5 aredb - its reversed, ms", mean, Scheme{Law: lawAREDBytes}, Scheme{Law: lawAREDBytes, ECN: true, Reverse: true}, 1},
		{"W7 pi+ecn - uncongested, points in 500 ms", half, Scheme{Law: lawPI, ECN: true}, Scheme{Law: uncongested}, 100},
	}
}

// investigation shows what each change does to the numbers on which the claims turn, at
// either setting and with each scheme at its better one.
func investigation(d *study.Data) study.Section {
	s := study.Section{
		Title: "One thing changed at a time",
		Text: fmt.Sprintf("Load %d %%, NotECT packets dropped, first exchanges with the handshake. Each number is a difference of two schemes, with the 95 %% interval over %d seeds of that number alone: "+
			"these are for finding causes, not for judging.", variationLoad, investigateSeeds),
	}
	for _, setting := range append([]int{0}, settings...) {
		if t := effectTable(d, setting); len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	return s
}

// effectTable has the effects at a setting, or at each scheme's better one with 0.
func effectTable(d *study.Data, setting int) study.Table {
	t := study.Table{Title: "Effects, each scheme at its better setting", Columns: []string{"changed", "load carried", "loss of drop-tail %"}}
	if setting > 0 {
		t.Title = fmt.Sprintf("Effects at the setting of %d packets", setting)
	}
	for _, e := range effects() {
		t.Columns = append(t.Columns, e.name)
	}
	for _, v := range variations() {
		p := v.point.Name
		u := Scheme{Law: uncongested}.String()
		if !d.Has(p, u) {
			continue
		}
		at := func(s Scheme) string {
			if s.Law == uncongested {
				return u
			}
			if s.Setting = setting; setting == 0 {
				s = better(d, []string{p}, s, handshake)
			}
			return s.String()
		}
		row := []string{v.what, fmt.Sprintf("%.3f", d.Mean(p, u, "utilisation")), fmt.Sprintf("%.2f", 100*d.Mean(p, at(Scheme{Law: dropTail}), "loss_all"))}
		for _, e := range effects() {
			var diff study.Comparison
			study.Judge(d, func(f *study.Family) study.Claim {
				diff = *f.Compare(e.measure, p, at(e.a), p, at(e.b))
				return study.Claim{}
			})
			row = append(row, fmt.Sprintf("%+.1f ± %.1f", e.scale*diff.Diff, e.scale*(diff.Hi-diff.Lo)/2))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
