package dumbbell

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

func small(algorithm string) Scenario {
	s := LikeNS2(algorithm, 10e6, 8)
	s.Settings, s.Flows = Design, 10
	return s
}

// TestSame: equal seeds give equal bytes, whatever the workers; another seed does not.
func TestSame(t *testing.T) {
	write := func(first uint64, workers int) string {
		r, err := Run([]Scenario{small("red"), small("droptail")}, first, 2, workers, nil)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, WriteTable(&b, r))
		require.NoError(t, WriteCSV(&b, r))
		require.NoError(t, WriteSeries(&b, r))
		require.NoError(t, WritePlot(&b, "svg", r))
		return b.String()
	}
	one := write(1, 1)
	assert.Equal(t, one, write(1, 1))
	assert.Equal(t, one, write(1, 2))
	assert.NotEqual(t, one, write(3, 1))
}

// TestNoCrawl: a flow that has sent its window again after a timeout goes on, though
// the receiver echoes a mark until it hears of the cut. It once took that for a reason
// not to grow, and had nothing new to say it on: it sent one segment a round trip, all
// of it for the second time.
func TestNoCrawl(t *testing.T) {
	s := LikeNS2("codel", 100e6, 20)
	s.Settings, s.Warmup = Design, 10
	r, err := Run([]Scenario{s}, 1, 1, 1, nil)
	require.NoError(t, err)
	f := r[0].Runs[0].Figures
	assert.Zero(t, f.Retransmits, "ten seconds after the start nothing is lost: all is marked")
	assert.Greater(t, f.Utilisation, 0.99)
}

// TestConserved: what arrives is sent, dropped or queued, and the goodput is no more
// than what was sent.
func TestConserved(t *testing.T) {
	for _, name := range catalog.Names() {
		t.Run(name, func(t *testing.T) {
			s := small(name)
			s.Warmup, s.ECN = 0, false
			r, err := Run([]Scenario{s}, 1, 1, 1, nil)
			require.NoError(t, err)
			f := r[0].Runs[0].Figures
			all := f.Total()
			queued := float64(r[0].Runs[0].Samples[samples].Packets)
			assert.Equal(t, all.Arrived, f.Packets+all.Dropped()+queued)
			assert.Zero(t, all.Marked, "without ECN")
			assert.Greater(t, f.Goodput, .5*f.Utilisation*1e7)
			assert.LessOrEqual(t, f.Goodput, f.Utilisation*1e7*1460/1500)
			assert.Greater(t, f.Fairness, .3)
			assert.LessOrEqual(t, f.Fairness, 1.)
			assert.LessOrEqual(t, f.DelayP50, f.DelayP99)
			assert.InEpsilon(t, f.QueueMean*1.2/f.Utilisation, f.DelayMean, .02, "Little's law: a packet takes 1.2 ms")
		})
	}
}

func TestPolicy(t *testing.T) {
	s := small("red")
	s.Reverse = 5
	r, err := Run([]Scenario{s}, 1, 1, 1, nil)
	require.NoError(t, err)
	assert.Positive(t, r[0].Kinds[netmodel.KindPureACK].Early, "unprotected")
	s.Policy = ecnpolicy.Config{Protect: ecnpolicy.ACKSYN}
	r, err = Run([]Scenario{s}, 1, 1, 1, nil)
	require.NoError(t, err)
	assert.Positive(t, r[0].Kinds[netmodel.KindPureACK].Arrived)
	assert.Zero(t, r[0].Kinds[netmodel.KindPureACK].Early, "protected")
	top := 0.
	for _, x := range r[0].Runs[0].Samples {
		top = max(top, x.Probability)
	}
	assert.Positive(t, top, "the probability is seen through the policy")
}

func TestValidateScenario(t *testing.T) {
	for want, change := range map[string]func(*Scenario){
		"flows = 0, must be in [1, 1000000]":                  func(s *Scenario) { s.Flows = 0 },
		"rate = 0 bit/s, must be in [10k, 1000G]":             func(s *Scenario) { s.Rate = 0 },
		"buffer = 0 packets, must be in [1, 100000000]":       func(s *Scenario) { s.Buffer = 0 },
		`unknown algorithm "blue"; there are droptail`:        func(s *Scenario) { s.Algorithm = "blue" },
		"kind = dctcp needs ECN":                              func(s *Scenario) { s.Kinds, s.ECN = Kinds{tcp.DCTCP}, false },
		"warmup = 8 s, must be in [0, seconds = 8)":           func(s *Scenario) { s.Warmup = 8 },
		"rtt = 2s to 100ms, must rise":                        func(s *Scenario) { s.RTTMin = 2 * time.Second },
		"flows = -1, must be in [1, 1000000]; kind = none":    func(s *Scenario) { s.Flows, s.Kinds = -1, nil },
		"Carry = true, must be false where Protect = 0":       func(s *Scenario) { s.Policy.Carry = true },
		`unknown algorithm "codel"; with ns-2's settings`:     func(s *Scenario) { s.Algorithm, s.Settings = "codel", NS2 },
		`settings = "best", must be design, default or paper`: func(s *Scenario) { s.Settings = "best" },
	} {
		s := small("red")
		change(&s)
		err := s.Validate()
		if assert.Error(t, err, want) {
			assert.Contains(t, err.Error(), want)
			assert.NotContains(t, err.Error(), "\n")
		}
		_, err = Run([]Scenario{s}, 1, 1, 1, nil)
		assert.Error(t, err)
	}
}

// TestSummary: means and deviations over the seeds, recomputed.
func TestSummary(t *testing.T) {
	r := summary(Scenario{}, []*Result{
		{Figures: Figures{Utilisation: .5, QueueMean: 10}},
		{Figures: Figures{Utilisation: .7, QueueMean: 16}},
	})
	assert.InDelta(t, .6, r.Utilisation, 1e-12)
	assert.InDelta(t, 13, r.QueueMean, 1e-12)
	assert.InDelta(t, .2/1.4142135623730951, r.UtilisationSD, 1e-12)
	assert.InDelta(t, 6/1.4142135623730951, r.QueueMeanSD, 1e-12)
}

func TestJain(t *testing.T) {
	assert.InDelta(t, 1, jain([]float64{3, 3, 3}), 1e-12)
	assert.InDelta(t, .25, jain([]float64{0, 0, 7, 0}), 1e-12)
	assert.Zero(t, jain([]float64{0, 0}))
}

func TestFormats(t *testing.T) {
	r, err := Run([]Scenario{small("pie")}, 1, 2, 2, nil)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, WriteCSV(&b, r))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	assert.Len(t, rows, 3)
	b.Reset()
	require.NoError(t, WriteSeries(&b, r))
	rows, err = csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	assert.Len(t, rows, 1+2*(samples+1))
	b.Reset()
	require.NoError(t, WritePlot(&b, "png", r))
	_, err = png.Decode(&b)
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, WritePlot(&b, "svg", r))
	for d := xml.NewDecoder(&b); !errors.Is(err, io.EOF); _, err = d.Token() {
		require.NoError(t, err)
	}
	text, err := json.Marshal(r[0])
	require.NoError(t, err)
	var back struct {
		PacketsPerWallSecond float64 `json:"packets_per_wall_second"`
		Scenario             struct{ Kinds []string }
	}
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Positive(t, back.PacketsPerWallSecond)
	assert.Equal(t, []string{"newreno"}, back.Scenario.Kinds)
}

// TestValidate runs what is recorded at 10 Mb/s, in full, and the closed forms.
func TestValidate(t *testing.T) {
	v, err := Validate(context.Background(), Plan{Rates: []uint64{10e6}, Seed: 7, Seeds: 1, Workers: 2})
	require.NoError(t, err)
	assert.Len(t, v.Comparisons, 6)
	for _, c := range v.Comparisons {
		assert.True(t, c.Within(), "%s: utilisation %v, mean queue %v", c.Algorithm, c.Ours.Utilisation, c.Ours.QueueMean)
	}
	for _, d := range v.DCTCP {
		assert.True(t, d.Within(), "%+v", d)
	}
	assert.Zero(t, v.Outside())
	v.Comparisons[0].Recorded.Queue *= 1.3
	v.DCTCP[0].Alpha.Expected *= 1.3
	assert.Equal(t, 2, v.Outside())
	_, err = Validate(context.Background(), Plan{Rates: []uint64{3}})
	assert.Error(t, err)
}

// TestClosedForms: where alpha is small, the exact forms are near the paper's
// approximations, alpha = sqrt(2/W*) and A = sqrt(2N(C RTT + K))/2.
func TestClosedForms(t *testing.T) {
	alpha, amplitude, top := closedForms(9000, 1000, 2)
	assert.InEpsilon(t, .02, alpha, .01)
	assert.InEpsilon(t, 100, amplitude, .01)
	assert.InDelta(t, 1002, top, 0)
}

// TestLive has ns-2 run our script, and shows its figures near ours.
func TestLive(t *testing.T) {
	if _, err := exec.LookPath("ns"); err != nil {
		t.Skip("ns is not installed")
	}
	s := LikeNS2("red", 10e6, 20)
	l, err := live(context.Background(), s, 7, "")
	require.NoError(t, err)
	r, err := Run([]Scenario{s}, 7, 1, 1, nil)
	require.NoError(t, err)
	assert.InDelta(t, r[0].Utilisation, l.Utilisation, .05)
	assert.InEpsilon(t, r[0].QueueMean, l.Queue, .2)
	assert.Positive(t, l.Speedup)
	s.Algorithm = "pie"
	_, err = live(context.Background(), s, 7, "")
	assert.Error(t, err, "no such queue")
}
