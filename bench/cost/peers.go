package cost

import (
	"container/list"
	"fmt"
	"io"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip/link/qdisc"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/regime"
)

// Peer is another implementation beside ours, measured in turns with it.
type Peer struct {
	Name  string  `json:"name"`
	Cost  Figure  `json:"cost_ns"`
	Ratio float64 `json:"ratio"` // ours over it
}

// Comparison is a load of ours with its peers.
type Comparison struct {
	What  string `json:"what"`
	Ours  Figure `json:"ours_ns"`
	Peers []Peer `json:"peers"`
}

// Peers is what was compared, and what could not be.
type Peers struct {
	Floor       Figure       `json:"floor_ns"`
	Comparisons []Comparison `json:"comparisons"`
	Missing     []string     `json:"missing"`
}

// pair is a load that ours and the programs in C run alike.
type pair struct {
	what      string
	algorithm string
	regime    string
	ours      func(*instance) (func(), error)
	programs  []program
}

func enqueues(i *instance) (func(), error) { return i.enqueues, nil }
func dequeues(i *instance) (func(), error) { return i.dequeues, nil }
func pairs(i *instance) (func(), error)    { return i.pairs, nil }

var comparisons = []pair{
	{"RED, walk", "red", "walk", enqueues, []program{dpdk, laws}},
	{"RED, below", "red", "below", enqueues, []program{dpdk, laws}},
	{"RED, between", "red", "between", enqueues, []program{dpdk, laws}},
	{"RED, above", "red", "above", enqueues, []program{dpdk, laws}},
	{"CoDel, mix", "codel", "walk", dequeues, []program{laws}},
	{"CoDel, below", "codel", "below", dequeues, []program{laws}},
	{"CoDel, standing", "codel", "above", dequeues, []program{laws}},
	{"PIE, p = 0", "pie", "p = 0", pairs, []program{dpdk, laws}},
	{"PIE, marking", "pie", "marking", pairs, []program{dpdk, laws}},
}

var queues = []pair{
	{what: "FIFO, no AQM", algorithm: "droptail", regime: "queued", programs: []program{inlined, pointers}},
	{what: "FIFO and RED", algorithm: "red", regime: "walk", programs: []program{inlined, pointers}},
	{what: "FIFO and CoDel, 1 ms", algorithm: "codel", regime: "below", programs: []program{inlined, pointers}},
	{what: "FIFO and CoDel, standing", algorithm: "codel", regime: "above", programs: []program{inlined, pointers}},
}

// RunPeers measures ours and what peers there are, in rounds samples each. progress,
// if not nil, is told of each step.
func RunPeers(rounds int, progress func(done, of int, what string)) (Peers, error) {
	if progress == nil {
		progress = func(int, int, string) {}
	}
	of := len(comparisons) + len(queues) + 1
	progress(0, of, "building what is in C")
	c, err := build()
	if err != nil {
		return Peers{}, err
	}
	defer c.close()
	r := Peers{Missing: c.missing}
	load := regime.NewLoad(regime.Standing(100), aqm.ECT0)
	r.Floor = sample(rounds, func() { load.Enqueues(new(regime.Noop), 0, packets) })[0]
	for i, p := range comparisons {
		progress(1+i, of, p.what)
		if err := r.compare(c, p, rounds); err != nil {
			return Peers{}, err
		}
	}
	for i, p := range queues {
		progress(1+len(comparisons)+i, of, p.what)
		p.ours = func(a *instance) (func(), error) { return a.roundTrips(level(p)) }
		if err := r.compare(c, p, rounds, goQueues()...); err != nil {
			return Peers{}, err
		}
	}
	return r, nil
}

func find(p pair) regime.Regime {
	for _, g := range regime.For(p.algorithm) {
		if g.Name == p.regime {
			return g
		}
	}
	panic("cost: no regime " + p.regime) // the table above names what there is
}

func level(p pair) int { return find(p).Level }

// turns is how often ours and each peer take turns.
const turns = 5

// compare adds the comparison of p, and of queues in Go besides.
func (r *Peers) compare(c *programs, p pair, rounds int, others ...goQueue) error {
	g := find(p)
	var ns []float64
	theirs := make([][]float64, len(p.programs)+len(others))
	each := max(1, rounds/turns)
	for range turns {
		ours, err := p.ours(newInstance(g)) // anew, as each run of a program is
		if err != nil {
			return err
		}
		ns = append(ns, samples(each, ours)...)
		for i, program := range p.programs {
			if !c.has(program) {
				continue
			}
			n, err := c.run(program, g, p.algorithm+"/"+p.regime, each)
			if err != nil {
				return err
			}
			theirs[i] = append(theirs[i], n...)
		}
		for i, q := range others {
			theirs[len(p.programs)+i] = append(theirs[len(p.programs)+i], samples(each, q.run)...)
		}
	}
	row := Comparison{What: p.what, Ours: figure(ns)}
	for i, n := range theirs {
		if n == nil {
			continue
		}
		name := ""
		if i < len(p.programs) {
			name = p.programs[i].name
		} else {
			name = others[i-len(p.programs)].name
		}
		f := figure(n)
		row.Peers = append(row.Peers, Peer{Name: name, Cost: f, Ratio: row.Ours.Median / f.Median})
	}
	r.Comparisons = append(r.Comparisons, row)
	return nil
}

// goQueue is what a Go program would queue with otherwise.
type goQueue struct {
	name string
	run  func()
}

// goQueues returns queues that hold 100 items, and pass packets of them.
func goQueues() []goQueue {
	const standing = 100
	item := new(regime.Item)

	var mu sync.Mutex
	l := list.New()
	for range standing {
		l.PushBack(item)
	}
	listed := func() {
		for range packets {
			mu.Lock()
			l.PushBack(item)
			mu.Unlock()
			mu.Lock()
			l.Remove(l.Front())
			mu.Unlock()
		}
	}

	var ring qdisc.PacketBufferCircularList
	ring.Init(1000)
	packet := stack.NewPacketBuffer(stack.PacketBufferOptions{})
	for range standing {
		ring.PushBack(packet.IncRef())
	}
	gvisor := func() {
		for range packets {
			mu.Lock()
			if ring.HasSpace() {
				ring.PushBack(packet.IncRef())
			}
			mu.Unlock()
			mu.Lock()
			ring.RemoveFront().DecRef()
			mu.Unlock()
		}
	}
	return []goQueue{
		{"buffered channel", channel(item)},
		{"container/list, mutex", listed},
		{"gVisor's FIFO, mutex", gvisor},
	}
}

// WriteTable writes the comparison for people.
func (r Peers) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "Beside peers: ns per packet, medians of samples taken in turns; floor %.2f ns\n\n", r.Floor.Median)
	t := newTable(w)
	fmt.Fprintln(t, "what\tours\tspread\tpeer\tcost\tspread\tours/peer\t")
	for _, c := range r.Comparisons {
		what := c.What
		for _, p := range c.Peers {
			fmt.Fprintf(t, "%s\t%.2f\t%s\t%s\t%.2f\t%s\t%.2f\t\n", what, c.Ours.Median, c.Ours.spread(), p.Name, p.Cost.Median, p.Cost.spread(), p.Ratio)
		}
		if len(c.Peers) == 0 {
			fmt.Fprintf(t, "%s\t%.2f\t%s\tnone\t\t\t\t\n", what, c.Ours.Median, c.Ours.spread())
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, m := range r.Missing {
		fmt.Fprintf(w, "\nmissing: %s", m)
	}
	_, err := fmt.Fprintln(w)
	return err
}
