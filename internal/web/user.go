package web

import (
	"math/rand/v2"

	"github.com/aqmkit/aqmkit/aqm"
)

// stream is the random numbers of one user, or of one connection of the open form.
type stream struct{ src *rand.PCG }

// newStream returns the stream of a seed and a number. The multiplier spreads seeds
// that follow each other.
func newStream(seed, number uint64) stream {
	return stream{rand.NewPCG(seed*0x9e3779b97f4a7c15, number)}
}

// u returns a uniform number in (0, 1).
func (s stream) u() float64 { return (float64(s.src.Uint64()>>11) + .5) * 0x1p-53 }

// page is all that is random about a page. It is drawn at once, in a fixed order.
type page struct {
	think, parse float64
	persistent   bool
	objects      []object // the main one first
}

type object struct {
	exchange
	rtt float64 // uniform; of the object's connection, where it is the first one's
}

func (m *Model) draw(s stream, p *page) {
	p.think = m.Think.Quantile(s.u())
	n := 1 + int(m.Embedded.Quantile(s.u()))
	p.persistent = s.u() < m.Persistent
	p.parse = m.Parse.Quantile(s.u())
	p.objects = p.objects[:0]
	for i := range n {
		d := m.Object
		if i == 0 {
			d = m.Main
		}
		request, response, rtt := s.u(), s.u(), s.u()
		p.objects = append(p.objects, object{exchange{bytes(m.Request, request), bytes(d, response)}, rtt})
	}
}

func bytes(d Dist, u float64) int64 { return max(1, int64(d.Quantile(u))) }

// seconds as simulated time, in whole microseconds so that the last bits of a function
// of package math do not matter.
func seconds(s float64) aqm.Time { return aqm.Time(s*1e6) * 1000 }

// user browses for ever.
type user struct {
	run    *run
	stream stream
	page   page
	open   int // visits that have not ended, and lanes that have objects left
	wake   func(now aqm.Time)
	main   *visit // a persistent page's first connection, that waits for the parse time
}

func (u *user) think(now aqm.Time) {
	u.run.model.draw(u.stream, &u.page)
	u.wake = u.fetch
	u.run.at(now+seconds(u.page.think), u)
}

// fetch begins a page. A persistent page's main connection carries the first lane's
// objects too.
func (u *user) fetch(now aqm.Time) {
	if u.run.watch != nil {
		u.run.watch(now, u)
	}
	u.open = 1
	exchanges := []exchange{u.page.objects[0].exchange}
	if u.page.persistent {
		exchanges = u.lane(exchanges, 0, u.run.model.Persisting)
	}
	u.run.dial(now, u, 0, u.run.route(u.page.objects[0].rtt), exchanges, 1)
}

// lane appends the embedded objects of lane i of n.
func (u *user) lane(to []exchange, i, n int) []exchange {
	for k := 1 + i; k < len(u.page.objects); k += n {
		to = append(to, u.page.objects[k].exchange)
	}
	return to
}

// fetched implements owner.
func (u *user) fetched(now aqm.Time, v *visit, k int) {
	last := k == len(v.exchanges)-1
	switch {
	case v.tag == 0 && k == 0 && len(u.page.objects) > 1:
		u.main = nil
		if !last {
			u.main = v
		}
		u.wake = u.embed
		u.run.at(now+seconds(u.page.parse), u)
	case !last:
	case u.page.persistent:
		u.done(now)
	default:
		u.another(now, v.tag)
	}
}

// embed asks for the embedded objects.
func (u *user) embed(now aqm.Time) {
	m := &u.run.model
	u.open = 0
	if u.page.persistent {
		if u.main != nil {
			u.open++
			u.main.more(now)
			u.main = nil
		}
		for i := 1; i < m.Persisting && 1+i < len(u.page.objects); i++ {
			u.open++
			lane := u.lane(nil, i, m.Persisting)
			u.run.dial(now, u, 1+i, u.run.route(u.page.objects[1+i].rtt), lane, len(lane))
		}
		return
	}
	n := min(m.Parallel, len(u.page.objects)-1)
	u.open = n
	for i := range n {
		u.single(now, 1+i)
	}
}

// single opens a connection for one object.
func (u *user) single(now aqm.Time, k int) {
	u.run.dial(now, u, k, u.run.route(u.page.objects[k].rtt), []exchange{u.page.objects[k].exchange}, 1)
}

// another opens the connection that follows on that of object k, in its lane.
func (u *user) another(now aqm.Time, k int) {
	if k > 0 && k+u.run.model.Parallel < len(u.page.objects) {
		u.single(now, k+u.run.model.Parallel)
		return
	}
	u.done(now)
}

// done is the end of a lane.
func (u *user) done(now aqm.Time) {
	if u.open--; u.open == 0 {
		u.run.paged(now)
		u.think(now)
	}
}

// gone implements owner: what the connection was for is skipped.
func (u *user) gone(now aqm.Time, v *visit) {
	switch {
	case v.tag == 0 && v.k == 0: // without the main object there is no page
		u.think(now)
	case u.page.persistent:
		u.done(now)
	default:
		u.another(now, v.tag)
	}
}

// arrivals is the open form: one connection after the other, whatever becomes of them.
type arrivals struct {
	run    *run
	stream stream
	mean   float64 // seconds between two
}

func (a *arrivals) arrive(now aqm.Time) {
	s := a.stream
	next := Exponential{a.mean}.Quantile(s.u())
	m := &a.run.model
	request, response, rtt := s.u(), s.u(), s.u()
	a.run.dial(now, nobody{}, 0, a.run.route(rtt), []exchange{{bytes(m.Request, request), bytes(m.Main, response)}}, 1)
	a.run.net.Sim().At(now+aqm.Time(next*1e9), a.arrive)
}

// nobody owns the connections of the open form.
type nobody struct{}

func (nobody) fetched(aqm.Time, *visit, int) {}
func (nobody) gone(aqm.Time, *visit)         {}
