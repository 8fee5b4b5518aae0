package netmodel

import (
	"errors"
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// ParkingLotConfig is a chain of bottlenecks. Long flows cross all of them, and the
// cross flows of a bottleneck that one alone.
type ParkingLotConfig struct {
	Bottlenecks []QueueConfig // at least one; each with an AQM of its own
	Access      uint64        // bit/s; > 0; rate of the hosts' links

	Long  []time.Duration   // one-way delay of either access link, for each long flow
	Cross [][]time.Duration // the same for the cross flows of bottleneck i; at most one list each
}

// ParkingLot is what Net.ParkingLot has built. The way back is a drop-tail queue of
// 100000 packets beside each bottleneck, of its rate and delay. Flows are numbered
// for the counters: the long ones first, then the cross flows in order.
type ParkingLot struct {
	Bottlenecks, Back []*Link
	Long              []Route
	Cross             [][]Route
}

// ParkingLot adds a parking lot to the network.
func (n *Net) ParkingLot(c ParkingLotConfig) (*ParkingLot, error) {
	var errs []error
	flows := len(c.Long)
	for _, x := range c.Cross {
		flows += len(x)
	}
	if len(c.Bottlenecks) == 0 || len(c.Bottlenecks) > MaxHops-2 {
		errs = append(errs, fmt.Errorf("netmodel: %d bottlenecks, must be in [1, %d]: %w", len(c.Bottlenecks), MaxHops-2, aqm.ErrConfig))
	}
	if flows == 0 {
		errs = append(errs, fmt.Errorf("netmodel: Long and Cross have no flows, must have at least 1: %w", aqm.ErrConfig))
	}
	if len(c.Cross) > len(c.Bottlenecks) {
		errs = append(errs, fmt.Errorf("netmodel: Cross has %d lists, must have at most %d, the number of bottlenecks: %w", len(c.Cross), len(c.Bottlenecks), aqm.ErrConfig))
	}
	errs = append(errs, checkLink("access", c.Access, 0))
	p := &ParkingLot{}
	for i, q := range c.Bottlenecks {
		q.Name = name(q.Name, fmt.Sprintf("bottleneck %d", i))
		there, err1 := n.Queue(q)
		back, err2 := n.Queue(QueueConfig{Name: q.Name + " back", Rate: q.Rate, Delay: q.Delay, Limit: 100_000, AQM: aqm.TailDrop{}})
		errs = append(errs, err1, err2)
		p.Bottlenecks, p.Back = append(p.Bottlenecks, there), append([]*Link{back}, p.Back...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range p.Bottlenecks {
		p.Bottlenecks[i].CountFlows(flows)
		p.Back[i].CountFlows(flows)
	}
	for _, d := range c.Long {
		r, err := n.between(c.Access, d, d, p.Bottlenecks, p.Back)
		if err != nil {
			return nil, err
		}
		p.Long = append(p.Long, r)
	}
	for i, delays := range c.Cross {
		var routes []Route
		k := len(p.Back) - 1 - i
		for _, d := range delays {
			r, err := n.between(c.Access, d, d, p.Bottlenecks[i:i+1], p.Back[k:k+1])
			if err != nil {
				return nil, err
			}
			routes = append(routes, r)
		}
		p.Cross = append(p.Cross, routes)
	}
	return p, nil
}
