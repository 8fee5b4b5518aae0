package web

import (
	"fmt"

	"github.com/aqmkit/aqmkit/bench/study"
)

// rfcLoads are those of the tables in RFC 5562 appendix A.
var rfcLoads = []int{95, 110, 125, 150}

func rfcName(load int) string { return fmt.Sprintf("rfc5562-%d", load) }

func rfcPoint(load int) *point {
	p := basePoint(rfcName(load), load)
	p.Model, p.RTT, p.Open = "packmime", "rfc", true
	p.Room, p.MeanPacket = 1000, 500
	p.TCP, p.times = rfcTCP(), rfcTimes
	return p
}

// rfcSchemes are RED by packets and by bytes with ECN (RFC 3168), with ECN-capable
// SYN-ACKs (RFC 5562, the RFC's ECN+/TryOnce), and with protection in place of that.
// ECN-capable packets are dropped by a full queue alone.
func rfcSchemes() (s []Scheme) {
	for _, law := range []string{lawRED, lawREDBytes} {
		s = append(s,
			Scheme{Law: law, ECN: true, Reverse: true},
			Scheme{Law: law, ECN: true, Reverse: true, SYNACK: true},
			Scheme{Law: law, ECN: true, Reverse: true, Protect: true})
	}
	return s
}

// rfcLoss is the loss with RED by packets at 95 %, in per cent: Table 1, ECN and
// ECN+/TryOnce.
var rfcLoss = map[string]float64{rfcName(95) + "/ecn": 1.41, rfcName(95) + "/once": 1.02}

// rfcClaims holds the simulator to RFC 5562 appendix A.
func rfcClaims(d *study.Data) (all []study.Claim) {
	s := rfcSchemes()
	packet, packetOnce, packetProtect, byteMode, byteOnce, byteProtect := s[0], s[1], s[2], s[3], s[4], s[5]
	var points []string
	for _, load := range rfcLoads {
		if d.Has(rfcName(load), packet.String()) {
			points = append(points, rfcName(load))
		}
	}
	if len(points) == 0 {
		return nil
	}
	d = zeroed(d, points)
	loss := func(f *study.Family, p string, a, b Scheme) study.Part {
		c := f.Compare("loss_all", p, a.String(), p, b.String())
		return study.Part{Text: fmt.Sprintf("%s: %v loses less than %v", p, a, b), Verdict: c.Below(0), Numbers: inPoints(c), Comparisons: []*study.Comparison{c}}
	}
	claim := func(id, text string, parts func(*study.Family) []study.Part) {
		all = append(all, study.Judge(d, func(f *study.Family) study.Claim { return conclude(id, text, parts(f)) }))
	}
	claim("R1", "RFC 5562 appendix A: the loss with RED by packets at a load of 95 % is within a factor of 2 of its Table 1", func(f *study.Family) (parts []study.Part) {
		p := points[0]
		for _, x := range []struct {
			s     Scheme
			table float64
		}{{packet, rfcLoss[rfcName(95)+"/ecn"]}, {packetOnce, rfcLoss[rfcName(95)+"/once"]}} {
			c := f.Compare("loss_all", p, x.s.String(), p, nothing)
			parts = append(parts, study.Part{
				Text:        fmt.Sprintf("%s: %v loses between half and twice %g %%", p, x.s, x.table),
				Verdict:     c.Within(x.table/200, x.table/50),
				Numbers:     fmt.Sprintf("%.3f %% [%.3f, %.3f]", 100*c.Diff, 100*c.Lo, 100*c.Hi),
				Comparisons: []*study.Comparison{c},
			})
		}
		return parts
	})
	claim("R2", "RFC 5562 appendix A: RED by bytes loses far less than RED by packets: less than half", func(f *study.Family) (parts []study.Part) {
		for _, p := range points {
			c := f.Ratio("loss_all", p, byteMode.String(), p, packet.String())
			parts = append(parts, study.Part{
				Text: fmt.Sprintf("%s: %v loses less than half of %v", p, byteMode, packet), Verdict: c.Below(.5),
				Numbers:     fmt.Sprintf("%.3f and %.3f %%: ratio %.3f [%.3f, %.3f]", 100*c.MeanA, 100*c.MeanB, c.Diff, c.Lo, c.Hi),
				Comparisons: []*study.Comparison{c},
			})
		}
		return parts
	})
	claim("R3", "RFC 5562 appendix A: less is lost where SYN-ACKs are ECN-capable", func(f *study.Family) (parts []study.Part) {
		for _, p := range points {
			parts = append(parts, loss(f, p, packetOnce, packet),
				aside(loss(f, p, packetProtect, packet)), aside(loss(f, p, byteOnce, byteMode)), aside(loss(f, p, byteProtect, byteMode)))
		}
		return parts
	})
	claim("R4", "RFC 5562 appendix A: with RED by packets few transfers end between 1 s and 3 s, where a lost SYN-ACK is waited for, and more between 3 s and 5 s", func(f *study.Family) (parts []study.Part) {
		for _, p := range points {
			flat := f.Compare("between_1s_3s", p, packet.String(), p, nothing)
			step := f.Compare("between_3s_5s_less_1s_3s", p, packet.String(), p, nothing)
			part := study.Part{
				Text:        fmt.Sprintf("%s: less than %g points between 1 s and 3 s, and more after", p, 100*plateauMargin),
				Verdict:     study.And(flat.Below(plateauMargin), step.Above(0)),
				Numbers:     fmt.Sprintf("%.2f points, and %+.2f more after", 100*flat.Diff, 100*step.Diff),
				Comparisons: []*study.Comparison{flat, step},
			}
			parts = append(parts, part)
		}
		return parts
	})
	return all
}

// zeroed returns what the RFC's claims need, with a scheme that has nothing but zeros.
func zeroed(d *study.Data, points []string) *study.Data {
	var all []*study.Result
	for _, p := range points {
		for _, s := range d.Schemes(p) {
			for _, r := range copied(d, p, s, []string{"loss_all", "share_1s_handshake", "share_3s_handshake", "share_5s_handshake"}) {
				v := r.Values
				v["between_1s_3s"] = v["share_3s_handshake"] - v["share_1s_handshake"]
				v["between_3s_5s_less_1s_3s"] = v["share_5s_handshake"] - v["share_3s_handshake"] - v["between_1s_3s"]
				all = append(all, r)
			}
		}
		for _, seed := range d.Seeds(p, d.Schemes(p)[0]) {
			all = append(all, result(p, nothing, seed, map[string]float64{"loss_all": 0, "between_1s_3s": 0, "between_3s_5s_less_1s_3s": 0}))
		}
	}
	return study.NewData(all)
}

// rfcTable is what the RFC has at a load, by scheme: loss in per cent.
var rfcTable = map[int]map[string]string{
	95:  {"red+ecn+reverse": "1.41", "red+ecn+synack+reverse": "1.02", "redb+ecn+reverse": "0.05", "redb+ecn+synack+reverse": "0.03"},
	110: {"red+ecn+reverse": "9.01", "red+ecn+synack+reverse": "6.89", "redb+ecn+reverse": "0.15", "redb+ecn+synack+reverse": "0.11"},
	125: {"red+ecn+reverse": "25.45", "red+ecn+synack+reverse": "18.31", "redb+ecn+reverse": "1.11", "redb+ecn+synack+reverse": "0.66"},
	150: {"red+ecn+reverse": "46.7", "red+ecn+synack+reverse": "32.7", "redb+ecn+reverse": "19.09", "redb+ecn+synack+reverse": "12.66"},
}

func rfcSection(d *study.Data) study.Section {
	s := study.Section{
		Title: "Outside check: RFC 5562 appendix A",
		Text: "Short flows of 3 KB on average arrive at a rate, whatever becomes of those before, under RED by packets and by bytes that never drops what is ECN-capable but for a full queue. " +
			"The RFC's simulations (ns-2, PackMime) leave open how large the buffer was, and what traffic its loads are per cent of; at \"95 %\" they carried 81 %.",
	}
	columns := []column{
		{"loss %", "loss_all", 100, "%.3f"},
		{"SYN-ACK %", "loss_syn-ack", 100, "%.2f"},
		{"marked %", "marked_all", 100, "%.2f"},
		{"Mb/s", "throughput_mbps", 1, "%.1f"},
		{"500 ms %", "share_500ms_handshake", 100, "%.1f"},
		{"1 s %", "share_1s_handshake", 100, "%.1f"},
		{"3 s %", "share_3s_handshake", 100, "%.1f"},
		{"5 s %", "share_5s_handshake", 100, "%.1f"},
		{"queue mean", "queue_mean_packets", 1, "%.1f"},
		{"p99", "queue_p99_packets", 1, "%.0f"},
	}
	for _, load := range rfcLoads {
		if len(d.Schemes(rfcName(load))) == 0 {
			continue
		}
		t := table(d, fmt.Sprintf("RFC 5562, load %d %%", load), rfcName(load), columns)
		t.Columns = append(t.Columns, "RFC's loss %")
		for i, row := range t.Rows {
			t.Rows[i] = append(row, rfcTable[load][row[0]])
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}
