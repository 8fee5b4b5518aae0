package tcp

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
)

const rtt = 2 * oneWay

// TestSlowStart: with an ACK for each segment the window doubles each round trip,
// RFC 5681 section 3.1; with one for every second and no counting of bytes it grows
// by half.
func TestSlowStart(t *testing.T) {
	for _, every := range []int{1, 2} {
		c := plain()
		c.DelayedACK = every
		b := newBench(t, c)
		s := &sender{n: forever}
		conn := b.pool.Dial(0, b.route, 0, s, &reader{})
		want := 10.
		for round := 1; round <= 5; round++ {
			// The SYN's round trip, then the data's; in the midst of the pause.
			b.net.Run(aqm.Time(rtt)*aqm.Time(round) + aqm.Time(rtt/2))
			cwnd, _ := conn.Client.Window()
			assert.InDelta(t, want*mss, cwnd, 1, "round %d, ACK every %d", round, every)
			want += math.Floor(want / float64(every))
		}
	}
}

// TestAvoidance: above ssthresh each ACK adds SMSS*SMSS/cwnd, RFC 5681 equation 3.
func TestAvoidance(t *testing.T) {
	b := newBench(t, plain())
	s := &sender{n: forever}
	conn := b.pool.Dial(0, b.route, 0, s, &reader{})
	b.net.Run(aqm.Time(rtt) - 1)
	conn.Client.ssthresh = 10 * mss
	want := 10. * mss
	for round := 1; round <= 8; round++ {
		b.net.Run(aqm.Time(rtt)*aqm.Time(round) + aqm.Time(rtt/2))
		cwnd, _ := conn.Client.Window()
		assert.InDelta(t, want, cwnd, 1e-6, "round %d", round)
		for range int(want / mss) {
			want += mss * mss / want
		}
	}
}

// TestSYN: a SYN that is lost comes again after the first timeout, then after twice
// that: RFC 6298 section 5.5, with 1 s and 3 s. The window then begins with one
// segment, RFC 5681 section 3.1.
func TestSYN(t *testing.T) {
	for _, first := range []time.Duration{time.Second, 3 * time.Second} {
		for _, kind := range []netmodel.Kind{netmodel.KindSYN, netmodel.KindSYNACK} {
			c := plain()
			c.InitialRTO = first
			b := newBench(t, c)
			say := func(k netmodel.Kind, i int, _ aqm.Packet) aqm.Verdict {
				if k == kind && i <= 2 {
					return drop
				}
				return pass
			}
			b.there.say, b.back.say = say, say
			conn, s, _ := b.run(1, 30*time.Second)
			want := first + 2*first + rtt
			if kind == netmodel.KindSYNACK { // the server's timer, or the client's SYN again, whichever is first
				assert.InDelta(t, want.Seconds(), time.Duration(s.connected).Seconds(), oneWay.Seconds()+.001)
				continue
			}
			assert.InDelta(t, want.Seconds(), time.Duration(s.connected).Seconds(), .001)
			assert.Equal(t, uint64(3), conn.Client.Stats.SYNs)
			conn.Client.cwnd = 0
			conn.Client.connected(s.connected)
			assert.Equal(t, float64(mss), conn.Client.cwnd)
		}
	}
}

func TestSYNFails(t *testing.T) {
	c := plain()
	c.MaxSYN = 3
	b := newBench(t, c)
	b.there.say = func(netmodel.Kind, int, aqm.Packet) aqm.Verdict { return drop }
	_, s, _ := b.run(1, 100*time.Second)
	assert.ErrorIs(t, s.err, ErrTimeout)
	assert.Equal(t, uint64(1), b.pool.Failed)
	assert.Equal(t, 3, b.there.seen[netmodel.KindSYN])
	assert.Len(t, b.pool.free, 1)
}

// TestFastRetransmit loses segments of one window: each is sent again once, without a
// timeout, and the window ends at half the flight, RFC 5681 equation 4.
func TestFastRetransmit(t *testing.T) {
	for _, sack := range []bool{true, false} {
		for _, lost := range [][]int{{15}, {15, 17}, {15, 16, 17, 18}, {12, 15, 20, 25, 29}} {
			c := plain()
			c.SACK = sack
			b := newBench(t, c)
			b.there.say = pick(drop, lost...)
			s := &sender{n: forever}
			conn := b.pool.Dial(0, b.route, 0, s, &reader{})
			e := &conn.Client
			for e.Stats.Recoveries == 0 {
				b.step()
				require.Less(t, b.net.Now(), aqm.Time(2e9))
			}
			// The ACK of segment i has released 2i + 9 and 2i + 10. Those of all before
			// the loss have come, so that 10 + 2(i-1) were sent, and i-1 acknowledged.
			got := e.ssthresh
			assert.Equal(t, float64(10+lost[0]-1)/2*mss, got)
			for e.phase != open {
				b.step()
				require.Less(t, b.net.Now(), aqm.Time(9e9))
			}
			assert.Equal(t, uint64(len(lost)), e.Stats.Retransmits, "SACK %v, lost %v", sack, lost)
			assert.Zero(t, e.Stats.Timeouts)
			assert.Equal(t, got, e.ssthresh, "one reduction for the window")
			if sack {
				assert.Equal(t, got, e.cwnd)
			} else {
				assert.LessOrEqual(t, e.cwnd, got)
			}
		}
	}
}

// TestTimeout loses the last segment: it is sent again an RTO after the last ACK,
// and the window is one segment: RFC 6298 section 5, RFC 5681 section 3.1.
func TestTimeout(t *testing.T) {
	b := newBench(t, plain())
	b.there.say = pick(drop, 5)
	s, r := &sender{n: 5 * mss}, &reader{}
	conn := b.pool.Dial(0, b.route, 0, s, r)
	for conn.Client.Stats.Timeouts == 0 {
		b.step()
		require.Less(t, b.net.Now(), aqm.Time(9e9))
	}
	// The SYN's and the first segment's round trips are samples: SRTT stays, RTTVAR
	// falls by a quarter for each: R/2, then 3/8 R. RTO = R + 4*3/8 R.
	want := 2*rtt + rtt + 4*rtt*3/8
	assert.InDelta(t, want.Seconds(), time.Duration(b.net.Now()).Seconds(), .001)
	assert.Equal(t, float64(mss), conn.Client.cwnd)
	assert.Equal(t, 2.*mss, conn.Client.ssthresh)
	b.net.Run(9e9)
	assert.Equal(t, int64(5*mss), r.n)
	assert.Equal(t, uint64(1), conn.Client.Stats.Retransmits)
}

// TestBackoff: a timeout doubles the next, RFC 6298 section 5.5.
func TestBackoff(t *testing.T) {
	b := newBench(t, plain())
	b.there.say = func(k netmodel.Kind, _ int, _ aqm.Packet) aqm.Verdict {
		if k == netmodel.KindData {
			return drop
		}
		return pass
	}
	conn, _, _ := b.run(mss, 100*time.Second)
	// One sample, of the SYN: RTO = R + 4*R/2 = 3 R, and 2, 4, 8 ... times that after.
	n, at := uint64(0), time.Duration(rtt)
	for step := 3 * rtt; at+step < 100*time.Second; step = min(2*step, time.Minute) {
		at += step
		n++
	}
	assert.Equal(t, n, conn.Client.Stats.Timeouts)
}

// TestECN marks: one reaction for each window of data, to half, and a CWR that ends
// the echo: RFC 3168 section 6.1.
func TestECN(t *testing.T) {
	for _, marked := range [][]int{{12}, {12, 13, 20}, {11, 12, 13, 14, 15, 16, 17, 18, 19, 20}} {
		b := newBench(t, plain())
		b.there.say = pick(mark, marked...)
		s := &sender{n: forever}
		conn := b.pool.Dial(0, b.route, 0, s, &reader{})
		e := &conn.Client
		before := 0.
		for e.Stats.ECNReductions == 0 {
			before = e.cwnd
			b.step()
			require.Less(t, b.net.Now(), aqm.Time(2e9))
		}
		require.True(t, e.ECN())
		assert.Equal(t, before/2, e.cwnd, "marked %v", marked)
		assert.Equal(t, e.cwnd, e.ssthresh)
		b.net.Run(b.net.Now() + 3*aqm.Time(rtt))
		assert.Equal(t, uint64(1), e.Stats.ECNReductions, "marked %v", marked)
		assert.False(t, conn.Server.ce, "the CWR has come")
		assert.Zero(t, e.Stats.Retransmits)
	}
}

// TestSmallestWindow: with one segment of window, an ECE makes the sender wait for
// its timer: RFC 3168 section 6.1.2.
func TestSmallestWindow(t *testing.T) {
	c := plain()
	c.InitialWindow = 1
	b := newBench(t, c)
	b.there.say = pick(mark, 1)
	s := &sender{n: forever}
	conn := b.pool.Dial(0, b.route, 0, s, &reader{})
	for b.there.seen[netmodel.KindData] < 2 {
		b.step()
		require.Less(t, b.net.Now(), aqm.Time(9e9))
	}
	want := 2*rtt + rtt + 4*rtt*3/8 // as in TestTimeout
	assert.InDelta(t, want.Seconds(), time.Duration(b.net.Now()).Seconds(), .001)
	assert.Zero(t, conn.Client.Stats.Retransmits)
}

// TestCodepoints watches which packets are ECN-capable: new data alone, RFC 3168
// sections 6.1.1, 6.1.4, 6.1.5; the SYN-ACK by RFC 5562; all by RFC 8257 section 3.6.
func TestCodepoints(t *testing.T) {
	for _, x := range []struct {
		name               string
		ecn, synack, all   bool
		syn, answer, again aqm.ECN
		data, ack          aqm.ECN
	}{
		{name: "RFC 3168", ecn: true, data: aqm.ECT0},
		{name: "RFC 5562", ecn: true, synack: true, answer: aqm.ECT0, data: aqm.ECT0},
		{name: "RFC 8257", ecn: true, all: true, syn: aqm.ECT0, answer: aqm.ECT0, again: aqm.ECT0, data: aqm.ECT0, ack: aqm.ECT0},
		{name: "none"},
	} {
		c := plain()
		c.ECN, c.ECNSYNACK, c.ECTAll = x.ecn, x.synack, x.all
		b := newBench(t, c)
		n := 0
		b.there.say = func(k netmodel.Kind, i int, p aqm.Packet) aqm.Verdict {
			switch {
			case k == netmodel.KindSYN:
				assert.Equal(t, x.syn, p.ECN, x.name)
				assert.Equal(t, x.ecn, p.Class&aqm.ECE != 0)
			case k == netmodel.KindData && i == 10+2*4+1: // after 4 ACKs and 3 duplicates: number 5 again
				assert.Equal(t, x.again, p.ECN, x.name)
				n++
			case k == netmodel.KindData:
				assert.Equal(t, x.data, p.ECN, "%s %d", x.name, i)
				n++
			}
			return pick(drop, 5)(k, i, p)
		}
		b.back.say = func(k netmodel.Kind, _ int, p aqm.Packet) aqm.Verdict {
			if k == netmodel.KindSYNACK {
				assert.Equal(t, x.answer, p.ECN, x.name)
			} else {
				assert.Equal(t, x.ack, p.ECN, x.name)
			}
			return pass
		}
		b.run(20*mss, 5*time.Second)
		assert.Equal(t, 21, n)
	}
}

// TestMarkedSYNACK: the answerer begins with one segment, after an unmarked SYN-ACK
// has gone out at once: RFC 5562 section 3.
func TestMarkedSYNACK(t *testing.T) {
	c := plain()
	c.ECNSYNACK = true
	b := newBench(t, c)
	b.back.say = func(k netmodel.Kind, i int, p aqm.Packet) aqm.Verdict {
		if k == netmodel.KindSYNACK && i == 1 {
			return mark
		}
		if k == netmodel.KindSYNACK {
			assert.Equal(t, aqm.NotECT, p.ECN)
		}
		return pass
	}
	client, server := &reader{}, &sender{n: 10 * mss}
	conn := b.pool.Dial(0, b.route, 0, client, server)
	b.net.Run(aqm.Time(2*rtt) + aqm.Time(oneWay) + 1e6)
	assert.Equal(t, 2, b.back.seen[netmodel.KindSYNACK])
	assert.Equal(t, 1, b.back.seen[netmodel.KindData])
	assert.Equal(t, float64(mss), conn.Server.cwnd)
	b.net.Run(5e9)
	assert.Equal(t, int64(10*mss), client.n)
}

// TestDelayedACK: at once for every second segment and out of order, else after the
// timer: RFC 5681 section 4.2.
func TestDelayedACK(t *testing.T) {
	c := DefaultConfig()
	b := newBench(t, c)
	b.run(mss, time.Duration(rtt)+oneWay+90*time.Millisecond)
	assert.Zero(t, b.back.seen[netmodel.KindPureACK])
	b.net.Run(b.net.Now() + 11e6)
	assert.Equal(t, 1, b.back.seen[netmodel.KindPureACK])

	b = newBench(t, c)
	b.run(4*mss, time.Duration(rtt)+oneWay+time.Millisecond)
	assert.Equal(t, 2, b.back.seen[netmodel.KindPureACK])

	b = newBench(t, c)
	b.there.say = pick(drop, 1)
	b.run(4*mss, time.Duration(rtt)+oneWay+time.Millisecond)
	assert.Equal(t, 3, b.back.seen[netmodel.KindPureACK])
}

// TestSACKBlocks puts segments out of order into a receiver: the block of the latest
// comes first, then those before it: RFC 2018 section 4.
func TestSACKBlocks(t *testing.T) {
	b := newBench(t, plain())
	conn, _, r := b.run(1, time.Second)
	e := &conn.Server
	base := e.rcvNxt
	put := func(i int64) *netmodel.SACK {
		p := b.net.Packet()
		p.Seq, p.Len, p.Flags, p.Ack, p.Gen, p.ECN = base+i*mss, mss, netmodel.ACK, e.nxt, e.gen, aqm.NotECT
		e.Receive(b.net.Now(), p)
		q := b.net.Packet()
		e.blocks(q)
		return q.SACK
	}
	block := func(i, j int64) netmodel.Span { return netmodel.Span{From: base + i*mss, To: base + j*mss} }
	assert.Equal(t, []netmodel.Span{block(2, 3)}, blocksOf(put(2)))
	assert.Equal(t, []netmodel.Span{block(5, 6), block(2, 3)}, blocksOf(put(5)))
	assert.Equal(t, []netmodel.Span{block(8, 9), block(5, 6), block(2, 3)}, blocksOf(put(8)))
	assert.Equal(t, []netmodel.Span{block(2, 4), block(8, 9), block(5, 6)}, blocksOf(put(3)))
	assert.Equal(t, []netmodel.Span{block(2, 6), block(8, 9)}, blocksOf(put(4)))
	assert.Equal(t, []netmodel.Span{block(11, 12), block(2, 6), block(8, 9)}, blocksOf(put(11)))
	was := r.n
	assert.Equal(t, []netmodel.Span{block(11, 12), block(2, 6), block(8, 9)}, blocksOf(put(0)))
	assert.Equal(t, was+mss, r.n)
	assert.Equal(t, []netmodel.Span{block(11, 12), block(8, 9)}, blocksOf(put(1)))
	assert.Equal(t, was+6*mss, r.n)
}

func blocksOf(s *netmodel.SACK) []netmodel.Span { return s.Blocks[:s.N] }

// TestEstimator: RFC 6298 section 2 by the letter.
func TestEstimator(t *testing.T) {
	e := End{p: plain().params()}
	srtt, rttvar := 0., 0.
	for i, r := range []float64{.1, .12, .08, .5, .1, .1, .3} {
		if i == 0 {
			srtt, rttvar = r, r/2
		} else {
			rttvar = .75*rttvar + .25*math.Abs(srtt-r)
			srtt = .875*srtt + .125*r
		}
		e.sample(aqm.Time(r * 1e9))
		assert.InDelta(t, srtt, time.Duration(e.srtt).Seconds(), 1e-8)
		assert.InDelta(t, max(.2, srtt+4*rttvar), time.Duration(e.rto).Seconds(), 1e-7)
	}
}

// TestDCTCP: alpha follows M by equation 8 of RFC 8257, and the window its alpha.
func TestDCTCP(t *testing.T) {
	c := plain()
	c.Variant = DCTCP
	b := newBench(t, c)
	conn, _, _ := b.run(forever, rtt+time.Millisecond)
	e := &conn.Client
	want, end := 1., int64(0)
	for range 40 {
		for e.dctcp.windowEnd == end {
			b.step()
		}
		end = e.dctcp.windowEnd
		want *= 1 - c.Gain // nothing is marked
		assert.InDelta(t, want, e.Alpha(), 1e-12)
	}
	// All marked: towards 1 by the same gain, and one reduction for each window.
	b.there.say = func(k netmodel.Kind, _ int, _ aqm.Packet) aqm.Verdict {
		if k == netmodel.KindData {
			return mark
		}
		return pass
	}
	b.net.Run(b.net.Now() + 60*aqm.Time(rtt))
	assert.Greater(t, e.Alpha(), .9)
	n := e.Stats.ECNReductions
	b.net.Run(b.net.Now() + 10*aqm.Time(rtt))
	assert.InDelta(t, 10, float64(e.Stats.ECNReductions-n), 1)
}

// TestDCTCPReceiver: a change of CE is acknowledged at once, with the state before:
// RFC 8257 section 3.2. What the ACKs say adds up to what was marked.
func TestDCTCPReceiver(t *testing.T) {
	c := plain()
	c.Variant, c.DelayedACK = DCTCP, 2
	b := newBench(t, c)
	b.there.say = pick(mark, 2, 3, 4, 8)
	var echoes []bool
	b.back.say = func(k netmodel.Kind, _ int, p aqm.Packet) aqm.Verdict {
		if k == netmodel.KindPureACK {
			echoes = append(echoes, p.Class&aqm.ECE != 0)
		}
		return pass
	}
	b.run(10*mss, 3*time.Second)
	// 1 | 2 3 | 4 | 5 6 | 7 | 8 | 9 10
	assert.Equal(t, []bool{false, true, true, false, false, true, false}, echoes)
}

// TestCUBIC: section 4 of RFC 9438.
func TestCUBIC(t *testing.T) {
	for _, x := range []float64{1e-9, .5, 1, 2, 27, 1e6, 12345.678} {
		assert.InEpsilon(t, math.Cbrt(x), cbrt(x), 1e-14)
	}
	e := End{p: plain().params(), srtt: 100e6, cwnd: 1000 * mss, ssthresh: 1}
	e.p.Variant = CUBIC
	e.cwnd = max(e.cubic.reduce(&e), 2*mss)
	assert.InDelta(t, 700*mss, e.cwnd, 1e-6)
	k := math.Cbrt(1000 * .3 / .4) // equation 2
	e.cubic.grow(&e, 1, 0)         // begins an epoch
	for _, d := range []float64{-k, -2, 0, 3, 10} {
		assert.InDelta(t, .4*d*d*d+1000, e.cubic.at(k+d), 1e-9, "equation 1")
	}
	now := aqm.Time(1)
	for ; float64(now) < (k+3)*1e9; now += 1e6 { // an ACK each ms, a thousand segments a second
		e.cubic.grow(&e, now, mss)
	}
	assert.InDelta(t, k, e.cubic.k, 1e-9)
	assert.InDelta(t, .4*27+1000, e.cwnd/mss, 15, "3 s after K, less the lag of the ACKs")
	e.cubic.reduce(&e)
	w := e.cubic.wmax * .9 * mss
	e.cwnd = w
	e.cubic.reduce(&e)
	assert.InDelta(t, w/mss*.85, e.cubic.wmax, 1e-6, "fast convergence, section 4.7")
}

// client sends requests of 100 bytes, one after the answer to the other.
type client struct {
	NoApp
	rounds   int
	got      int64
	finished *int
	next     func(now aqm.Time)
}

func (c *client) Connected(now aqm.Time, e *End) { e.Write(now, 100) }

func (c *client) Read(now aqm.Time, e *End, n int64) {
	c.got += n
	if c.got < 5000 {
		return
	}
	c.got -= 5000
	if c.rounds--; c.rounds > 0 {
		e.Write(now, 100)
		return
	}
	e.Close(now)
	*c.finished++
	c.next(now)
}

// server answers each with 5000.
type server struct {
	NoApp
	got int64
}

func (s *server) Read(now aqm.Time, e *End, n int64) {
	if s.got += n; s.got >= 100 {
		s.got -= 100
		e.Write(now, 5000)
	}
}

// TestPool has users who open one connection after the other, with several exchanges
// on each: the pool holds as many as live at a time.
func TestPool(t *testing.T) {
	b := newBench(t, DefaultConfig())
	b.there.say = func(_ netmodel.Kind, i int, _ aqm.Packet) aqm.Verdict {
		if i%50 == 49 {
			return drop
		}
		return pass
	}
	finished := 0
	for u := range 5 {
		var dial func(now aqm.Time)
		dial = func(now aqm.Time) {
			b.pool.Dial(now, b.route, u, &client{rounds: 3, finished: &finished, next: func(now aqm.Time) {
				b.net.Sim().At(now.Add(time.Second), dial)
			}}, &server{})
		}
		b.net.Sim().At(aqm.Time(u)*1e8, dial)
	}
	b.net.Run(300e9)
	assert.Greater(t, finished, 300)
	assert.InDelta(t, finished, b.pool.Finished, 10)
	assert.LessOrEqual(t, len(b.pool.free), 10)
	assert.Zero(t, b.pool.Failed)
}

// TestSource sends at its rate, with pauses, as what it claims to be.
func TestSource(t *testing.T) {
	b := newBench(t, plain())
	s, err := NewSource(b.net, b.route.Forward, 0, SourceConfig{Rate: 12_000_000, Size: 1500, ECN: aqm.ECT0, Class: aqm.SYN, On: 100 * time.Millisecond, Off: 300 * time.Millisecond, Start: 1e9, Stop: 5e9})
	require.NoError(t, err)
	b.net.Run(10e9)
	assert.Equal(t, uint64(1000), s.Sent) // 1 ms each, a quarter of 4 s
	assert.Equal(t, uint64(1000), s.Sink.Packets)
	assert.Equal(t, 1000, b.there.seen[netmodel.KindSYN])
	_, err = NewSource(b.net, b.route.Forward, 0, SourceConfig{})
	require.ErrorIs(t, err, aqm.ErrConfig)
	assert.ErrorContains(t, err, "Rate = 0 bit/s")
	assert.ErrorContains(t, err, "Size = 0 bytes")
}

func TestConfig(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())
	require.NoError(t, NS2Config().Validate())
	err := Config{Variant: DCTCP, Gain: math.NaN()}.Validate()
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, field := range []string{"MSS", "Header", "ECN", "InitialWindow", "InitialRTO", "MinRTO", "MaxSYN", "DelayedACK", "Gain"} {
		assert.ErrorContains(t, err, "tcp: "+field+" = ")
	}
}
