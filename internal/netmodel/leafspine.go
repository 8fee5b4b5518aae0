package netmodel

import (
	"errors"
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// LeafSpineConfig is racks of hosts that a core joins: every rack's switch, the leaf,
// has a link to every spine.
type LeafSpineConfig struct {
	Racks, Hosts, Spines int // > 0; racks, hosts in a rack, spines

	// Host is a leaf's port to a host, and Core the ports between leaves and spines,
	// both ways. Their Name and AQM are not used: MakeAQM makes one for each port, by
	// the port's name. Rate and Delay of Host are also those of the hosts' own links.
	Host, Core QueueConfig
	MakeAQM    func(port string) (aqm.AQM, error)
}

// LeafSpine is what Net.LeafSpine has built. Hosts are numbered through, rack by
// rack.
type LeafSpine struct {
	Up   []*Link   // of host i, a wire: from the host to its leaf
	Down []*Link   // of host i: from the leaf
	Rise [][]*Link // of leaf i and spine j: from the leaf to the spine
	Fall [][]*Link // of leaf i and spine j: from the spine to the leaf

	net   *Net
	hosts int // in a rack
}

// LeafSpine adds racks and their core to the network. None of the links counts by
// flow until told so.
func (n *Net) LeafSpine(c LeafSpineConfig) (*LeafSpine, error) {
	var errs []error
	for _, x := range []struct {
		name string
		n    int
	}{{"Racks", c.Racks}, {"Hosts", c.Hosts}, {"Spines", c.Spines}} {
		if x.n < 1 || x.n > 1<<12 {
			errs = append(errs, fmt.Errorf("netmodel: %s = %d, must be in [1, %d]: %w", x.name, x.n, 1<<12, aqm.ErrConfig))
		}
	}
	if c.MakeAQM == nil {
		errs = append(errs, fmt.Errorf("netmodel: MakeAQM = nil, must make an algorithm: %w", aqm.ErrConfig))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	port := func(q QueueConfig, format string, args ...any) *Link {
		if len(errs) != 0 {
			return nil
		}
		var err error
		q.Name = fmt.Sprintf(format, args...)
		if q.AQM, err = c.MakeAQM(q.Name); err != nil {
			errs = append(errs, err)
			return nil
		}
		l, err := n.Queue(q)
		if err != nil {
			errs = append(errs, err)
		}
		return l
	}
	s := &LeafSpine{net: n, hosts: c.Hosts}
	for r := range c.Racks {
		for h := range c.Hosts {
			i := r*c.Hosts + h
			up, err := n.Wire(fmt.Sprintf("host %d up", i), c.Host.Rate, c.Host.Delay, nil)
			if err != nil {
				return nil, err
			}
			s.Up, s.Down = append(s.Up, up), append(s.Down, port(c.Host, "host %d down", i))
		}
		var rise, fall []*Link
		for j := range c.Spines {
			rise = append(rise, port(c.Core, "leaf %d to spine %d", r, j))
			fall = append(fall, port(c.Core, "spine %d to leaf %d", j, r))
		}
		s.Rise, s.Fall = append(s.Rise, rise), append(s.Fall, fall)
	}
	return s, errors.Join(errs...)
}

// Hosts returns the number of hosts.
func (s *LeafSpine) Hosts() int { return len(s.Up) }

// Route returns the way from a host to another and back, over a spine if they are in
// different racks; the spine is taken modulo their number, such as a flow's hash. To
// have connections share it is cheaper than to ask again.
func (s *LeafSpine) Route(from, to, spine int) (Route, error) {
	if min(from, to) < 0 || max(from, to) >= len(s.Up) || from == to || spine < 0 {
		return Route{}, fmt.Errorf("netmodel: no route from host %d to host %d of %d over spine %d: %w", from, to, len(s.Up), spine, aqm.ErrConfig)
	}
	there, err1 := s.path(from, to, spine)
	back, err2 := s.path(to, from, spine)
	return Route{there, back}, errors.Join(err1, err2)
}

func (s *LeafSpine) path(from, to, spine int) (*Path, error) {
	a, b := from/s.hosts, to/s.hosts
	if a == b {
		return s.net.Path(s.Up[from], s.Down[to])
	}
	j := spine % len(s.Rise[a])
	return s.net.Path(s.Up[from], s.Rise[a][j], s.Fall[b][j], s.Down[to])
}

// RTT returns the round-trip time of a full segment and its ACK over an idle route.
func (r Route) RTT(segment, ack uint32) time.Duration {
	return r.Forward.Delay(segment) + r.Reverse.Delay(ack)
}
