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
	// Signals is the share of its packets that were marked or dropped; absent where
	// there is nothing that signals.
	Signals *float64 `json:"signals,omitempty"`
}

// Comparison is a load of ours with its peers.
type Comparison struct {
	What    string  `json:"what"`
	Ours    Figure  `json:"ours_ns"`
	Signals float64 `json:"signals"` // share of our packets that were marked or dropped
	Peers   []Peer  `json:"peers"`
}

// Peers is what was compared, and what could not be.
type Peers struct {
	Samples     int          `json:"samples"` // of each figure but the floor
	Packets     int          `json:"packets_per_sample"`
	Floor       Figure       `json:"floor_ns"`
	Comparisons []Comparison `json:"comparisons"`
	Missing     []string     `json:"missing"`
}

// pair is a load that ours and the programs in C run alike.
type pair struct {
	what      string
	algorithm string
	regime    string
	ours      func(regime.Regime) *run
	programs  []program
}

func enqueues(g regime.Regime) *run {
	return decisions(g.Load, g.Instance, (*regime.Load).Enqueues)
}

func dequeues(g regime.Regime) *run {
	return decisions(g.Load, g.Instance, (*regime.Load).Dequeues)
}
func pairs(g regime.Regime) *run { return decisions(g.Load, g.Instance, (*regime.Load).Pairs) }

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
	{"FIFO, no AQM", "droptail", "queued", roundTrips, []program{inlined, pointers}},
	{"FIFO and RED", "red", "walk", roundTrips, []program{inlined, pointers}},
	{"FIFO and CoDel, below", "codel", "below", roundTrips, []program{inlined, pointers}},
	{"FIFO and CoDel, standing", "codel", "above", roundTrips, []program{inlined, pointers}},
}

// RunPeers measures ours and what peers there are, in rounds samples each. progress,
// if not nil, is told of each step.
func RunPeers(rounds int, progress func(done, of int, what string)) (Peers, error) {
	steps := newSteps(1+len(comparisons)+len(queues), progress)
	steps.next("building what is in C")
	c, err := build()
	if err != nil {
		return Peers{}, err
	}
	defer c.close()
	r := Peers{Samples: turns * eachTurn(rounds), Packets: packets, Missing: c.missing}
	load := regime.NewLoad(regime.Standing(100), aqm.ECT0)
	noop := func() (aqm.AQM, aqm.Time) { return new(regime.Noop), 0 }
	r.Floor = figure(sample(rounds, decisions(load, noop, (*regime.Load).Enqueues))[0])
	for _, p := range comparisons {
		steps.next(p.what)
		if err := r.compare(c, p, rounds); err != nil {
			return Peers{}, err
		}
	}
	for _, p := range queues {
		steps.next(p.what)
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

// turns is how often ours and each peer take turns.
const turns = 5

// eachTurn returns the samples of a turn, where rounds are asked for altogether.
func eachTurn(rounds int) int { return max(1, rounds/turns) }

// compare adds the comparison of p, and of queues in Go besides.
func (r *Peers) compare(c *programs, p pair, rounds int, others ...goQueue) error {
	g, each := find(p), eachTurn(rounds)
	ours := p.ours(g)
	var ns []float64
	theirs, signals := make([][]float64, len(p.programs)), make([][]float64, len(p.programs))
	queued := make([][]float64, len(others))
	for range turns {
		ns = append(ns, sample(each, ours)[0]...)
		for i, program := range p.programs {
			if !c.has(program) {
				continue
			}
			n, s, err := c.run(program, g, p.algorithm+"/"+p.regime, each)
			if err != nil {
				return err
			}
			theirs[i], signals[i] = append(theirs[i], n...), append(signals[i], s...)
		}
		for i, q := range others {
			queued[i] = append(queued[i], samples(each, q.run)...)
		}
	}
	row := Comparison{What: p.what, Ours: figure(ns), Signals: ours.meanSignals(), Peers: []Peer{}}
	add := func(name string, ns []float64, signals *float64) {
		f := figure(ns)
		row.Peers = append(row.Peers, Peer{Name: name, Cost: f, Ratio: row.Ours.Median / f.Median, Signals: signals})
	}
	for i, program := range p.programs {
		if theirs[i] != nil {
			share := mean(signals[i])
			add(program.name, theirs[i], &share)
		}
	}
	for i, q := range others {
		add(q.name, queued[i], nil)
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

func mean(all []float64) float64 {
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return sum / float64(len(all))
}

// WriteTable writes the comparison for people.
func (r Peers) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "Beside peers: ns per packet, medians of %d samples of %d packets, taken in turns; floor %.2f ns\n\n", r.Samples, r.Packets, r.Floor.Median)
	t := newTable(w)
	fmt.Fprintln(t, "what\tours\tspread\tsignals\tpeer\tcost\tspread\tsignals\tours/peer\t")
	for _, c := range r.Comparisons {
		fmt.Fprintf(t, "%s\t%.2f\t%s\t%.2f %%\t", c.What, c.Ours.Median, c.Ours.spread(), 100*c.Signals)
		for i, p := range c.Peers {
			if i > 0 {
				fmt.Fprint(t, "\t\t\t\t")
			}
			signals := ""
			if p.Signals != nil {
				signals = fmt.Sprintf("%.2f %%", 100**p.Signals)
			}
			fmt.Fprintf(t, "%s\t%.2f\t%s\t%s\t%.2f\t\n", p.Name, p.Cost.Median, p.Cost.spread(), signals, p.Ratio)
		}
		if len(c.Peers) == 0 {
			fmt.Fprint(t, "none\t\t\t\t\t\n")
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
