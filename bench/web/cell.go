package web

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/bench/study"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
	"github.com/aqmkit/aqmkit/internal/web"
)

// point is where schemes are compared.
type point struct {
	Name       string     `json:"name"`
	Load       int        `json:"load_percent"`
	Rate       uint64     `json:"rate_bit_per_s"`
	RTT        string     `json:"rtt"`
	Model      string     `json:"model"`
	Open       bool       `json:"open,omitempty"`
	Persistent float64    `json:"persistent"` // share of pages
	Room       int        `json:"room_packets"`
	MeanPacket uint32     `json:"mean_packet_bytes"`
	MaxECN     float64    `json:"max_ecn"` // 0: RED drops ECN-capable packets above max_th; else from this p_b on
	TCP        tcp.Config `json:"tcp"`
	times
}

// basePoint is the scenario at a load.
func basePoint(name string, load int) *point {
	return &point{
		Name: name, Load: load, Rate: linkRate, RTT: "base", Model: "3gpp2", Persistent: web.CDMA2000().Persistent,
		Room: roomy, MeanPacket: meanPacket, TCP: tcpConfig(), times: fullTimes,
	}
}

func loadPoint(load int) string { return fmt.Sprintf("load%d", load) }

// config returns the simulation of a scheme.
func (p *point) config(s Scheme, seed uint64) (*web.Config, error) {
	m, err := web.FindModel(p.Model)
	if err != nil {
		return nil, err
	}
	m.Persistent = p.Persistent
	a, err := s.instance(p, seed)
	if err != nil {
		return nil, err
	}
	c := &web.Config{
		Rate: p.Rate, Access: accessRate * p.Rate / linkRate, Back: p.Rate, Limit: p.Room, AQM: a, TCP: p.TCP, Model: m,
		RTT: spreads[p.RTT], Seed: seed, Warmup: p.Warmup, Measure: p.Measure, Tail: p.Tail,
	}
	c.TCP.ECN, c.TCP.ECNSYNACK = s.ECN || p.TCP.ECN, s.SYNACK
	switch s.Law {
	case uncongested:
		c.Rate, c.Limit = fastRate*p.Rate/linkRate, 1_000_000
	case dropTail:
		c.Limit = s.Setting
	}
	return c, nil
}

// cell returns the cell of a scheme.
func (p *point) cell(s Scheme, seed uint64) study.Cell {
	return study.Cell{Point: p.Name, Scheme: s.String(), Seed: seed, Run: func() (*study.Measures, error) {
		c, err := p.config(s, seed)
		if err != nil {
			return nil, err
		}
		if err := p.populate(c); err != nil {
			return nil, err
		}
		r, err := web.Run(*c)
		if err != nil {
			return nil, err
		}
		return p.measures(c, r), nil
	}}
}

// The two readings of a response time.
const (
	handshake = "handshake" // the first exchange of a connection from the opening of the connection
	request   = "request"   // every exchange from the writing of the request
)

// Abscissae of the curves.
var (
	cdfAt  = grid(0, 2, 50)
	ccdfAt = logGrid(.1, 10, 40)
)

func grid(from, to float64, n int) []float64 {
	x := make([]float64, n+1)
	for i := range x {
		x[i] = from + (to-from)*float64(i)/float64(n)
	}
	return x
}

func logGrid(from, to float64, n int) []float64 {
	x := grid(0, 1, n)
	for i := range x {
		x[i] = math.Round(1e3*from*math.Pow(to/from, x[i])) / 1e3
	}
	return x
}

func millis(d time.Duration) float64 { return d.Seconds() * 1e3 }

// duration of seconds, to the millisecond.
func duration(s float64) time.Duration {
	return time.Duration(math.Round(s*1e3)) * time.Millisecond
}

// measures are what is kept of a run.
func (p *point) measures(c *web.Config, r *web.Result) *study.Measures {
	m := &study.Measures{Values: map[string]float64{}, Curves: map[string][]float64{}}
	v := m.Values
	for _, of := range []struct {
		name   string
		t      *web.Times
		curves bool
	}{{handshake, r.Handshake(), true}, {request, r.Request(), true}, {"first", &r.First, false}, {"follow", &r.Follow, false}} {
		t := of.t
		for _, d := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second} {
			v[shareWithin(d, of.name)] = t.Share(d)
		}
		v["over_2s_"+of.name] = 1 - t.Share(2*time.Second)
		v["mean2s_ms_"+of.name] = millis(t.TruncatedMean())
		v["p99_ms_"+of.name] = millis(t.Quantile(.99))
		if of.curves {
			for _, x := range cdfAt {
				m.Curves["cdf_"+of.name] = append(m.Curves["cdf_"+of.name], digits(t.Share(duration(x))))
			}
			for _, x := range ccdfAt {
				m.Curves["ccdf_"+of.name] = append(m.Curves["ccdf_"+of.name], digits(1-t.Share(duration(x))))
			}
		}
	}
	v["share_3s_"+handshake], v["share_5s_"+handshake] = r.Handshake().Share(3*time.Second), r.Handshake().Share(5*time.Second)

	total := r.Link.Total()
	count(v, "all", total)
	for k, n := range r.Link.Kinds {
		count(v, strings.ReplaceAll(strings.ToLower(netmodel.Kind(k).String()), " ", "_"), n)
	}
	span := r.Link.Duration().Seconds()
	v["early_drops"], v["forced_drops"], v["overflow_drops"] = float64(total.Early), float64(total.Forced), float64(total.Overflow)
	v["throughput_mbps"] = float64(r.Link.SentBytes) * 8 / span / 1e6
	v["utilisation"] = float64(r.Link.SentBytes) * 8 / span / float64(p.Rate)
	v["exchanges_per_s"], v["pages_per_s"] = float64(r.Exchanges)/span, float64(r.Pages)/span
	v["queue_mean_packets"], v["queue_p99_packets"] = r.Link.MeanPackets(), float64(r.QueueP99)
	v["delay_mean_ms"], v["delay_p99_ms"] = millis(r.Delay.Mean()), millis(r.Delay.Quantile(.99))
	v["mean_packet_bytes"] = float64(r.Link.SentBytes) / float64(max(1, r.Link.SentPackets))
	v["connections"], v["handshakes_given_up"] = float64(r.Connections), float64(r.Failed)
	v["population"] = float64(c.Users) + c.Arrivals
	v["back_utilisation"] = float64(r.Back.SentBytes) * 8 / span / float64(c.Back)
	v["packets"] = float64(r.Packets)
	return m
}

func shareWithin(d time.Duration, reading string) string {
	if d < time.Second {
		return fmt.Sprintf("share_%dms_%s", d.Milliseconds(), reading)
	}
	return fmt.Sprintf("share_%ds_%s", d/time.Second, reading)
}

// digits cuts a share to what a curve needs.
func digits(x float64) float64 { return math.Round(x*1e5) / 1e5 }

func count(v map[string]float64, kind string, n netmodel.Counters) {
	arrived := float64(max(1, n.Arrived))
	v["arrived_"+kind] = float64(n.Arrived)
	v["loss_"+kind] = float64(n.Dropped()) / arrived
	v["marked_"+kind] = float64(n.Marked) / arrived
}
