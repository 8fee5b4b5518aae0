package web

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

func hosts() tcp.Config {
	c := tcp.DefaultConfig()
	c.ECN, c.InitialWindow, c.ReceiveWindow, c.InitialRTO, c.MinRTO, c.MaxSYN = false, 2, 16384, 3*time.Second, time.Second, 3
	return c
}

// small is a congested network of few users.
func small() Config {
	return Config{
		Rate: 2e6, Access: 2e7, Back: 2e6, Limit: 40, AQM: aqm.TailDrop{}, TCP: hosts(), Model: CDMA2000(), Users: 160,
		RTT: Uniform{10, 150}, Seed: 1, Warmup: 5 * time.Second, Measure: 20 * time.Second, Tail: 5 * time.Second,
	}
}

// plain has pages of a main object and embedded ones of fixed sizes at fixed times.
func plain(embedded, persistent float64) Config {
	c := small()
	c.Rate, c.Access, c.Back, c.Limit, c.Users, c.Warmup = 1e9, 1e9, 1e9, 1000, 1, 0
	c.RTT = Constant(100)
	c.Model.Think, c.Model.Embedded, c.Model.Parse = Constant(1), Constant(embedded), Constant(.5)
	c.Model.Main, c.Model.Object, c.Model.Request = Constant(1000), Constant(1000), Constant(300)
	c.Model.Persistent = persistent
	return c
}

// TestResponseTimes: on an empty network a response takes a round trip, and one more
// for the handshake.
func TestResponseTimes(t *testing.T) {
	for _, persistent := range []float64{0, 1} {
		r, err := Run(plain(6, persistent))
		require.NoError(t, err)
		assert.InDelta(t, .2, r.First.TruncatedMean().Seconds(), .001)
		assert.InDelta(t, .1, r.Asked.TruncatedMean().Seconds(), .001)
		assert.Equal(t, r.First.Begun, r.Asked.Begun)
		all := r.First.Begun + r.Follow.Begun
		if persistent == 0 {
			assert.Zero(t, r.Follow.Begun)
			assert.InDelta(t, float64(all)*25/20, float64(r.Connections), 7, "of the whole run, tail included")
		} else {
			// Two connections for seven objects.
			assert.InDelta(t, 2./7, float64(r.First.Begun)/float64(all), .05)
			assert.InDelta(t, .1, r.Follow.TruncatedMean().Seconds(), .001)
		}
		assert.Equal(t, all, r.Handshake().Begun)
		assert.InDelta(t, 7, float64(r.Exchanges)/float64(r.Pages), .8, "objects of a page")
		// A page takes 1 s of thinking and 0.5 s of parsing, and the main object 0.2 s. Six
		// objects over four connections at a time take two turns, over two that persist
		// three round trips, and one more for the new connection.
		page := 1.7 + .4
		assert.InDelta(t, 20/page, float64(r.Pages), 1.01)
		assert.Equal(t, 1., r.Handshake().Share(2*time.Second))
		assert.Zero(t, r.Failed)
	}
}

// gate drops what it is told to.
type gate struct {
	aqm.TailDrop
	drop func(p aqm.Packet) bool
}

func (g *gate) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if g.drop(p) {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	}
	return g.TailDrop.Enqueue(now, p, q)
}

// TestLostSYNACK: a lost SYN-ACK costs the SYN timeout, in the reading with the
// handshake alone.
func TestLostSYNACK(t *testing.T) {
	c := plain(0, 0)
	lost := 0
	c.AQM = &gate{drop: func(p aqm.Packet) bool {
		if p.Class&aqm.SYNACK == 0 {
			return false
		}
		lost++
		return lost == 1
	}}
	c.Tail = 10 * time.Second
	r, err := Run(c)
	require.NoError(t, err)
	n := float64(r.First.Begun)
	assert.Equal(t, 1-1/n, r.First.Share(2*time.Second))
	assert.InDelta(t, 3.2, r.First.Quantile(1).Seconds(), .05)
	assert.InDelta(t, .1, r.Asked.Quantile(1).Seconds(), .003)
	assert.EqualValues(t, 1, r.Link.Kinds[3].Early)
}

// TestGivenUp: without SYN-ACKs nothing is fetched, and users go on.
func TestGivenUp(t *testing.T) {
	for _, persistent := range []float64{0, 1} {
		c := plain(3, persistent)
		c.Measure = time.Minute
		open := true
		c.AQM = &gate{drop: func(p aqm.Packet) bool { return !open && p.Class&aqm.SYNACK != 0 }}
		pages := 0
		r, err := simulate(c, func(now aqm.Time, _ *user) {
			pages++
			open = now < aqm.Time(2*time.Second) // then none
		})
		require.NoError(t, err)
		assert.NotZero(t, r.Failed)
		assert.Greater(t, pages, 2)
		assert.Less(t, r.First.Ended, r.First.Begun)
		assert.Less(t, r.First.Share(time.Minute), 1.)
	}
}

// drawn is what is random about a page.
type drawn struct {
	objects []object
	think   float64
}

// TestCommonRandomNumbers: under another queue, users fetch the same pages in the same
// order, with the same round-trip times.
func TestCommonRandomNumbers(t *testing.T) {
	pages := func(change func(*Config)) (seen map[float64][]drawn, lost uint64) {
		c := small()
		change(&c)
		seen = map[float64][]drawn{}
		first := map[*user]float64{}
		r, err := simulate(c, func(_ aqm.Time, u *user) {
			if _, ok := first[u]; !ok {
				first[u] = u.page.objects[0].rtt
			}
			seen[first[u]] = append(seen[first[u]], drawn{objects: append([]object(nil), u.page.objects...), think: u.page.think})
		})
		require.NoError(t, err)
		total := r.Link.Total()
		return seen, total.Dropped()
	}
	a, lostA := pages(func(*Config) {})
	b, lostB := pages(func(c *Config) { c.Rate = 1e9 })
	assert.NotZero(t, lostA)
	assert.Zero(t, lostB)
	assert.Greater(t, len(a), 60)
	compared := 0
	for key, mine := range a {
		theirs := b[key]
		for i := range min(len(mine), len(theirs)) {
			require.Equal(t, mine[i], theirs[i])
			compared++
		}
	}
	assert.Greater(t, compared, 60)

	c, _ := pages(func(c *Config) { c.Seed = 2 })
	for key := range c {
		assert.NotContains(t, a, key)
	}
	more, _ := pages(func(c *Config) { c.Users += 40; c.Rate = 1e9 })
	for key := range b {
		assert.Contains(t, more, key, "users are the same whatever their number")
	}
}

// TestDeterminism: the same configuration gives the same result, to the bit.
func TestDeterminism(t *testing.T) {
	for _, open := range []bool{false, true} {
		c := small()
		if open {
			c.Users, c.Arrivals, c.Model = 0, 60, PackMime()
		}
		a, err := Run(c)
		require.NoError(t, err)
		b, err := Run(c)
		require.NoError(t, err)
		assert.Equal(t, a, b)
		assert.NotZero(t, a.Exchanges)
		total := a.Link.Total()
		assert.NotZero(t, total.Dropped())
		c.Seed++
		b, err = Run(c)
		require.NoError(t, err)
		assert.NotEqual(t, a.First, b.First)
	}
}

// TestOffered holds what is reckoned to what a network without congestion carries.
func TestOffered(t *testing.T) {
	for _, m := range []Model{CDMA2000(), SURGE()} {
		c := small()
		c.Model, c.Rate, c.Access, c.Back, c.Limit, c.Users = m, 1e9, 1e9, 1e9, 10000, 500
		r, err := Run(c)
		require.NoError(t, err)
		assert.InEpsilon(t, float64(r.Link.SentBytes)*8, Offered(&c, c.Users), .02, m.Name)
	}
	c := small()
	n, bits := Population(&c, 30e6)
	assert.GreaterOrEqual(t, bits, 30e6)
	assert.Less(t, Offered(&c, n-1), 30e6)
	assert.InEpsilon(t, bits, Offered(&c, n), 1e-12)
}

// TestArrivals: the open form's arrivals have the rate asked for.
func TestArrivals(t *testing.T) {
	c := small()
	c.Users, c.Arrivals, c.Model, c.Rate, c.Access = 0, 100, PackMime(), 1e9, 1e9
	r, err := Run(c)
	require.NoError(t, err)
	assert.InDelta(t, 2000, float64(r.First.Begun), 4*math.Sqrt(2000))
	assert.Equal(t, r.First.Begun, r.First.Ended)
}

func TestValidate(t *testing.T) {
	c := small()
	c.Users, c.RTT, c.Tail, c.Rate = 0, nil, time.Second, 0
	err := c.Validate()
	for _, name := range []string{"rates", "Users = 0", "RTT = nil", "times"} {
		assert.ErrorContains(t, err, name)
	}
	_, err = Run(c)
	assert.Error(t, err)
	c = small()
	c.RTT = Constant(1e9)
	_, err = Run(c)
	assert.ErrorContains(t, err, "RTT")
}
