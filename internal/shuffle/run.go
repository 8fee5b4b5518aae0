package shuffle

import (
	"fmt"
	"strings"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// step is how often a run looks whether the job is over.
const step = aqm.Time(1e6)

// Run simulates the job, and what is under way at its end until that is answered.
func Run(c Config) (*Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &Result{}
	net := netmodel.New()
	ls, err := c.network(net)
	if err != nil {
		return nil, err
	}
	var ports []*netmodel.Link
	for _, l := range net.Links() {
		if l.Sojourns() != nil {
			l.CountFlows(NumFlows)
			ports = append(ports, l)
		}
	}
	route, err := routes(ls, c.Network.Spines)
	if err != nil {
		return nil, err
	}
	plain := c.TCP
	plain.Variant, plain.ECN, plain.ECNSYNACK, plain.ECTAll = tcp.NewReno, false, false, false
	pool, err := tcp.NewPool(net, c.TCP)
	if err != nil {
		return nil, err
	}
	plainPool, err := tcp.NewPool(net, plain)
	if err != nil {
		return nil, err
	}

	j := newJob(&c, pool, route, r)
	for m, at := range c.mapEnds() {
		net.Sim().At(at, func(now aqm.Time) { j.mapOver(now, m) })
	}
	services := []*service{
		{of: c.Service, flow: FlowService, sim: net.Sim(), pool: pool, route: route, r: &r.Service},
		{of: c.Plain, flow: FlowPlain, sim: net.Sim(), pool: plainPool, route: route, r: &r.Plain},
	}
	for i, s := range services {
		s.dialled = c.dialled
		stream := []uint64{streamService, streamPlain}[i]
		for node := range j.nodes {
			if s.of.Rate > 0 {
				s.start(newArrivals(c.Seed, stream, node, j.nodes, s.of.Rate))
			}
		}
	}
	probes, err := c.probes(net, route)
	if err != nil {
		return nil, err
	}
	r.Latency = net.MeasureLatency()

	for j.end == 0 {
		if net.Now() >= aqm.Time(c.Limit) {
			return nil, fmt.Errorf("shuffle: %d of %d parts not fetched after %v", j.left, j.nodes*c.Job.Maps*len(j.reducers), c.Limit)
		}
		net.Run(net.Now() + step)
	}
	r.RunTime = j.end.Sub(0)
	r.Throughput = j.throughput()
	for i := range j.reducers {
		r.Bytes += j.reducers[i].bytes
	}
	r.collect(ports)
	for _, p := range probes {
		r.Probes += p.Sent
	}
	latency := *r.Latency
	r.Latency = &latency
	for _, s := range services {
		s.stopped = true
	}
	for services[0].open+services[1].open > 0 {
		if net.Now() >= aqm.Time(c.Limit) {
			return nil, fmt.Errorf("shuffle: %d requests not answered after %v", services[0].open+services[1].open, c.Limit)
		}
		net.Run(net.Now() + step)
	}
	r.Events = net.Sim().Events()
	return r, nil
}

// network builds the cluster.
func (c *Config) network(net *netmodel.Net) (*netmodel.LeafSpine, error) {
	ports := 0
	n := c.Network
	return net.LeafSpine(netmodel.LeafSpineConfig{
		Racks: n.Racks, Hosts: n.Nodes, Spines: n.Spines,
		Host: netmodel.QueueConfig{Rate: n.EdgeRate, Delay: n.EdgeDelay, Limit: n.Buffer},
		Core: netmodel.QueueConfig{Rate: n.CoreRate, Delay: n.CoreDelay, Limit: n.Buffer},
		MakeAQM: func(name string) (aqm.AQM, error) {
			p := Port{Name: name, Rate: n.CoreRate, Index: ports}
			if strings.HasPrefix(name, "host") {
				p.Rate = n.EdgeRate
			}
			ports++
			return c.MakeAQM(p)
		},
	})
}

// routes returns a function that looks routes up, and makes them as they are first
// needed. A pair of nodes always takes the same spine.
func routes(ls *netmodel.LeafSpine, spines int) (func(from, to int) netmodel.Route, error) {
	n := ls.Hosts()
	if _, err := ls.Route(0, n-1, 0); err != nil {
		return nil, err
	}
	table := make([]netmodel.Route, n*n)
	return func(from, to int) netmodel.Route {
		r := &table[from*n+to]
		if r.Forward == nil {
			*r, _ = ls.Route(from, to, int(mix(uint64(from*n+to))%uint64(spines))) // the first one has shown that it can
		}
		return *r
	}, nil
}

// probes starts the datagrams.
func (c *Config) probes(net *netmodel.Net, route func(from, to int) netmodel.Route) (all []*tcp.Source, err error) {
	n := c.Network.Racks * c.Network.Nodes
	if c.Probes.Rate == 0 {
		return nil, nil
	}
	for i := range n {
		s, err := tcp.NewSource(net, route(i, (i+n/2)%n).Forward, FlowProbes, tcp.SourceConfig{
			Rate: uint64(c.Probes.Rate * 8 * float64(c.Probes.Size)), Size: c.Probes.Size, Class: aqm.Other,
			// Not all at one instant.
			Start: aqm.Time(1e9 / c.Probes.Rate * float64(i) / float64(n)),
		})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
