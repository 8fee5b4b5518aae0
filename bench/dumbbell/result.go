package dumbbell

import (
	"math"

	"github.com/aqmkit/aqmkit/internal/netmodel"
)

// Count has the packets of one kind at the bottleneck, after the warm-up. In a mean
// over seeds they need not be whole.
type Count struct {
	Kind     string  `json:"kind"`
	Arrived  float64 `json:"arrived"`
	Marked   float64 `json:"marked"`
	Early    float64 `json:"dropped_early"`    // as a signal
	Forced   float64 `json:"dropped_forced"`   // past a hard limit of the algorithm
	Overflow float64 `json:"dropped_overflow"` // for want of space
}

// Dropped returns the packets dropped for whatever reason.
func (c Count) Dropped() float64 { return c.Early + c.Forced + c.Overflow }

// Figures are what a run came to, or the mean of several.
type Figures struct {
	Utilisation float64 `json:"utilisation"`        // share of the capacity
	Goodput     float64 `json:"goodput_bit_per_s"`  // delivered in order to the applications
	QueueMean   float64 `json:"mean_queue_packets"` // the one in transmission not included
	QueueP50    float64 `json:"queue_p50_packets"`
	QueueP99    float64 `json:"queue_p99_packets"`
	DelayMean   float64 `json:"delay_mean_ms"` // in the queue, of packets that left it
	DelayP50    float64 `json:"delay_p50_ms"`
	DelayP99    float64 `json:"delay_p99_ms"`
	Fairness    float64 `json:"fairness_jain"` // of the flows' goodput
	Retransmits float64 `json:"retransmissions"`
	Timeouts    float64 `json:"timeouts"`
	Packets     float64 `json:"packets_bottleneck"` // sent in all, warm-up included
	Wall        float64 `json:"wall_seconds"`       // that the simulation took
	// PacketsPerWallSecond and Wall are the only figures that differ from one run to
	// the next.
	PacketsPerWallSecond float64 `json:"packets_per_wall_second"`

	Kinds [netmodel.NumKinds]Count `json:"kinds"`
}

// Total returns the counts of all kinds added up.
func (f *Figures) Total() Count {
	t := Count{Kind: "all"}
	for _, c := range f.Kinds {
		t.Arrived += c.Arrived
		t.Marked += c.Marked
		t.Early += c.Early
		t.Forced += c.Forced
		t.Overflow += c.Overflow
	}
	return t
}

// Result is one run.
type Result struct {
	Seed uint64 `json:"seed"`
	Figures
	Samples []netmodel.Sample `json:"-"`
}

// Report is a scenario and what came of it: the mean over the seeds, and each.
type Report struct {
	Scenario Scenario `json:"scenario"`
	Figures
	UtilisationSD float64   `json:"utilisation_sd"` // over the seeds; 0 with one
	QueueMeanSD   float64   `json:"mean_queue_packets_sd"`
	Runs          []*Result `json:"runs"`
}

func summary(s Scenario, runs []*Result) *Report {
	r := &Report{Scenario: s, Runs: runs}
	for k := range r.Kinds {
		r.Kinds[k].Kind = netmodel.Kind(k).String()
	}
	for _, one := range runs {
		for i, x := range one.fields() {
			*r.fields()[i] += *x / float64(len(runs))
		}
	}
	for _, one := range runs {
		r.UtilisationSD += square(one.Utilisation - r.Utilisation)
		r.QueueMeanSD += square(one.QueueMean - r.QueueMean)
	}
	if n := float64(len(runs) - 1); n > 0 {
		r.UtilisationSD, r.QueueMeanSD = math.Sqrt(r.UtilisationSD/n), math.Sqrt(r.QueueMeanSD/n)
	}
	return r
}

func square(x float64) float64 { return float64(x * x) }

// fields returns all figures, to be added up.
func (f *Figures) fields() []*float64 {
	all := []*float64{
		&f.Utilisation, &f.Goodput, &f.QueueMean, &f.QueueP50, &f.QueueP99, &f.DelayMean, &f.DelayP50, &f.DelayP99,
		&f.Fairness, &f.Retransmits, &f.Timeouts, &f.Packets, &f.Wall, &f.PacketsPerWallSecond,
	}
	for k := range f.Kinds {
		c := &f.Kinds[k]
		all = append(all, &c.Arrived, &c.Marked, &c.Early, &c.Forced, &c.Overflow)
	}
	return all
}
