package hadoop

import (
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/bench/study"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/num"
	"github.com/aqmkit/aqmkit/internal/shuffle"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// floods are what attackers send.
var floods = []struct {
	name string
	c    tcp.SourceConfig
}{
	{name: "none"},
	{"ack", tcp.SourceConfig{Rate: floodRate, Size: smallFlood, Class: aqm.PureACK, Flags: netmodel.ACK}},
	{"syn", tcp.SourceConfig{Rate: floodRate, Size: smallFlood, Class: aqm.SYN, Flags: netmodel.SYN}},
	{"ect", tcp.SourceConfig{Rate: floodRate, Size: largeFlood, Class: aqm.Data, ECN: aqm.ECT0}},
}

// guard is a scheme with the policies that hold attackers back.
type guard struct {
	name   string
	aqm    string
	policy *ecnpolicy.Config // nil: none
	quick  bool
}

func guards() []guard {
	budget := func(c ecnpolicy.Config) *ecnpolicy.Config {
		c.BudgetRate, c.BudgetBurst = budgetRate, budgetBurst
		return &c
	}
	limit := func(c *ecnpolicy.Config) *ecnpolicy.Config {
		d := *c
		d.MarkLimit = markLimit
		return &d
	}
	base := ecnpolicy.Config{MarkForced: true}
	ack, acksyn, all := base, base, base
	ack.Protect, acksyn.Protect, all.Protect = aqm.PureACK, ecnpolicy.ACKSYN, ecnpolicy.All
	guideline := acksyn
	guideline.MarkForced = false
	return []guard{
		{"droptail", "droptail", nil, true},
		{"redi-default", "redi", &base, true},
		{"redi-default-marklimit", "redi", limit(&base), true},
		{"redi-ack", "redi", &ack, false},
		{"redi-ack-budget", "redi", budget(ack), false},
		{"redi-acksyn", "redi", &acksyn, true},
		{"redi-acksyn-budget", "redi", budget(acksyn), true},
		{"redi-acksyn-budget-marklimit", "redi", limit(budget(acksyn)), true},
		{"redi-acksyn-budget-guideline", "redi", budget(guideline), true},
		{"redi-all", "redi", &all, false},
		{"redi-all-budget", "redi", budget(all), false},
		{"k", "k", nil, true},
		{"k-marklimit", "k", limit(&ecnpolicy.Config{}), true},
	}
}

// floodCells returns the cells: a port of a node that receives and sends at full rate,
// under two attackers.
func floodCells(o study.Options) (cells []study.Cell) {
	seeds, long := o.SeedsOr(fewSeeds), floodLong
	if !o.Full {
		seeds, long = 1, floodQuick
	}
	for f, flood := range floods {
		for i := range seeds {
			for _, g := range guards() {
				if !o.Full && !g.quick {
					continue
				}
				seed := o.Seed + uint64(i)
				cells = append(cells, study.Cell{
					Point: "flood-" + flood.name, Scheme: g.name, Seed: seed,
					Run: func() (*study.Measures, error) { return runFlood(f, g, seed, long) },
				})
			}
		}
	}
	return cells
}

// The flows of a flood's cell.
const (
	flowIn = iota // data into the node
	flowOut
	flowService
	flowFlood
	numFloodFlows
)

// long writes for ever, and its other end counts.
type long struct{ tcp.NoApp }

// Connected implements tcp.App.
func (long) Connected(now aqm.Time, e *tcp.End) { e.WriteForever(now) }

type count struct {
	tcp.NoApp
	bytes *int64
}

// Read implements tcp.App.
func (c count) Read(_ aqm.Time, _ *tcp.End, n int64) { *c.bytes += n }

// ask is a request of the service.
type ask struct {
	tcp.NoApp
	began aqm.Time
	read  int64
	done  *netmodel.Histogram
}

// Connected implements tcp.App.
func (*ask) Connected(now aqm.Time, e *tcp.End) { e.Write(now, service.Request) }

// Read implements tcp.App.
func (a *ask) Read(now aqm.Time, _ *tcp.End, n int64) {
	if a.read += n; a.read == service.Response {
		a.done.Add(now.Sub(a.began))
	}
}

type reply struct{ tcp.NoApp }

// Read implements tcp.App.
func (reply) Read(now aqm.Time, e *tcp.End, _ int64) {
	e.Write(now, service.Response)
	e.Close(now)
}

// runFlood has node 0 receive from nodes 1 to 4 and send to them, and answer node 5,
// while nodes 6 and 7 flood it.
func runFlood(flood int, g guard, seed uint64, seconds float64) (*study.Measures, error) {
	net := netmodel.New()
	ports := 0
	s := scheme{aqm: g.aqm, target: floodTarget}
	ls, err := net.LeafSpine(netmodel.LeafSpineConfig{
		Racks: 1, Hosts: 8, Spines: 1,
		Host: netmodel.QueueConfig{Rate: cluster.EdgeRate, Delay: cluster.EdgeDelay, Limit: deep},
		Core: netmodel.QueueConfig{Rate: cluster.CoreRate, Delay: cluster.CoreDelay, Limit: deep},
		MakeAQM: func(name string) (aqm.AQM, error) {
			ports++
			a, err := s.algorithm(seed, shuffle.Port{Name: name, Rate: cluster.EdgeRate, Index: ports})
			if err != nil || g.policy == nil {
				return a, err
			}
			return ecnpolicy.New(a, *g.policy)
		},
	})
	if err != nil {
		return nil, err
	}
	port := ls.Down[0]
	port.CountFlows(numFloodFlows)
	pool, err := tcp.NewPool(net, senders("ecn", longRTO))
	if err != nil {
		return nil, err
	}
	src := rand.NewPCG(seed, 1)
	var in, out int64
	for peer := 1; peer <= 4; peer++ {
		r, err := ls.Route(peer, 0, 0)
		if err != nil {
			return nil, err
		}
		start := aqm.Time(num.Uniform(src.Uint64()) * 1e6)
		net.Sim().At(start, func(now aqm.Time) {
			pool.Dial(now, r, flowIn, long{}, count{bytes: &in})
			pool.Dial(now, netmodel.Route{Forward: r.Reverse, Reverse: r.Forward}, flowOut, long{}, count{bytes: &out})
		})
	}
	asks, err := ls.Route(5, 0, 0)
	if err != nil {
		return nil, err
	}
	asked, times := 0, netmodel.Histogram{}
	end, warm := aqm.Time(seconds*1e9), aqm.Time(floodWarm*1e9)
	for t := 0.; aqm.Time(t) < end; t += -num.Log(num.Uniform(src.Uint64())) / service.Rate * 1e9 {
		if at := aqm.Time(t); at >= warm {
			asked++
			net.Sim().At(at, func(now aqm.Time) { pool.Dial(now, asks, flowService, &ask{began: now, done: &times}, reply{}) })
		}
	}
	if c := floods[flood].c; c.Rate > 0 {
		for attacker := 6; attacker <= 7; attacker++ {
			r, err := ls.Route(attacker, 0, 0)
			if err != nil {
				return nil, err
			}
			c.Start = warm/2 + aqm.Time(attacker)*100
			if _, err := tcp.NewSource(net, r.Forward, flowFlood, c); err != nil {
				return nil, err
			}
		}
	}
	net.Run(warm)
	port.Measure()
	in, out = 0, 0
	net.Run(end)
	st, soj := port.Stats(), port.Sojourns()
	took := st.Duration().Seconds()
	attack, data, acks := port.Flow(flowFlood), port.Flow(flowIn), port.Flow(flowOut)
	passed := attack.Arrived - attack.Dropped()
	v := map[string]float64{
		"in_mbps":       float64(in) * 8 / took / 1e6,
		"out_mbps":      float64(out) * 8 / took / 1e6,
		"queue_packets": st.MeanPackets(),
		"delay_mean_us": micros(soj.Mean()),
		"delay_p99_us":  micros(soj.Quantile(.99)),
		"svc_mean_ms":   times.Mean().Seconds() * 1e3,
		"svc_p99_ms":    times.Quantile(.99).Seconds() * 1e3,
		// Within the run: those that came late in it may have had no time.
		"svc_open_pct":   100 * (1 - float64(times.Count())/float64(max(1, asked))),
		"flood_mbps":     float64(passed) * float64(floods[flood].c.Size) * 8 / took / 1e6,
		"flood_loss_pct": percent(attack.Dropped(), attack.Arrived),
		"data_loss_pct":  percent(data.Dropped(), data.Arrived),
		"ack_loss_pct":   percent(acks.Dropped(), acks.Arrived),
	}
	return &study.Measures{Values: v}, nil
}

// floodTime keeps the reader of the table informed.
func floodTime(full bool) time.Duration {
	if full {
		return time.Duration((floodLong - floodWarm) * 1e9)
	}
	return time.Duration((floodQuick - floodWarm) * 1e9)
}
