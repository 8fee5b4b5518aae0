package shuffle

import (
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// Config is a cluster and what happens on it.
type Config struct {
	Network Network
	TCP     tcp.Config // of the job and the service
	Job     Job
	Service Requests // ECN-capable as the job is
	Plain   Requests // the same without ECN
	Probes  Probes

	Seed uint64
	// MakeAQM returns the algorithm of a port.
	MakeAQM func(Port) (aqm.AQM, error)
	// Limit is the simulated time after which a job that is not over is an error.
	Limit time.Duration

	// For tests.
	fetched func(mapper, reducer int)             // a part has been fetched
	dialled func(flow, from, to int, at aqm.Time) // a request of a service has come
}

// Port is a port of a switch.
type Port struct {
	Name  string
	Rate  uint64 // bit/s
	Index int    // counts the ports; the same in every run of a network
}

// Network is racks of nodes, and the core.
type Network struct {
	Racks  int `json:"racks"`
	Nodes  int `json:"nodes_per_rack"`
	Spines int `json:"spines"`

	EdgeRate uint64 `json:"edge_bit_per_s"`
	CoreRate uint64 `json:"core_bit_per_s"`

	EdgeDelay time.Duration `json:"edge_delay_ns"` // one way; of the host too
	CoreDelay time.Duration `json:"core_delay_ns"`

	Buffer int `json:"buffer_packets"` // of every port
}

// Job is a MapReduce job.
type Job struct {
	Maps      int           `json:"maps_per_node"`
	Slots     int           `json:"map_slots_per_node"`
	MapTime   time.Duration `json:"map_time_ns"`
	MapSpread float64       `json:"map_time_spread"`  // a map takes MapTime*(1 +- spread), uniform
	Output    int64         `json:"map_output_bytes"` // of a map, to all reducers
	Spread    float64       `json:"output_spread"`    // a reducer's part is Output/reducers*(1 +- spread), uniform

	Reducers   int     `json:"reducers_per_node"`
	Parallel   int     `json:"parallel_fetches"`  // of a reducer
	MaxOutputs int     `json:"outputs_per_fetch"` // at most
	SlowStart  float64 `json:"slow_start"`        // share of the maps that must be over before reducers begin
	Request    int64   `json:"request_bytes"`     // of a fetch
}

// Requests are a service: each node asks others.
type Requests struct {
	Rate     float64 `json:"per_s_and_node"` // Poisson; 0: none
	Request  int64   `json:"request_bytes"`
	Response int64   `json:"response_bytes"`
}

// Probes are datagrams from each node to the one half the cluster away.
type Probes struct {
	Rate float64 `json:"per_s_and_node"` // 0: none
	Size uint32  `json:"bytes"`
}

// Validate returns all that is wrong with c, or nil.
func (c *Config) Validate() error {
	l := check.For("shuffle")
	n, j := c.Network, c.Job
	l.Require(n.Racks >= 1 && n.Racks <= 1<<10, "Racks", n.Racks, "", "in [1, 1024]")
	l.Require(n.Nodes >= 1 && n.Nodes <= 1<<10, "Nodes", n.Nodes, "", "in [1, 1024]")
	l.Require(n.Racks*n.Nodes >= 2, "Racks*Nodes", n.Racks*n.Nodes, "", ">= 2: a fetch needs another node")
	l.Require(j.Maps >= 1 && j.Maps <= 1<<10, "Maps", j.Maps, "", "in [1, 1024]")
	l.Require(j.Slots >= 1, "Slots", j.Slots, "", ">= 1")
	l.Require(j.MapTime >= 0 && j.MapTime <= time.Hour, "MapTime", j.MapTime, "", "in [0, 1h]")
	l.Require(j.MapSpread >= 0 && j.MapSpread <= 1, "MapSpread", j.MapSpread, "", "in [0, 1]")
	l.Require(j.Spread >= 0 && j.Spread < 1, "Spread", j.Spread, "", "in [0, 1)")
	l.Require(j.Reducers >= 1 && j.Reducers <= 1<<10, "Reducers", j.Reducers, "", "in [1, 1024]")
	parts := int64(max(1, n.Racks*n.Nodes*j.Reducers))
	l.Require(j.Output >= 2*parts && j.Output <= 1<<40, "Output", j.Output, "bytes", "in [2 for each of %d reducers, 2^40]", parts)
	l.Require(j.Parallel >= 1, "Parallel", j.Parallel, "", ">= 1")
	l.Require(j.MaxOutputs >= 1, "MaxOutputs", j.MaxOutputs, "", ">= 1")
	l.Require(j.SlowStart >= 0 && j.SlowStart <= 1, "SlowStart", j.SlowStart, "", "in [0, 1]")
	l.Require(j.Request >= 1, "Request", j.Request, "bytes", ">= 1")
	for _, r := range []Requests{c.Service, c.Plain} {
		l.Require(r.Rate >= 0 && r.Rate <= 1e6, "Rate", r.Rate, "1/s", "in [0, 1e6]")
		l.Require(r.Rate == 0 || r.Request >= 1 && r.Response >= 1, "Request, Response", r.Request, "bytes", ">= 1 where there is a rate")
	}
	l.Require(c.Probes.Rate >= 0 && c.Probes.Rate <= 1e6, "Probes.Rate", c.Probes.Rate, "1/s", "in [0, 1e6]")
	l.Require(c.Limit > 0, "Limit", c.Limit, "", "> 0")
	l.Require(c.MakeAQM != nil, "MakeAQM", nil, "", "a function")
	return l.Err()
}
