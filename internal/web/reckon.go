package web

// reckoner adds up what users would put on a bottleneck without congestion, from their
// random numbers alone: with round-trip times and windows, but without a network. It
// is what makes a number of users out of a load, seed by seed: few objects carry so
// much of the bytes that the same number of users makes loads that differ by 2 or 3 %.
type reckoner struct {
	c        *Config
	from, to float64 // measurement, in seconds
	left     residual
	page     page
	bits     float64
}

// Population returns the smallest number of users who offer at least so many bits to
// the bottleneck within the time of measurement, as far as that can be reckoned, and
// what they offer. Users 1 to n of a seed are the same whatever n is.
func Population(c *Config, bits float64) (users int, offered float64) {
	r := newReckoner(c)
	for r.bits < bits && users < 1<<20 {
		users++
		r.user(uint64(users))
	}
	return users, r.bits
}

// Offered returns what a number of users offer.
func Offered(c *Config, users int) float64 {
	r := newReckoner(c)
	for i := range users {
		r.user(uint64(i) + 1)
	}
	return r.bits
}

func newReckoner(c *Config) *reckoner {
	return &reckoner{
		c: c, from: c.Warmup.Seconds(), to: (c.Warmup + c.Measure).Seconds(), left: newResidual(c.Model.Think),
	}
}

// user follows one up to the end of the measurement.
func (r *reckoner) user(number uint64) {
	s := newStream(r.c.Seed, number)
	at := r.left.draw(s.u(), s.u())
	r.c.Model.draw(s, &r.page)
	for at < r.to {
		at = r.fetch(at)
		r.c.Model.draw(s, &r.page)
		at += r.page.think
	}
}

// fetch follows a page and returns when it is complete.
func (r *reckoner) fetch(at float64) float64 {
	m, objects := &r.c.Model, r.page.objects
	end, window := r.exchange(at, objects[0], objects[0].rtt, 0)
	if len(objects) == 1 {
		return end
	}
	end += r.page.parse
	n := m.Parallel
	if r.page.persistent {
		n = m.Persisting
	}
	last := end
	for lane := range min(n, len(objects)-1) {
		t, w, rtt := end, 0., 0.
		if lane == 0 && r.page.persistent {
			w, rtt = window, objects[0].rtt
		}
		for k := 1 + lane; k < len(objects); k += n {
			if w == 0 || !r.page.persistent {
				w, rtt = 0, objects[k].rtt
			}
			t, w = r.exchange(t, objects[k], rtt, w)
		}
		last = max(last, t)
	}
	return last
}

// exchange counts one that begins at a time, with the window that the ones before have
// left, or 0 on a new connection. It returns when it ends and the window then.
func (r *reckoner) exchange(at float64, o object, rtt, window float64) (float64, float64) {
	t := &r.c.TCP
	mss := float64(t.MSS)
	segments := float64((o.response + int64(t.MSS) - 1) / int64(t.MSS))
	wire := float64(o.response) + segments*float64(t.Header)
	rounds := 0.
	if window == 0 {
		window = float64(t.InitialWindow)
		wire += 3 * float64(t.Header) // SYN-ACK, FIN and the last ACK
		rounds++
	}
	for left := segments; left > 0; rounds++ {
		left -= window
		window = min(window*1.5, float64(t.ReceiveWindow)/mss) // an ACK for two segments
	}
	end := at + rounds*r.c.RTT.Quantile(rtt)/1e3
	if overlap := min(end, r.to) - max(at, r.from); overlap > 0 {
		r.bits += wire * 8 * overlap / (end - at)
	}
	return end, window
}
