package hadoop

import (
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/internal/shuffle"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// The cluster, but for the buffers.
var cluster = shuffle.Network{
	Racks: 2, Nodes: 8, Spines: 1,
	EdgeRate: 1e9, CoreRate: 10e9,
	EdgeDelay: 20 * time.Microsecond, CoreDelay: 10 * time.Microsecond,
}

// The job of the full profile.
var terasort = shuffle.Job{
	Maps: 4, Slots: 2, MapTime: 200 * time.Millisecond, MapSpread: .5,
	Output: 32 << 20, Spread: .2,
	Reducers: 2, Parallel: 5, MaxOutputs: 20, SlowStart: .05, Request: 300,
}

// The quick profile's job is a quarter of it, in bytes and time.
const quickPart = 4

// The service, and what is not ECN-capable in the mixed points.
var (
	service = shuffle.Requests{Rate: 500, Request: 200, Response: 2000}
	plain   = shuffle.Requests{Rate: 100, Request: 200, Response: 20000}
	probes  = shuffle.Probes{Rate: 1000, Size: 200}
)

// Buffers, in packets.
const (
	shallow = 100
	between = 200
	deep    = 1000
)

// What the variants change.
const (
	windowTimes = 4
	longTimes   = 4
)

// TCP.
const (
	window     = 256 << 10 // bytes
	delayedACK = 40 * time.Millisecond
	longRTO    = 200 * time.Millisecond
	shortRTO   = 10 * time.Millisecond
)

// senders returns the hosts' TCP.
func senders(kind string, rto time.Duration) tcp.Config {
	c := tcp.DefaultConfig()
	c.SmallQueues, c.ReceiveWindow, c.DelayedACKTime, c.MinRTO = true, window, delayedACK, rto
	if kind == "dctcp" {
		c.Variant = tcp.DCTCP
	}
	return c
}

// How a target delay becomes an algorithm's parameters.
const (
	meanPacket    = 1500
	redMaxP       = .1
	redWeight     = .002
	codelInterval = 20 // targets
	piSpare       = 200 * time.Microsecond
	piFlows       = 10 // at 1 Gb/s
	piInterval    = 100 * time.Microsecond
)

// The sweep.
var (
	deepTargets    = []time.Duration{50 * us, 100 * us, 200 * us, 500 * us, 1000 * us, 3000 * us}
	shallowTargets = []time.Duration{50 * us, 100 * us, 200 * us, 500 * us, 1000 * us}
	someTargets    = []time.Duration{50 * us, 200 * us, 1000 * us}
	quickTargets   = []time.Duration{50 * us, 500 * us}
)

const us = time.Microsecond

// The claims' margins.
const (
	aggressive = 50 * us // H1, H2: the target at which the default mode is looked at
	farAbove   = 10.     // H1: the control packets' early drops against the data packets' loss, both in per cent of arrivals
	noticed    = 1.      // H1: more timeouts of handshakes per 1000 connections, and stalls per 1000 fetches, that count as a cost
	vanished   = 1.      // H1: timeouts of handshakes per 1000 connections that count as none
	full       = .99     // H3 [claim]
	less       = .15     // H3: the share of the latency that is left [claim: 85 % less]
	reaches    = .98     // H4 [claim]
	noiseThr   = 1.02    // H5: more throughput than the noise
	noiseLat   = .95     // H5: less latency than the noise
	repaired   = 1.05    // H6: against drop-tail
	repairedPC = .1      // H6: per cent of the probes
)

// The floods.
const (
	floodRate   = 1e9 // of each of two attackers
	smallFlood  = 64  // bytes
	largeFlood  = 1500
	budgetRate  = 20e6
	budgetBurst = 15000
	markLimit   = .5
	floodTarget = 200 * us
	floodWarm   = .2 // seconds
	floodLong   = 1.2
	floodQuick  = .6
)

// Parameter is a line of the table of what the study rests on.
type Parameter struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Parameters returns what the study rests on, and where each value comes from.
func Parameters() []Parameter {
	f := fmt.Sprint
	const mapred = "Hadoop's mapred-default.xml: "
	return []Parameter{
		{"racks, nodes in each", f(cluster.Racks, ", ", cluster.Nodes), "assumed"},
		{"rate of the nodes' links", "1 Gb/s", "the authors' earlier papers: 1 GbE at the edge"},
		{"rate between the racks", "10 Gb/s, one spine", "the same: 10 GbE above; the number of spines is assumed"},
		{"one-way delay of a node's link, of a link of the core", f(cluster.EdgeDelay, ", ", cluster.CoreDelay), "assumed; with host and switch; round trips of 0.1 to 0.15 ms"},
		{"buffers", "100 (shallow), 1000 (deep), 200, 500, 2000, 4000 packets", "assumed; 100 is the static setting of the DCTCP paper's incast test"},
		{"maps at a time on a node", f(terasort.Slots), mapred + "mapreduce.tasktracker.map.tasks.maximum"},
		{"maps per node", f(terasort.Maps, ", two waves"), "assumed"},
		{"time of a map", f(terasort.MapTime, " +- ", 100*terasort.MapSpread, " %"), "assumed: so short that the network is the bottleneck"},
		{"output of a map", "32 MiB", "assumed; a Terasort map leaves what it reads, a block of 64 MB and more; half of it keeps a run short"},
		{"size of a reducer's part", "a map's output / reducers +- 20 %, uniform", "assumed; Terasort samples the keys so that parts are alike"},
		{"reducers per node", f(terasort.Reducers), mapred + "mapreduce.tasktracker.reduce.tasks.maximum"},
		{"parallel fetches of a reducer", f(terasort.Parallel), mapred + "mapreduce.reduce.shuffle.parallelcopies"},
		{"map outputs in a fetch, at most", f(terasort.MaxOutputs), "Hadoop's ShuffleSchedulerImpl: MAX_MAPS_AT_ONCE"},
		{"a connection for each fetch", "yes", mapred + "mapreduce.shuffle.connection-keep-alive.enable = false"},
		{"reducers begin when so many maps are over", "5 %", mapred + "mapreduce.job.reduce.slowstart.completedmaps"},
		{"request of a fetch", "300 bytes", "assumed"},
		{"service", "500 requests per second and node, Poisson, 200 bytes, answers of 2000, a connection each", "assumed"},
		{"mixed points: plain TCP", "100 requests per second and node, 200 bytes, answers of 20000, without ECN", "assumed"},
		{"mixed points: datagrams", "1000 per second and node, 200 bytes, NotECT", "assumed"},
		{"TCP", "MSS 1460, SACK, limited transmit, byte counting", "RFC 5681, 6675, 3042, 3465"},
		{"initial window", "10 segments", "RFC 6928"},
		{"initial RTO", "1 s", "RFC 6298"},
		{"minimum RTO", "200 ms, 10 ms", "Linux's TCP_RTO_MIN; 10 ms is the DCTCP paper's"},
		{"delayed ACK", "2 segments, 40 ms", "RFC 5681; Linux's TCP_DELACK_MIN"},
		{"receive window", "256 KiB", "assumed; ten of them fill any buffer up to 1700 packets"},
		{"queue of a host", "two segments of each connection, lossless", "Linux's TCP small queues"},
		{"DCTCP", "g = 1/16", "RFC 8257"},
		{"RED from a target delay", "min_th = target*C/2, max_th = 3 min_th, max_p 0.1, gentle, wait", "Adaptive RED paper 4.3, without its least min_th of 5 packets and without the adaptation"},
		{"RED's weight", "0.002 (red); 1, the instantaneous queue (redi)", "RED paper; DCTCP paper 3.1"},
		{"RED past its upper threshold", "marks ECN-capable packets; guideline: drops them", "assumed: as Linux's tc-red without harddrop; RFC 3168 section 7 in the schemes named guideline"},
		{"CoDel from a target delay", "interval = 20 targets, MTU 1500", "the ratio of RFC 8289's defaults"},
		{"threshold from a target delay", "k: target*C packets, at enqueue; ks: sojourn, at dequeue", "definition"},
		{"PIE", "pie: RFC 8033's times and gains scaled to the target; pie-dc: its section 8, 15 us; MAX_ECN without effect", "RFC 8033 4.2, 8; marks as RED's are assumed"},
		{"PI", "Design for 10 flows at 1 Gb/s, a round trip of 2 targets + 0.2 ms, updates each 0.1 ms", "assumed"},
		{"H1, H2: aggressive target", f(aggressive), "assumed: the least of the sweep"},
		{"H1: far above", f(farAbove, " times"), "assumed"},
		{"H1: a cost", f("more than ", noticed, " handshake timeout per 1000 connections and stall per 1000 fetches above the protected mode"), "assumed"},
		{"H1: vanishes", f("fewer than ", vanished, " handshake timeout per 1000 connections"), "assumed"},
		{"H5: more than the noise", "2 % of throughput and 5 % of latency", "assumed"},
		{"H6: repaired", "mean response within 5 % of drop-tail's, datagram loss within 0.1 points", "assumed"},
		{"variants", f("receive windows times ", windowTimes, "; map output and map time times ", longTimes), "assumed"},
		{"floods", "two attackers at 1 Gb/s each into a port of 1 Gb/s; 64-byte ACKs or SYNs, 1500-byte ECT(0)", "assumed"},
		{"budget", "20 Mb/s, 15000 bytes", "assumed: 2 % of the port's rate; the ACKs of 1 Gb/s of data are 13 Mb/s"},
		{"MarkLimit", f(markLimit), "assumed"},
	}
}
