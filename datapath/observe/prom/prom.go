// Package prom exports what an observe.Observer sees to Prometheus.
//
// docs/observing.md lists the metrics, with the queries of the Grafana dashboard
// beside this package, dashboard.json.
package prom

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/observe"
)

// Buckets are the upper bounds of the sojourn histogram, in seconds.
var Buckets = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .015, .02, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Patience is how long a scrape waits for an event of a queue that holds packets. All
// queues of a collector are waited for at the same time.
const Patience = 100 * time.Millisecond

// Collector implements prometheus.Collector; use NewCollector.
type Collector struct {
	observers []*observe.Observer
}

// NewCollector returns a collector of the Observers' counts, each under the label
// queue with its Name, which must differ. Register it once.
func NewCollector(observers ...*observe.Observer) *Collector {
	return &Collector{observers: observers}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("aqm_"+name, help, append([]string{"queue"}, labels...), nil)
}

var (
	packets      = desc("packets_total", "Packets judged, by end of the queue, class of packet, action and reason.", "end", "class", "action", "reason")
	bytes        = desc("bytes_total", "Bytes judged, likewise.", "end", "class", "action", "reason")
	arrivals     = desc("arrivals_total", "Packets offered to the queue, by their ECN codepoint.", "ecn")
	marked       = desc("marked_total", "Packets turned from ECT to CE.")
	queuePackets = desc("queue_packets", "Packets in the queue.")
	queueBytes   = desc("queue_bytes", "Bytes in the queue.")
	sojourn      = desc("sojourn_seconds", "Time in the queue of the packets that left it undropped.")
	probability  = desc("probability", "Probability of a signal that a packet of average size faces, for algorithms that have one.")
	state        = desc("state", "What the algorithm and its decorators say of themselves; times in seconds.", "layer", "field")
	stale        = desc("stale", "1 if the queue holds packets and had no event during the scrape, so that the other metrics are those of an earlier one.")
)

// Describe implements prometheus.Collector.
func (*Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{packets, bytes, arrivals, marked, queuePackets, queueBytes, sojourn, probability, state, stale} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	var wait sync.WaitGroup
	for _, o := range c.observers {
		wait.Go(func() {
			s, err := o.Snapshot(ctx)
			collect(ch, s, err != nil)
		})
	}
	wait.Wait()
}

// carriedOut are the verdicts that there are.
var carriedOut = []aqm.Verdict{
	{},
	{Action: aqm.Mark, Reason: aqm.Early},
	{Action: aqm.Mark, Reason: aqm.Forced},
	{Action: aqm.Drop, Reason: aqm.Early},
	{Action: aqm.Drop, Reason: aqm.Forced},
	{Action: aqm.Drop, Reason: aqm.Overflow},
}

var (
	actions    = [...]string{aqm.Pass: "pass", aqm.Mark: "mark", aqm.Drop: "drop"}
	reasons    = [...]string{aqm.None: "none", aqm.Early: "early", aqm.Forced: "forced", aqm.Overflow: "overflow"}
	codepoints = [...]string{aqm.NotECT: "not-ect", aqm.ECT1: "ect1", aqm.ECT0: "ect0", aqm.CE: "ce"}
)

func collect(ch chan<- prometheus.Metric, s *observe.Snapshot, isStale bool) {
	send := func(d *prometheus.Desc, t prometheus.ValueType, x float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, t, x, append([]string{s.Name}, labels...)...)
	}
	// Series that are 0 are sent too: a rate cannot be told from a series that begins
	// with its first packet.
	for end := range observe.End(observe.NumEnds) {
		for g := range observe.Group(observe.NumGroups) {
			for _, v := range carriedOut {
				if end == observe.Dequeue && v.Reason == aqm.Overflow {
					continue
				}
				n := s.Counts[end][g][v.Action][v.Reason]
				labels := []string{end.String(), g.String(), actions[v.Action], reasons[v.Reason]}
				send(packets, prometheus.CounterValue, float64(n.Packets), labels...)
				send(bytes, prometheus.CounterValue, float64(n.Bytes), labels...)
			}
		}
	}
	for e, n := range s.ECN {
		send(arrivals, prometheus.CounterValue, float64(n.Packets), codepoints[e])
	}
	send(marked, prometheus.CounterValue, float64(s.Marked.Packets))
	send(queuePackets, prometheus.GaugeValue, float64(s.Packets))
	send(queueBytes, prometheus.GaugeValue, float64(s.Bytes))
	ch <- prometheus.MustNewConstHistogram(sojourn, uint64(s.Sojourn.TotalCount()), s.Waited, cumulative(s.Sojourn), s.Name)
	if !math.IsNaN(s.Sample.Probability) {
		send(probability, prometheus.GaugeValue, s.Sample.Probability)
	}
	for i, f := range s.Sample.Fields {
		send(state, prometheus.GaugeValue, s.Sample.Values[i], f.Layer, f.Name)
	}
	x := 0.
	if isStale {
		x = 1
	}
	send(stale, prometheus.GaugeValue, x)
}

// cumulative returns the counts up to each bound, which are right to the digits of
// the histogram.
func cumulative(h *hdrhistogram.Histogram) map[float64]uint64 {
	counts := make(map[float64]uint64, len(Buckets))
	n, total := 0, uint64(0)
	for _, bar := range h.Distribution() {
		for ; n < len(Buckets) && float64(bar.From+bar.To)/2e9 > Buckets[n]; n++ {
			counts[Buckets[n]] = total
		}
		total += uint64(bar.Count)
	}
	for ; n < len(Buckets); n++ {
		counts[Buckets[n]] = total
	}
	return counts
}
