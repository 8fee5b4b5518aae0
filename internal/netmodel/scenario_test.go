package netmodel_test

import (
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// forever is an application that never stops sending.
type forever struct{ tcp.NoApp }

func (forever) Connected(now aqm.Time, e *tcp.End) { e.WriteForever(now) }

// scenario is a dumbbell with long-lived flows.
type scenario struct {
	net   *netmodel.Net
	d     *netmodel.Dumbbell
	pool  *tcp.Pool
	conns []*tcp.Conn
}

// dumbbell builds n long-lived flows with an RTT of 40 to 100 ms through one link of
// mbps Mb/s and a buffer of limit packets; flow i starts at i/n seconds.
func dumbbell(mbps uint64, n, limit int, a aqm.AQM, c tcp.Config) (*scenario, error) {
	s := &scenario{net: netmodel.New()}
	var err error
	s.d, err = s.net.Dumbbell(netmodel.DumbbellConfig{
		Bottleneck: netmodel.QueueConfig{Rate: mbps * 1_000_000, Delay: 10 * time.Millisecond, Limit: limit, AQM: a},
		Access:     10 * mbps * 1_000_000,
		Left:       netmodel.Spread(n, 5*time.Millisecond, 35*time.Millisecond),
		Right:      []time.Duration{5 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	if s.pool, err = tcp.NewPool(s.net, c); err != nil {
		return nil, err
	}
	for i, r := range s.d.Routes {
		s.net.Sim().At(aqm.Time(i)*1e9/aqm.Time(n), func(now aqm.Time) {
			s.conns = append(s.conns, s.pool.Dial(now, r, i, forever{}, nil))
		})
	}
	return s, nil
}
