package netmodel

import (
	"errors"
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// Net is a network: links, the paths over them, and the clock they share. It is for
// one goroutine at a time.
type Net struct {
	sim   *sim.Sim
	pool  []*Packet
	sacks []*SACK
	block []Packet
	links []*Link

	latency *Latency // nil: not measured
}

// Latency is how long the packets of each kind took from [Flow.Send] to the end of
// their path.
type Latency [NumKinds]Histogram

// New returns an empty network with a clock of its own.
func New() *Net { return &Net{sim: sim.New()} }

// Sim returns the clock.
func (n *Net) Sim() *sim.Sim { return n.sim }

// Now returns the time.
func (n *Net) Now() aqm.Time { return n.sim.Now() }

// Run lets the network run up to a time. Calls may follow each other.
func (n *Net) Run(until aqm.Time) { n.sim.Run(until) }

// MeasureLatency starts to measure the packets that arrive from now on, anew if that
// was done before. What it returns goes on being filled.
func (n *Net) MeasureLatency() *Latency {
	n.latency = &Latency{}
	return n.latency
}

// Links returns all links, in the order in which they were made.
func (n *Net) Links() []*Link { return n.links }

// Packet returns a packet whose fields the caller sets; those of the last use may
// still be there, but for SACK, which is nil.
func (n *Net) Packet() *Packet {
	if k := len(n.pool) - 1; k >= 0 {
		p := n.pool[k]
		n.pool = n.pool[:k]
		return p
	}
	return n.more()
}

//go:noinline
func (n *Net) more() *Packet {
	if len(n.block) == 0 {
		n.block = make([]Packet, 64)
	}
	p := &n.block[0]
	n.block = n.block[1:]
	return p
}

// Free takes a packet back, and its SACK option.
func (n *Net) Free(p *Packet) {
	if p.SACK != nil {
		n.sacks = append(n.sacks, p.SACK)
		p.SACK = nil
	}
	n.pool = append(n.pool, p)
}

// SACK returns an empty option, to be put into a packet.
func (n *Net) SACK() *SACK {
	if k := len(n.sacks) - 1; k >= 0 {
		s := n.sacks[k]
		n.sacks = n.sacks[:k]
		s.N = 0
		return s
	}
	return &SACK{}
}

// QueueConfig is a link with a queue.
type QueueConfig struct {
	Name  string
	Rate  uint64        // bit/s; > 0
	Delay time.Duration // of propagation; >= 0

	Limit      int   // packets; > 0; what the queue holds
	LimitBytes int64 // bytes; 0 = no limit in bytes
	AQM        aqm.AQM
}

// Ends of what links accept, so that times cannot overflow.
const (
	maxRate  = 1e13 // bit/s
	maxDelay = time.Hour
)

func checkLink(name string, rate uint64, delay time.Duration) error {
	var errs []error
	if rate == 0 || rate > maxRate {
		errs = append(errs, fmt.Errorf("netmodel: %s: Rate = %d bit/s, must be in [1, %v]: %w", name, rate, uint64(maxRate), aqm.ErrConfig))
	}
	if delay < 0 || delay > maxDelay {
		errs = append(errs, fmt.Errorf("netmodel: %s: Delay = %v, must be in [0, %v]: %w", name, delay, maxDelay, aqm.ErrConfig))
	}
	return errors.Join(errs...)
}

func (n *Net) add(name string, rate uint64, delay time.Duration) *Link {
	l := &Link{net: n, delay: aqm.Time(delay), armed: sim.Never, name: name}
	l.SetRate(rate)
	l.id = n.sim.Add(l)
	n.links = append(n.links, l)
	return l
}

// Queue adds a link with a queue under an AQM.
func (n *Net) Queue(c QueueConfig) (*Link, error) {
	var fifo *aqm.FIFO[*Packet]
	var l *Link
	fifo, err := aqm.NewFIFO(aqm.FIFOConfig[*Packet]{
		LimitPackets: c.Limit, LimitBytes: c.LimitBytes,
		OnDrop: func(p *Packet, _ aqm.Packet, v aqm.Verdict) { l.dropped(p, v) },
	}, c.AQM)
	if err := errors.Join(checkLink(c.Name, c.Rate, c.Delay), err); err != nil {
		return nil, err
	}
	l = n.add(c.Name, c.Rate, c.Delay)
	l.fifo, l.sojourns, l.aqm = fifo, &Histogram{}, c.AQM
	return l, nil
}

// Wire adds a lossless link. With a feeder, that link alone leads into it, and its
// packets need no event in between.
func (n *Net) Wire(name string, rate uint64, delay time.Duration, feeder *Link) (*Link, error) {
	if err := checkLink(name, rate, delay); err != nil {
		return nil, err
	}
	l := n.add(name, rate, delay)
	l.fedBy = feeder
	return l, nil
}

// Path is a way through the network, from a host to a host.
type Path struct{ links []*Link }

// Flow is where packets go: a path, and who gets them at its end. Who sends keeps
// one by value, and every packet under way refers to it.
type Flow struct {
	links []*Link
	to    Receiver
	id    int
}

// Flow returns a flow over the path. id is the index of the links' counters; outside
// their range it is not counted.
func (t *Path) Flow(to Receiver, id int) Flow { return Flow{t.links, to, id} }

// ID returns the number of the flow.
func (f *Flow) ID() int { return f.id }

// Send puts a packet on its way, now.
func (f *Flow) Send(now aqm.Time, p *Packet) {
	p.flow, p.hop, p.sent = f, 0, now
	f.links[0].send(now, p)
}

// Departure returns when the last packet of the host's own link, which is a wire, has
// left or will have left.
func (f *Flow) Departure() aqm.Time { return f.links[0].free }

// Route has a path in both directions.
type Route struct{ Forward, Reverse *Path }

// MaxHops is the largest number of links of a path.
const MaxHops = 32

// Path returns the path over links, which belong to the network.
func (n *Net) Path(links ...*Link) (*Path, error) {
	if len(links) == 0 || len(links) > MaxHops {
		return nil, fmt.Errorf("netmodel: a path of %d links, must be in [1, %d]: %w", len(links), MaxHops, aqm.ErrConfig)
	}
	for i, l := range links {
		if l == nil || l.net != n {
			return nil, fmt.Errorf("netmodel: link %d of a path is not of this network: %w", i, aqm.ErrConfig)
		}
		if l.fedBy != nil && (i == 0 || links[i-1] != l.fedBy) {
			return nil, fmt.Errorf("netmodel: a path leads into %s, which only %s feeds: %w", l.name, l.fedBy.name, aqm.ErrConfig)
		}
	}
	return &Path{append([]*Link(nil), links...)}, nil
}

// Delay returns the time that size bytes take over an idle path.
func (t *Path) Delay(size uint32) time.Duration {
	d := aqm.Time(0)
	for _, l := range t.links {
		d += l.tx(size) + l.delay
	}
	return time.Duration(d)
}
