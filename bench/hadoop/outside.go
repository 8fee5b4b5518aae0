package hadoop

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/bench/dumbbell"
	"github.com/aqmkit/aqmkit/bench/study"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/threshold"
)

const outside = "outside"

// outsideCells are what was published about DCTCP.
func outsideCells(o study.Options) (cells []study.Cell) {
	for _, n := range []int{2, 5} {
		cells = append(cells, study.Cell{
			Point: outside, Scheme: fmt.Sprintf("dctcp-k20-1g-%d", n), Seed: o.Seed,
			Run: func() (*study.Measures, error) {
				d, err := dumbbell.RunDCTCP(1e9, 100*us, 20, n, .4)
				if err != nil {
					return nil, err
				}
				return &study.Measures{Values: map[string]float64{
					"gbps": d.Utilisation, "queue_max": d.QueueMax.Measured, "queue_max_expected": d.QueueMax.Expected,
				}}, nil
			},
		})
	}
	for _, c := range changes {
		for _, sq := range tenGigs {
			if c.name != "" && (sq.aside || c.weight > 0 && !sq.averages()) {
				continue
			}
			cells = append(cells, study.Cell{
				Point: outside, Scheme: sq.cell(c), Seed: o.Seed,
				Run: func() (*study.Measures, error) { return runTenGig(sq, c, o.Seed) },
			})
		}
	}
	return cells
}

// tenGig is a sender and a queue at 10 Gb/s.
type tenGig struct {
	kind, queue string
	aside       bool // not of the published comparison
}

var tenGigs = []tenGig{
	{"ecn", "red-50-150", false},
	{"ecn", "red-150-450", false},
	{"ecn", "k65", false},
	{"dctcp", "red-50-150", true},
	{"dctcp", "red-150-450", true},
	{"dctcp", "k65", false},
}

// published returns what the paper has: for its switches with their senders.
func (t tenGig) published() string {
	switch t {
	case tenGigs[0]:
		return "7.8"
	case tenGigs[1]:
		return "9.2"
	case tenGigs[len(tenGigs)-1]:
		return "as drop-tail"
	}
	return "-"
}

func (t tenGig) averages() bool { return t.queue != "k65" }

// cell returns the name of the cell, such as ecn-k65-10g or ecn-k65-10g-rtt200.
func (t tenGig) cell(c change) string {
	name := t.kind + "-" + t.queue + "-10g"
	if c.name != "" {
		name += "-" + c.name
	}
	return name
}

// change is a thing, or two, that is not as in the base, to see what the throughput at 10 Gb/s
// hangs on. A field of 0 leaves it as it is.
type change struct {
	name, words string
	flows       int
	rtt         time.Duration
	access      uint64  // rate of the senders' links
	burst       int     // segments to an ACK, and so from a sender at a time
	weight      float64 // RED's
}

// changes begin with the base.
var changes = []change{
	{words: "two flows, round trip 0.4 ms"},
	{name: "flows1", words: "one flow", flows: 1},
	{name: "flows10", words: "ten flows", flows: 10},
	{name: "rtt200", words: "round trip 0.2 ms", rtt: 200 * us},
	{name: "rtt100", words: "round trip 0.1 ms", rtt: 100 * us},
	{name: "access10", words: "senders' links of 10 Gb/s, not 100", access: 10e9},
	{name: "burst32", words: "an ACK for 32 segments, and so bursts of 32", burst: 32},
	{name: "flows1-burst32", words: "both: one flow, in bursts of 32", flows: 1, burst: 32},
	{name: "now", words: "RED on the instantaneous queue", weight: 1},
}

// runTenGig has two flows share 10 Gb/s, with a round trip of 0.4 ms, but for the change.
func runTenGig(sq tenGig, ch change, seed uint64) (*study.Measures, error) {
	const rate = 10e9
	ch.flows, ch.rtt = cmp.Or(ch.flows, 2), cmp.Or(ch.rtt, 400*us)
	a, err := tenGigAQM(sq.queue, cmp.Or(ch.weight, 1./512), seed)
	if err != nil {
		return nil, err
	}
	net := netmodel.New()
	d, err := net.Dumbbell(netmodel.DumbbellConfig{
		Bottleneck: netmodel.QueueConfig{Rate: rate, Delay: ch.rtt / 4, Limit: 10000, AQM: a},
		Access:     cmp.Or(ch.access, 10*rate),
		Left:       netmodel.Spread(ch.flows, ch.rtt/8, ch.rtt/8),
		Right:      []time.Duration{ch.rtt / 8},
	})
	if err != nil {
		return nil, err
	}
	c := senders(sq.kind, shortRTO)
	c.SmallQueues, c.ReceiveWindow = false, 16<<20
	if ch.burst > 0 {
		c.DelayedACK, c.DelayedACKTime = ch.burst, ch.rtt/4
	}
	pool, err := tcp.NewPool(net, c)
	if err != nil {
		return nil, err
	}
	for i, r := range d.Routes {
		net.Sim().At(aqm.Time(i)*1e6, func(now aqm.Time) { pool.Dial(now, r, i, long{}, nil) })
	}
	net.Run(.3e9)
	d.Bottleneck.Measure()
	net.Run(1.3e9)
	st := d.Bottleneck.Stats()
	return &study.Measures{Values: map[string]float64{"gbps": st.Utilisation() * rate / 1e9, "queue_mean": st.MeanPackets()}}, nil
}

func tenGigAQM(queue string, weight float64, seed uint64) (aqm.AQM, error) {
	c := red.DefaultConfig()
	c.MaxP, c.Weight, c.Gentle, c.MeanPacket, c.Rate, c.Rand = .1, weight, true, meanPacket, 10e9, rand.NewPCG(seed, 1)
	switch queue {
	case "red-50-150":
		c.MinTh, c.MaxTh = 50, 150
	case "red-150-450":
		c.MinTh, c.MaxTh = 150, 450
	default:
		return threshold.New(threshold.Config{Packets: 65})
	}
	a, err := red.New(c)
	if err != nil {
		return nil, err
	}
	return ecnpolicy.New(a, ecnpolicy.Config{MarkForced: true})
}
