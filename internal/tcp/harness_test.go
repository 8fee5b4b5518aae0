package tcp

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
)

// scripted is an AQM that does as a function says, which gets the number of the
// packet among those of its kind, from 1.
type scripted struct {
	say  func(kind netmodel.Kind, i int, p aqm.Packet) aqm.Verdict
	seen [netmodel.NumKinds]int
}

func (s *scripted) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	k := netmodel.KindOf(p.Class)
	s.seen[k]++
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	if s.say == nil {
		return aqm.Verdict{}
	}
	return s.say(k, s.seen[k], p)
}

func (*scripted) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }

var (
	drop = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	mark = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	pass = aqm.Verdict{}
)

// pick returns a script that answers v for the given data packets.
func pick(v aqm.Verdict, which ...int) func(netmodel.Kind, int, aqm.Packet) aqm.Verdict {
	return func(k netmodel.Kind, i int, _ aqm.Packet) aqm.Verdict {
		for _, w := range which {
			if k == netmodel.KindData && i == w {
				return v
			}
		}
		return pass
	}
}

const (
	mss    = 1460
	oneWay = 50 * time.Millisecond
)

// bench is two hosts with a fast link each way.
type bench struct {
	t           *testing.T
	net         *netmodel.Net
	there, back *scripted
	route       netmodel.Route
	pool        *Pool
}

func newBench(t *testing.T, c Config) *bench {
	t.Helper()
	b := &bench{t: t, net: netmodel.New(), there: &scripted{}, back: &scripted{}}
	link := func(a aqm.AQM) *netmodel.Path {
		l, err := b.net.Queue(netmodel.QueueConfig{Rate: 10_000_000_000, Delay: oneWay, Limit: 100_000, AQM: a})
		require.NoError(t, err)
		p, err := b.net.Path(l)
		require.NoError(t, err)
		return p
	}
	b.route = netmodel.Route{Forward: link(b.there), Reverse: link(b.back)}
	var err error
	b.pool, err = NewPool(b.net, c)
	require.NoError(t, err)
	return b
}

// sender writes n bytes once connected, and closes if told to.
type sender struct {
	NoApp
	n         int64
	close     bool
	acked     int64
	connected aqm.Time
	err       error
}

func (s *sender) Connected(now aqm.Time, e *End) {
	s.connected = now
	e.Write(now, s.n)
	if s.close {
		e.Close(now)
	}
}
func (s *sender) Acked(_ aqm.Time, _ *End, n int64) { s.acked += n }
func (s *sender) Closed(_ aqm.Time, _ *End, err error) {
	s.err = err
}

// reader counts what it reads.
type reader struct {
	NoApp
	n    int64
	last aqm.Time
}

func (r *reader) Read(now aqm.Time, _ *End, n int64) { r.n += n; r.last = now }

// step has the next event happen.
func (b *bench) step() { b.net.Run(b.net.Sim().Next()) }

// run opens a connection for n bytes and lets it run.
func (b *bench) run(n int64, until time.Duration) (*Conn, *sender, *reader) {
	s, r := &sender{n: n}, &reader{}
	c := b.pool.Dial(0, b.route, 0, s, r)
	b.net.Run(aqm.Time(until))
	return c, s, r
}

// plain is a Config of which the windows are easy to say: an ACK for each segment.
func plain() Config {
	c := DefaultConfig()
	c.DelayedACK, c.ByteCounting, c.LimitedTransmit = 1, false, false
	return c
}

// TestTransfersSurvive has every kind of end send through random loss and marking
// both ways, and all bytes arrive, once and in order.
func TestTransfersSurvive(t *testing.T) {
	for seed := range uint64(48) {
		r := rand.New(rand.NewPCG(seed, 7))
		c := DefaultConfig()
		c.Variant = Variant(seed % NumVariants)
		c.SACK = seed/3%2 == 0
		c.ECN = c.Variant == DCTCP || r.IntN(2) == 0
		c.ECNSYNACK = c.ECN && r.IntN(2) == 0
		c.ByteCounting, c.LimitedTransmit = r.IntN(2) == 0, r.IntN(2) == 0
		c.LikeNS2 = r.IntN(4) == 0
		c.DelayedACK = 1 + r.IntN(3)
		c.MaxSYN = 100
		b := newBench(t, c)
		loss, ce := r.Float64()*.3, r.Float64()*.3
		script := func(netmodel.Kind, int, aqm.Packet) aqm.Verdict {
			switch u := r.Float64(); {
			case u < loss:
				return drop
			case u < loss+ce:
				return mark
			}
			return pass
		}
		b.there.say = func(k netmodel.Kind, i int, p aqm.Packet) aqm.Verdict {
			v := script(k, i, p)
			if v == mark && !p.ECN.Capable() {
				return pass
			}
			return v
		}
		b.back.say = b.there.say
		up, down := int64(1+r.IntN(300_000)), int64(1+r.IntN(300_000))
		client := &exchange{write: up, want: down}
		server := &exchange{write: down, want: up}
		b.pool.Dial(0, b.route, 0, client, server)
		for b.pool.Finished == 0 && b.net.Now() < 4000e9 {
			b.net.Run(b.net.Now() + 1e9)
		}
		require.Equal(t, down, client.read, "seed %d: %+v", seed, c)
		require.Equal(t, up, server.read, "seed %d: %+v", seed, c)
		require.Equal(t, up, client.acked)
		require.Equal(t, uint64(1), b.pool.Finished, "seed %d: both ends have closed", seed)
		require.Len(t, b.pool.free, 1)
	}
}

// exchange writes and closes, and expects as much as it is told.
type exchange struct {
	NoApp
	write, want, read, acked int64
}

func (x *exchange) Connected(now aqm.Time, e *End) { e.Write(now, x.write); e.Close(now) }
func (x *exchange) Read(_ aqm.Time, _ *End, n int64) {
	x.read += n
}
func (x *exchange) Acked(_ aqm.Time, _ *End, n int64) { x.acked += n }
