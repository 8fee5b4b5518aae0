package shuffle

import (
	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/sim"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// service has nodes ask each other, until it is stopped.
type service struct {
	of      Requests
	flow    int
	sim     *sim.Sim
	pool    *tcp.Pool
	route   func(from, to int) netmodel.Route
	stopped bool
	open    int // requests without an answer
	dialled func(flow, from, to int, at aqm.Time)
	r       *Responses
}

// start has a node's requests come.
func (s *service) start(a *arrivals) {
	at, to := a.next()
	s.sim.At(at, func(now aqm.Time) {
		if s.stopped {
			return
		}
		s.open++
		if s.dialled != nil {
			s.dialled(s.flow, a.node, to, now)
		}
		r := &request{s: s, from: a.node, to: to, began: now}
		r.dial(now)
		s.start(a)
	})
}

// request is the client's application.
type request struct {
	tcp.NoApp
	s        *service
	from, to int
	began    aqm.Time
	read     int64
	server   answer
}

func (r *request) dial(now aqm.Time) {
	r.read = 0
	r.server = answer{want: r.s.of.Request, size: r.s.of.Response}
	r.s.pool.Dial(now, r.s.route(r.from, r.to), r.s.flow, r, &r.server)
}

// Connected implements tcp.App.
func (r *request) Connected(now aqm.Time, e *tcp.End) { e.Write(now, r.s.of.Request) }

// Read implements tcp.App.
func (r *request) Read(now aqm.Time, e *tcp.End, n int64) {
	if r.read += n; r.read < r.s.of.Response {
		return
	}
	r.s.open--
	r.s.r.TCP.count(e.Conn())
	r.s.r.Time.Add(now.Sub(r.began))
}

// Closed implements tcp.App. A handshake that was given up is begun anew.
func (r *request) Closed(now aqm.Time, e *tcp.End, err error) {
	if err != nil {
		r.s.r.TCP.GivenUp++
		r.dial(now)
		return
	}
	e.Close(now)
}
