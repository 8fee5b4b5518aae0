package replay

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/record"
)

// Count has the packets of one class.
type Count struct {
	Class    string `json:"class"`
	Arrived  uint64 `json:"arrived"`
	Marked   uint64 `json:"marked"`           // a mark on a packet that is CE already is none
	Early    uint64 `json:"dropped_early"`    // as a signal
	Forced   uint64 `json:"dropped_forced"`   // past a hard limit of the algorithm
	Overflow uint64 `json:"dropped_overflow"` // for want of space
}

// The classes that are told apart.
const (
	data = iota // TCP with payload
	ack         // TCP with ACK, without payload
	syn         // SYN and SYN-ACK
	other

	numClasses = iota
)

var classNames = [numClasses]string{"data", "ACK", "SYN", "other"}

func classOf(c aqm.Class) int {
	switch {
	case c.Has(aqm.SYN | aqm.SYNACK):
		return syn
	case c.Has(aqm.Data):
		return data
	case c.Has(aqm.PureACK):
		return ack
	}
	return other
}

// Result is what became of the arrivals under one algorithm.
type Result struct {
	Algorithm string `json:"algorithm"` // "recorded" for what the recording itself says

	Delivered   uint64  `json:"delivered"`
	Utilisation float64 `json:"utilisation"` // share of the capacity, from the first arrival to the last departure
	DelayMean   float64 `json:"delay_mean_ms"`
	DelayP50    float64 `json:"delay_p50_ms"` // in the queue
	DelayP99    float64 `json:"delay_p99_ms"`
	DelayMax    float64 `json:"delay_max_ms"`

	Total   Count             `json:"total"`
	Classes [numClasses]Count `json:"classes"`
}

// Dropped returns the packets dropped for whatever reason.
func (c Count) Dropped() uint64 { return c.Early + c.Forced + c.Overflow }

// tally makes a Result of events.
type tally struct {
	Result
	delay *hdrhistogram.Histogram // ns
	sum   float64                 // ns
	bytes uint64
	end   aqm.Time // of the last transmission, or departure
}

// longest is the longest delay that a tally tells from longer ones.
const longest = 1000 * time.Second

func newTally(algorithm string) *tally {
	t := &tally{Result: Result{Algorithm: algorithm}, delay: hdrhistogram.New(int64(time.Microsecond), int64(longest), 3)}
	t.Total.Class = "all"
	for i := range t.Classes {
		t.Classes[i].Class = classNames[i]
	}
	return t
}

// add counts a judgement.
func (t *tally) add(e record.Event) {
	for _, c := range []*Count{&t.Total, &t.Classes[classOf(e.Packet.Class)]} {
		if e.Kind == record.Arrival {
			c.Arrived++
		}
		switch {
		case e.Verdict.Action == aqm.Mark && e.Packet.ECN != aqm.CE:
			c.Marked++
		case e.Verdict.Action == aqm.Drop && e.Verdict.Reason == aqm.Overflow:
			c.Overflow++
		case e.Verdict.Action == aqm.Drop && e.Verdict.Reason == aqm.Forced:
			c.Forced++
		case e.Verdict.Action == aqm.Drop:
			c.Early++
		}
	}
	if e.Kind == record.Departure && e.Verdict.Action != aqm.Drop {
		t.Delivered++
		t.bytes += uint64(e.Packet.Size)
		d := min(max(e.At.Sub(e.Packet.EnqueuedAt), 0), longest)
		t.sum += float64(d)
		_ = t.delay.RecordValue(int64(d)) // in range
		t.end = max(t.end, e.At)
	}
}

// finish works the figures out. start is the first arrival's.
func (t *tally) finish(rate uint64, start aqm.Time) Result {
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	t.DelayP50, t.DelayP99, t.DelayMax = ms(t.delay.ValueAtPercentile(50)), ms(t.delay.ValueAtPercentile(99)), ms(t.delay.Max())
	if t.Delivered > 0 {
		t.DelayMean = t.sum / float64(t.Delivered) / 1e6
	}
	if seconds := t.end.Sub(start).Seconds(); seconds > 0 && rate > 0 {
		t.Utilisation = float64(t.bytes) * 8 / float64(rate) / seconds
	}
	return t.Result
}
