package hadoop

import (
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
	for _, kind := range kinds {
		for _, q := range []string{"red-50-150", "red-150-450", "k65"} {
			cells = append(cells, study.Cell{
				Point: outside, Scheme: kind + "-" + q + "-10g", Seed: o.Seed,
				Run: func() (*study.Measures, error) { return runTenGig(kind, q, o.Seed) },
			})
		}
	}
	return cells
}

// runTenGig has two flows share 10 Gb/s, with a round trip of 0.4 ms.
func runTenGig(kind, queue string, seed uint64) (*study.Measures, error) {
	const (
		rate = 10e9
		rtt  = 400 * us
		flow = 2
	)
	a, err := tenGigAQM(queue, seed)
	if err != nil {
		return nil, err
	}
	net := netmodel.New()
	d, err := net.Dumbbell(netmodel.DumbbellConfig{
		Bottleneck: netmodel.QueueConfig{Rate: rate, Delay: rtt / 4, Limit: 10000, AQM: a},
		Access:     10 * rate,
		Left:       netmodel.Spread(flow, rtt/8, rtt/8),
		Right:      []time.Duration{rtt / 8},
	})
	if err != nil {
		return nil, err
	}
	c := senders(kind, shortRTO)
	c.SmallQueues, c.ReceiveWindow = false, 16<<20
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

func tenGigAQM(queue string, seed uint64) (aqm.AQM, error) {
	c := red.DefaultConfig()
	c.MaxP, c.Weight, c.Gentle, c.MeanPacket, c.Rate, c.Rand = .1, 1./512, true, meanPacket, 10e9, rand.NewPCG(seed, 1)
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
