package shuffle

import (
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// The flows by which ports count.
const (
	FlowJob = iota
	FlowService
	FlowPlain
	FlowProbes

	NumFlows = iota
)

// Result is a run.
type Result struct {
	RunTime    time.Duration // from the begin of the first map to the end of the last fetch
	Throughput float64       // bit/s; mean over the nodes: what a node fetched, in the time from its first fetch to its last
	Bytes      int64         // fetched over the network
	Fetches    int
	TCP        TCP // of the fetches

	Service, Plain Responses

	Latency *netmodel.Latency                    // end to end, from the sender's host to the receiver
	Kinds   [netmodel.NumKinds]netmodel.Counters // over all ports
	Flows   [NumFlows]netmodel.Counters          // over all ports
	Queue   netmodel.Histogram                   // times in the ports' queues
	Probes  uint64                               // sent

	Events  uint64
	Packets uint64 // transmissions of ports
}

// TCP is what connections have met.
type TCP struct {
	Connections uint64
	Handshakes  uint64 // timeouts of SYNs and SYN-ACKs
	Stalls      uint64 // timeouts later on
	Segments    uint64
	Retransmits uint64
	Reductions  uint64 // by ECN
	GivenUp     uint64 // handshakes
}

// count adds a connection that has done its work.
func (t *TCP) count(c *tcp.Conn) {
	t.Connections++
	for _, e := range []*tcp.End{&c.Client, &c.Server} {
		s := &e.Stats
		hands := s.SYNs - min(s.SYNs, 1)
		t.Handshakes += hands
		t.Stalls += s.Timeouts - min(s.Timeouts, hands)
		t.Segments += s.Segments
		t.Retransmits += s.Retransmits
		t.Reductions += s.ECNReductions
	}
}

// Responses are a service's response times, from the SYN to the last byte.
type Responses struct {
	Time netmodel.Histogram
	TCP  TCP
}

// collect adds up what the ports have counted.
func (r *Result) collect(ports []*netmodel.Link) {
	add := func(a *netmodel.Counters, b netmodel.Counters) {
		a.Arrived += b.Arrived
		a.Marked += b.Marked
		a.Early += b.Early
		a.Forced += b.Forced
		a.Overflow += b.Overflow
	}
	for _, l := range ports {
		s := l.Stats()
		r.Packets += s.SentPackets
		for k := range s.Kinds {
			add(&r.Kinds[k], s.Kinds[k])
		}
		for f := range r.Flows {
			add(&r.Flows[f], l.Flow(f))
		}
		r.Queue.Merge(l.Sojourns())
	}
}

// throughput is the nodes' mean.
func (j *job) throughput() float64 {
	sum := 0.
	per := j.c.Job.Reducers
	for n := range j.nodes {
		bytes, first, last := int64(0), aqm.Time(0), aqm.Time(0)
		for _, r := range j.reducers[n*per : (n+1)*per] {
			bytes += r.bytes
			if first == 0 || r.first < first {
				first = r.first
			}
			last = max(last, r.last)
		}
		if last > first {
			sum += float64(bytes) * 8 / last.Sub(first).Seconds()
		}
	}
	return sum / float64(j.nodes)
}
