package web

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/bench/study"
	"github.com/aqmkit/aqmkit/internal/web"
)

func full() study.Options { return study.Options{Full: true, Seed: 1} }

func verdicts(d *study.Data) map[string]study.Verdict {
	v := map[string]study.Verdict{}
	for _, c := range judged(d) {
		v[c.ID] = c.Verdict
	}
	return v
}

var variants = []string{"", " request", " protected", " request protected"}

// TestClaimsHold: in a world where the paper is right every claim holds.
func TestClaimsHold(t *testing.T) {
	v := verdicts(right().data(full()))
	assert.Len(t, v, len(claims)*len(variants))
	for id, verdict := range v {
		assert.Equal(t, study.Holds, verdict, id)
	}
}

// TestClaimsFail: what a claim says is turned round, one thing at a time.
func TestClaimsFail(t *testing.T) {
	is := func(scheme string, names ...string) bool {
		scheme = strings.TrimSuffix(scheme, "+protect")
		for _, n := range names {
			if scheme == n+"24" || scheme == n+"240" {
				return true
			}
		}
		return false
	}
	bare := strings.NewReplacer("2400", "", "240", "", "24", "", "+protect", "")
	for _, c := range []struct {
		id, what string
		world    world
	}{
		{"W1", "PI without ECN is better than byte-mode ARED", right().but(func(_, s string, m float64) float64 {
			if is(s, "pi") {
				return 230
			}
			return m
		})},
		{"W1", "PI without ECN is as good", right().but(func(_, s string, m float64) float64 {
			if is(s, "pi") {
				return 250
			}
			return m
		})},
		{"W1", "drop-tail is better at 105 %", right().but(func(p, s string, m float64) float64 {
			if is(s, "droptail") && p == "load105" {
				return 240
			}
			return m
		})},
		{"W2", "ARED with ECN is better than drop-tail", right().but(func(_, s string, m float64) float64 {
			if bare.Replace(s) == "ared+ecn" {
				return 280
			}
			return m
		})},
		{"W3", "byte-mode ARED is only a little worse", right().but(func(_, s string, m float64) float64 {
			if bare.Replace(s) == "aredb" {
				return 220
			}
			return m
		})},
		{"W4", "REM is as good as drop-tail at 80 %", right().but(func(p, s string, m float64) float64 {
			if p == "load80" && bare.Replace(s) == "rem" {
				return 220
			}
			return m
		})},
		{"W4", "PI gains more", right().but(func(_, s string, m float64) float64 {
			if bare.Replace(s) == "pi" {
				return 350
			}
			return m
		})},
		{"W5", "ECN changes ARED", right().but(func(_, s string, m float64) float64 {
			if bare.Replace(s) == "ared+ecn" {
				return 340
			}
			return m
		})},
		{"W5", "the reversal changes nothing", right().but(func(_, s string, m float64) float64 {
			if bare.Replace(s) == "ared+ecn+reverse" {
				return 400
			}
			return m
		})},
		{"W6", "spreads make no difference", right().but(func(p, s string, _ float64) float64 {
			if strings.Contains(p, "-rtt-") {
				return right().mean("load98", s)
			}
			return right().mean(p, s)
		})},
		{"W7", "the link is not full", func() world { w := right(); w.used = .9; return w }()},
		{"W7", "responses are slow", right().but(func(_, s string, m float64) float64 {
			if bare.Replace(s) == "rem+ecn" {
				return 280
			}
			return m
		})},
	} {
		v := verdicts(c.world.data(full()))
		for _, variant := range variants {
			assert.Equal(t, study.Fails, v[c.id+variant], "%s%s: %s", c.id, variant, c.what)
		}
	}
}

// TestClaimsUndecided: where seeds differ by more than schemes nothing is decided.
func TestClaimsUndecided(t *testing.T) {
	w := right()
	w.noise = 300
	for id, v := range verdicts(w.data(full())) {
		if !strings.HasPrefix(id, "W7") { // its utilisation is as it is
			assert.Equal(t, study.Undecided, v, id)
		}
	}
}

// TestPlan: the cells of both profiles have names of their own and schemes that can be
// built, and every scheme of a claim is there.
func TestPlan(t *testing.T) {
	for _, o := range []study.Options{full(), {Seed: 1}} {
		p, err := plan(o)
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, c := range p.Cells {
			assert.False(t, seen[c.ID()], c.ID())
			seen[c.ID()] = true
		}
	}
	points := []*point{basePoint("a", 98), rfcPoint(95), spreadPoint("wide")}
	for _, v := range variations() {
		points = append(points, v.point)
	}
	for _, p := range points {
		for _, s := range append(allSchemes(), rfcSchemes()...) {
			if s.Law == lawREDBytes && p.Name != rfcName(95) {
				continue
			}
			_, err := p.config(s, 1)
			assert.NoError(t, err, "%s %v", p.Name, s)
		}
		_, err := findCalibrated(p.Model, p.RTT, p.Open)
		assert.NoError(t, err, p.Name)
		require.NotNil(t, spreads[p.RTT], p.RTT)
		assert.InEpsilon(t, 80, web.Mean(spreads[p.RTT]), .01)
	}
	_, err := Scheme{Law: "blue"}.instance(points[0], 1)
	assert.ErrorContains(t, err, "blue")
	_, err = findCalibrated("3gpp2", "none", false)
	assert.ErrorContains(t, err, "none")
}

// TestOneChange: every variation differs from the scenario in one field.
func TestOneChange(t *testing.T) {
	all := variations()
	for _, v := range all {
		p := *v.point
		p.Name = all[0].point.Name
		n := 0
		base := all[0].point
		for _, differs := range []bool{
			p.Rate != base.Rate, p.RTT != base.RTT, p.Model != base.Model, p.Open != base.Open, p.Persistent != base.Persistent,
			p.Room != base.Room, p.MeanPacket != base.MeanPacket, p.MaxECN != base.MaxECN, p.TCP != base.TCP,
			p.Load != base.Load || p.times != base.times,
		} {
			if differs {
				n++
			}
		}
		if v.what == "nothing" {
			assert.Zero(t, n)
		} else {
			assert.Equal(t, 1, n, v.what)
		}
	}
}

// brief is a point with a run that takes little time.
func brief(load int) *point {
	p := basePoint("brief", load)
	p.times = times{4 * time.Second, 6 * time.Second, 2 * time.Second}
	return p
}

// TestCalibration: the uncongested link carries the load that is asked for, for seeds
// that the calibration has not seen.
func TestCalibration(t *testing.T) {
	for _, load := range []int{20, 98} {
		m, err := brief(load).cell(Scheme{Law: uncongested}, 77).Run()
		require.NoError(t, err)
		assert.InEpsilon(t, float64(load)/100, m.Values["utilisation"], .015)
		assert.InEpsilon(t, meanPacket, m.Values["mean_packet_bytes"], .03)
		assert.Zero(t, m.Values["loss_all"])
	}
}

// TestCell: a cell gives the same twice, and its measures agree with each other.
func TestCell(t *testing.T) {
	c := brief(105).cell(Scheme{Law: lawREM, Setting: 24, ECN: true, Protect: true}, 5)
	a, err := c.Run()
	require.NoError(t, err)
	b, err := c.Run()
	require.NoError(t, err)
	assert.Equal(t, a, b)
	v := a.Values
	assert.NotZero(t, v["marked_data"])
	assert.Zero(t, v["loss_syn-ack"], "protected")
	assert.InDelta(t, 1, v["share_2s_handshake"]+v["over_2s_handshake"], 1e-12)
	assert.Less(t, v["mean2s_ms_request"], v["mean2s_ms_handshake"])
	assert.Less(t, v["mean2s_ms_follow"], v["mean2s_ms_first"])
	cdf, ccdf := a.Curves["cdf_handshake"], a.Curves["ccdf_handshake"]
	require.Len(t, cdf, len(cdfAt))
	require.Len(t, ccdf, len(ccdfAt))
	assert.InDelta(t, v["share_1s_handshake"], cdf[25], 1e-5)
	assert.InDelta(t, 1-v["share_1s_handshake"], ccdf[20], 1e-5)
	assert.InDelta(t, 1, ccdfAt[20], 1e-12)
	for i := 1; i < len(cdf); i++ {
		assert.GreaterOrEqual(t, cdf[i], cdf[i-1])
	}

	c = brief(105).cell(Scheme{Law: lawREM, Setting: 24, ECN: true, All: true}, 5)
	all, err := c.Run()
	require.NoError(t, err)
	assert.Zero(t, all.Values["early_drops"])
}

// TestReport: both profiles make a report, with a figure for each load and comparison.
func TestReport(t *testing.T) {
	for _, o := range []study.Options{full(), {Seed: 1}} {
		r, err := report(o, right().data(o))
		require.NoError(t, err)
		figures, tables := 0, 0
		names := map[string]bool{}
		for _, s := range r.Sections {
			for _, f := range s.Figures {
				assert.False(t, names[f.Name], f.Name)
				names[f.Name] = true
				assert.GreaterOrEqual(t, len(f.Series), 3, f.Name)
			}
			figures += len(s.Figures)
			tables += len(s.Tables)
			for _, tab := range s.Tables {
				for _, row := range tab.Rows {
					assert.Len(t, row, len(tab.Columns), tab.Title)
				}
			}
		}
		assert.Greater(t, tables, 6)
		if o.Full {
			assert.Equal(t, len(allLoads)*len(comparisons())*2, figures)
			assert.Len(t, r.Claims, 4*len(claims)+4)
		} else {
			assert.Greater(t, figures, 20)
		}
	}
	none, err := report(full(), study.NewData(nil))
	require.NoError(t, err)
	assert.Empty(t, none.Claims)
}

// TestRFCClaims has made-up losses judged.
func TestRFCClaims(t *testing.T) {
	make := func(packet95, byteMode, once float64, plateau bool) map[string]study.Verdict {
		var all []*study.Result
		for _, load := range rfcLoads {
			for i, s := range rfcSchemes() {
				for seed := range uint64(5) {
					x := packet95
					if i >= 3 {
						x = byteMode
					}
					if s.SYNACK {
						x *= once
					}
					x += float64(seed) * 1e-6 * float64(i+1)
					v := map[string]float64{"loss_all": x, "share_1s_handshake": .8, "share_3s_handshake": .81 + float64(seed)*1e-4, "share_5s_handshake": .95}
					if !plateau {
						v["share_3s_handshake"] = .93
					}
					all = append(all, result(rfcName(load), s.String(), seed+1, v))
				}
			}
		}
		got := map[string]study.Verdict{}
		for _, c := range rfcClaims(study.NewData(all)) {
			got[c.ID] = c.Verdict
		}
		return got
	}
	for id, v := range make(.0141, .0005, .7, true) {
		assert.Equal(t, study.Holds, v, id)
	}
	assert.Equal(t, study.Fails, make(.05, .0005, .7, true)["R1"])
	assert.Equal(t, study.Fails, make(.0141, .01, .7, true)["R2"])
	assert.Equal(t, study.Fails, make(.0141, .0005, 1.2, true)["R3"])
	assert.Equal(t, study.Fails, make(.0141, .0005, .7, false)["R4"])
}
