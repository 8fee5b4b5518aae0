package web

import (
	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// exchange is a request and its response.
type exchange struct{ request, response int64 }

// owner hears of a visit.
type owner interface {
	// fetched: the response to exchange k has arrived.
	fetched(now aqm.Time, v *visit, k int)
	// gone: the connection could not be opened.
	gone(now aqm.Time, v *visit)
}

// visit is a connection and the exchanges over it, one after the other. The server
// closes it with the last response.
type visit struct {
	run       *run
	owner     owner
	tag       int // the owner's
	exchanges []exchange
	allowed   int // exchanges that may be asked for

	client, server side
	end            *tcp.End // the client's, once connected
	k              int      // exchange that the client is at
	got            int64    // of its response
	asked          int      // exchange that the server is at
	heard          int64    // of its request
	dialled        aqm.Time
	written        aqm.Time
	closed         int // ends whose App was told
	next           *visit
}

// side makes an App of either end.
type side struct {
	tcp.NoApp
	v *visit
}

// dial opens a connection with a round-trip time.
func (r *run) dial(now aqm.Time, o owner, tag int, route netmodel.Route, exchanges []exchange, allowed int) *visit {
	v := r.free
	if v == nil {
		v = &visit{run: r}
		v.client.v, v.server.v = v, v
	} else {
		r.free = v.next
	}
	v.owner, v.tag, v.exchanges, v.allowed = o, tag, exchanges, allowed
	v.end, v.k, v.got, v.asked, v.heard, v.closed, v.next = nil, 0, 0, 0, 0, 0, nil
	v.dialled, v.written = now, now
	r.begun(now, &r.First)
	r.pool.Dial(now, route, 0, &v.client, (*serverSide)(&v.server))
	return v
}

// Connected implements tcp.App, for the client.
func (s *side) Connected(now aqm.Time, e *tcp.End) {
	v := s.v
	v.end = e
	v.written = now
	v.run.begun(now, &v.run.Asked)
	e.Write(now, v.exchanges[0].request)
}

// Read implements tcp.App, for the client.
func (s *side) Read(now aqm.Time, _ *tcp.End, n int64) {
	v := s.v
	if v.got += n; v.got < v.exchanges[v.k].response {
		return
	}
	r := v.run
	if v.k == 0 {
		r.ended(now, &r.First, v.dialled)
		r.ended(now, &r.Asked, v.written)
	} else {
		r.ended(now, &r.Follow, v.written)
	}
	r.completed(now)
	v.got = 0
	v.k++
	k := v.k - 1
	if v.k < v.allowed {
		v.ask(now)
	}
	v.owner.fetched(now, v, k)
}

// more lets the client ask for all exchanges.
func (v *visit) more(now aqm.Time) {
	v.allowed = len(v.exchanges)
	if v.k < v.allowed {
		v.ask(now)
	}
}

// ask writes a request that follows on others.
func (v *visit) ask(now aqm.Time) {
	v.written = now
	v.run.begun(now, &v.run.Follow)
	v.end.Write(now, v.exchanges[v.k].request)
}

// Closed implements tcp.App, for the client.
func (s *side) Closed(now aqm.Time, e *tcp.End, err error) {
	v := s.v
	if err == nil {
		e.Close(now)
	} else {
		v.owner.gone(now, v)
	}
	v.over()
}

// over gives the visit back once nothing is heard from either end.
func (v *visit) over() {
	if v.closed++; v.closed == 2 {
		v.owner, v.end = nil, nil
		v.next, v.run.free = v.run.free, v
	}
}

// serverSide is the server's App.
type serverSide side

// Connected implements tcp.App.
func (s *serverSide) Connected(aqm.Time, *tcp.End) {}

// Acked implements tcp.App.
func (s *serverSide) Acked(aqm.Time, *tcp.End, int64) {}

// Read implements tcp.App.
func (s *serverSide) Read(now aqm.Time, e *tcp.End, n int64) {
	v := s.v
	v.heard += n
	for v.asked < len(v.exchanges) && v.heard >= v.exchanges[v.asked].request {
		v.heard -= v.exchanges[v.asked].request
		e.Write(now, v.exchanges[v.asked].response)
		if v.asked++; v.asked == len(v.exchanges) {
			e.Close(now)
		}
	}
}

// Closed implements tcp.App.
func (s *serverSide) Closed(now aqm.Time, e *tcp.End, err error) {
	if err == nil {
		e.Close(now)
	}
	s.v.over()
}
