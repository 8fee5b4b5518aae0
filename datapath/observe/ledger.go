package observe

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aqmkit/aqmkit/aqm"
)

// Verdicts has packets and bytes by action and reason.
type Verdicts [aqm.NumActions][aqm.NumReasons]aqm.Count

// Counts are judgements by end, group of packet and verdict.
type Counts [NumEnds][NumGroups]Verdicts

// ledger is what happened while it was the owner's.
type ledger struct {
	counts  Counts
	ecn     [4]aqm.Count // arrivals by codepoint
	marked  aqm.Count    // turned from ECT to CE
	sojourn *hdrhistogram.Histogram
	waited  float64 // the sojourn times added up, ns

	events         uint64
	at             aqm.Time // of the last event
	packets, bytes int64    // in the queue after it

	sample    Sample // the last; Values is the ledger's own
	hasSample bool

	// What is put into the Observer's cell says who has put it there.
	loan offer // by the owner
	ask  offer // by a reader
}

// offer is a ledger that the other side may take.
type offer struct{ ledger *ledger }

func (c Config) newLedger(values int) *ledger {
	d := &ledger{
		sojourn: hdrhistogram.New(int64(time.Microsecond), int64(c.Longest), c.Digits),
		sample:  Sample{Values: make([]float64, values)},
	}
	d.loan.ledger, d.ask.ledger = d, d
	return d
}

// reset makes d one in which nothing has happened.
func (d *ledger) reset() {
	sojourn, values := d.sojourn, d.sample.Values
	sojourn.Reset()
	*d = ledger{sojourn: sojourn, sample: Sample{Values: values}, loan: offer{d}, ask: offer{d}}
}
