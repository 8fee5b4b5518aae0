package dumbbell

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/sim"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// samples is the number of samples of a run's series, but for the first.
const samples = 5000

// steps is in how many steps a run tells how far it is.
const steps = 50

// long is one flow: a sender that never stops, and who counts what it delivers.
type long struct {
	tcp.NoApp
	got int64
}

// Connected implements tcp.App, for the sender.
func (*long) Connected(now aqm.Time, e *tcp.End) { e.WriteForever(now) }

// sink is the receiver of a long.
type sink struct {
	tcp.NoApp
	of *long
}

// Read implements tcp.App.
func (k sink) Read(_ aqm.Time, _ *tcp.End, n int64) { k.of.got += n }

// run simulates the scenario with one seed. It calls step after each of its steps.
func (s Scenario) run(seed uint64, step func()) (*Result, error) {
	a, err := s.instance(seed)
	if err != nil {
		return nil, err
	}
	net := netmodel.New()
	side, right := s.RTTMin/4, s.RTTMin/8
	left := netmodel.Spread(s.Flows, s.RTTMin/2-side-right, s.RTTMax/2-side-right)
	left = append(left, netmodel.Spread(s.Reverse, s.RTTMin/2-side-right, s.RTTMax/2-side-right)...)
	d, err := net.Dumbbell(netmodel.DumbbellConfig{
		Bottleneck: netmodel.QueueConfig{Rate: s.Rate, Delay: side, Limit: s.Buffer, AQM: a},
		Access:     10 * s.Rate,
		Left:       left,
		Right:      []time.Duration{right},
	})
	if err != nil {
		return nil, err
	}
	var pools []*tcp.Pool
	for _, k := range s.Kinds {
		p, err := tcp.NewPool(net, s.config(k))
		if err != nil {
			return nil, err
		}
		pools = append(pools, p)
	}

	// The first second, or less of a run that is short.
	spread := min(1e9, s.Seconds/4*1e9)
	if s.Settings == NS2 {
		spread = 1e9
	}
	starts := rand.New(rand.NewPCG(seed, 2))
	flows := make([]*long, len(d.Routes))
	conns := make([]*tcp.Conn, len(d.Routes))
	for i, r := range d.Routes {
		at, of := i, s.Flows
		if i >= s.Flows {
			at, of = i-s.Flows, s.Reverse
			r.Forward, r.Reverse = r.Reverse, r.Forward
		}
		start := aqm.Time(at) * aqm.Time(spread) / aqm.Time(of)
		if s.Settings != NS2 {
			start += aqm.Time(starts.Float64() * spread / float64(of))
		}
		flows[i] = &long{}
		net.Sim().At(start, func(now aqm.Time) {
			conns[i] = pools[at%len(pools)].Dial(now, r, i, flows[i], sink{of: flows[i]})
		})
	}
	end := aqm.Time(s.Seconds * 1e9)
	series := d.Bottleneck.Watch(time.Duration(max(1, end/samples)), samples+1)

	began := time.Now()
	warm := aqm.Time(s.Warmup * 1e9)
	const warming = steps / 5
	for i := range aqm.Time(warming) {
		net.Run(warm / warming * (i + 1))
		step()
	}
	net.Run(warm)
	before := d.Bottleneck.Stats().SentPackets
	d.Bottleneck.Measure()
	got := make([]float64, s.Flows)
	for i := range got {
		got[i] = -float64(flows[i].got)
	}
	old := sent(conns)
	for i := range aqm.Time(steps - warming) {
		net.Run(warm + (end-warm)/(steps-warming)*(i+1))
		step()
	}
	net.Run(end)
	wall := time.Since(began).Seconds()

	for i := range got {
		got[i] += float64(flows[i].got)
	}
	st, soj := d.Bottleneck.Stats(), d.Bottleneck.Sojourns()
	r := &Result{Seed: seed, Samples: series.Samples}
	r.Utilisation, r.QueueMean = st.Utilisation(), st.MeanPackets()
	for _, g := range got {
		r.Goodput += g * 8 / st.Duration().Seconds()
	}
	r.Fairness = jain(got)
	r.QueueP50, r.QueueP99 = queueQuantiles(series.Samples, warm)
	r.DelayMean, r.DelayP50, r.DelayP99 = ms(soj.Mean()), ms(soj.Quantile(.5)), ms(soj.Quantile(.99))
	for k, c := range st.Kinds {
		r.Kinds[k] = Count{
			Kind: netmodel.Kind(k).String(), Arrived: float64(c.Arrived), Marked: float64(c.Marked),
			Early: float64(c.Early), Forced: float64(c.Forced), Overflow: float64(c.Overflow),
		}
	}
	now := sent(conns)
	r.Retransmits, r.Timeouts = float64(now.Retransmits-old.Retransmits), float64(now.Timeouts-old.Timeouts)
	r.Packets = float64(before + st.SentPackets)
	r.Wall = wall
	r.PacketsPerWallSecond = r.Packets / wall
	return r, nil
}

// sent adds up what the senders have counted.
func sent(conns []*tcp.Conn) (t tcp.Stats) {
	for _, c := range conns {
		if c != nil {
			t.Retransmits += c.Client.Stats.Retransmits
			t.Timeouts += c.Client.Stats.Timeouts
		}
	}
	return t
}

// jain returns Jain's index of fairness, (sum x)^2 / (n sum x^2): 1 if all are equal,
// 1/n if one has all [Jain, Chiu and Hawe 1984].
func jain(x []float64) float64 {
	sum, squares := 0., 0.
	for _, v := range x {
		sum += v
		squares += float64(v * v)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(x)) * squares)
}

// queueQuantiles returns the median and the 99th percentile of the samples from warm
// on.
func queueQuantiles(samples []netmodel.Sample, warm aqm.Time) (p50, p99 float64) {
	var q []int
	for _, s := range samples {
		if s.At >= warm {
			q = append(q, s.Packets)
		}
	}
	if len(q) == 0 {
		return 0, 0
	}
	slices.Sort(q)
	return float64(q[(len(q)-1)/2]), float64(q[(len(q)-1)*99/100])
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// Progress is told how many parts of a whole are done, and what is being done.
type Progress func(done, of int, what string)

// Run simulates every scenario with the seeds first to first+seeds-1, on up to workers
// goroutines; the results do not depend on how many. progress may be nil.
func Run(scenarios []Scenario, first uint64, seeds, workers int, progress Progress) ([]*Report, error) {
	if len(scenarios) == 0 || seeds < 1 {
		return nil, fmt.Errorf("%d scenarios with %d seeds, must be one of each at least", len(scenarios), seeds)
	}
	for _, s := range scenarios {
		if err := s.Validate(); err != nil {
			return nil, err
		}
	}
	n := len(scenarios) * seeds
	results, errs := make([]*Result, n), make([]error, n)
	var mu sync.Mutex
	done := 0
	sim.Each(n, workers, func(i int) {
		s := scenarios[i/seeds]
		results[i], errs[i] = s.run(first+uint64(i%seeds), func() {
			mu.Lock()
			defer mu.Unlock()
			if progress != nil {
				progress(done, n*steps, s.Algorithm)
			}
			done++
		})
	})
	reports := make([]*Report, len(scenarios))
	for i, s := range scenarios {
		for _, err := range errs[i*seeds : (i+1)*seeds] {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Algorithm, err)
			}
		}
		reports[i] = summary(s, results[i*seeds:(i+1)*seeds])
	}
	return reports, nil
}
