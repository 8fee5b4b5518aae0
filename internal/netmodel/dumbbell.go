package netmodel

import (
	"errors"
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// DumbbellConfig is two groups of hosts on either side of one link, the bottleneck.
// Flow i has a host of its own on either side.
type DumbbellConfig struct {
	Bottleneck QueueConfig

	// Back is the way back. The zero value stands for the bottleneck's rate and
	// delay and a drop-tail queue of 100000 packets.
	Back QueueConfig

	Access uint64 // bit/s; > 0; rate of the hosts' links

	Left  []time.Duration // one-way delay of each flow's link on the left; at least one
	Right []time.Duration // on the right; one for each flow, or a single one for all
}

// Dumbbell is what Net.Dumbbell has built.
type Dumbbell struct {
	Bottleneck, Back *Link
	Routes           []Route // of flow i, from left to right and back
}

// Dumbbell adds a dumbbell to the network. The bottleneck's and the way back's
// counters go by flow. The hosts' links lose nothing.
func (n *Net) Dumbbell(c DumbbellConfig) (*Dumbbell, error) {
	var errs []error
	if len(c.Left) == 0 {
		errs = append(errs, fmt.Errorf("netmodel: Left has no flows, must have at least 1: %w", aqm.ErrConfig))
	}
	if len(c.Right) != 1 && len(c.Right) != len(c.Left) {
		errs = append(errs, fmt.Errorf("netmodel: Right has %d delays, must have 1 or %d: %w", len(c.Right), len(c.Left), aqm.ErrConfig))
	}
	if c.Back == (QueueConfig{}) {
		c.Back = QueueConfig{Rate: c.Bottleneck.Rate, Delay: c.Bottleneck.Delay, Limit: 100_000, AQM: aqm.TailDrop{}}
	}
	c.Bottleneck.Name, c.Back.Name = name(c.Bottleneck.Name, "bottleneck"), name(c.Back.Name, "back")
	errs = append(errs, checkLink("access", c.Access, 0))
	for i, d := range c.Left {
		errs = append(errs, checkLink(fmt.Sprintf("left %d", i), 1, d))
	}
	for i, d := range c.Right {
		errs = append(errs, checkLink(fmt.Sprintf("right %d", i), 1, d))
	}
	forward, err1 := n.Queue(c.Bottleneck)
	back, err2 := n.Queue(c.Back)
	if err := errors.Join(append(errs, err1, err2)...); err != nil {
		return nil, err
	}
	forward.CountFlows(len(c.Left))
	back.CountFlows(len(c.Left))
	d := &Dumbbell{Bottleneck: forward, Back: back}
	for i, left := range c.Left {
		r, err := n.between(c.Access, left, c.Right[min(i, len(c.Right)-1)], []*Link{forward}, []*Link{back})
		if err != nil {
			return nil, err
		}
		d.Routes = append(d.Routes, r)
	}
	return d, nil
}

func name(given, standard string) string {
	if given == "" {
		return standard
	}
	return given
}

// between adds a host on either side of the links there, with the links back for the
// way back, and returns the route between the two.
func (n *Net) between(access uint64, left, right time.Duration, there, back []*Link) (Route, error) {
	way := func(links []*Link, from, to time.Duration, side, other string) (*Path, error) {
		up, err1 := n.Wire(side+" up", access, from, nil)
		down, err2 := n.Wire(other+" down", access, to, links[len(links)-1])
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return n.Path(append(append([]*Link{up}, links...), down)...)
	}
	forward, err1 := way(there, left, right, "left", "right")
	reverse, err2 := way(back, right, left, "right", "left")
	return Route{forward, reverse}, errors.Join(err1, err2)
}

// Spread returns n durations spread evenly from low to high, both included.
func Spread(n int, low, high time.Duration) []time.Duration {
	d := make([]time.Duration, max(n, 0))
	for i := range d {
		d[i] = low + (high-low)*time.Duration(i)/time.Duration(max(n-1, 1))
	}
	return d
}
