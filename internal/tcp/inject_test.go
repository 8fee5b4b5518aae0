package tcp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
)

// acker plays the receiver of a sender that is being tested.
type acker struct {
	b *bench
	e *End
}

// newAcker returns a sender with n segments under way, none of which will arrive.
func newAcker(t *testing.T, c Config, n int) acker {
	t.Helper()
	b := newBench(t, c)
	conn, _, _ := b.run(0, time.Duration(3*rtt))
	require.Equal(t, established, conn.Server.state)
	e := &conn.Client
	b.there.say = func(netmodel.Kind, int, aqm.Packet) aqm.Verdict { return drop }
	e.cwnd = float64(n) * mss
	e.ssthresh = e.cwnd
	e.lastSend = b.net.Now()
	e.WriteForever(b.net.Now())
	require.Equal(t, int64(n*mss), e.Outstanding())
	return acker{b, e}
}

// ack has an ACK for the first n segments come in, with SACK blocks [from, to) in
// segments.
func (a acker) ack(n int64, flags netmodel.Flags, blocks ...[2]int64) {
	p := a.b.net.Packet()
	p.Seq, p.Ack, p.Len, p.Flags, p.Gen, p.ECN = 1, 1+n*mss, 0, netmodel.ACK|flags, a.e.gen, aqm.NotECT
	if len(blocks) > 0 {
		p.SACK = a.b.net.SACK()
		for _, x := range blocks {
			p.SACK.Blocks[p.SACK.N] = netmodel.Span{From: 1 + x[0]*mss, To: 1 + x[1]*mss}
			p.SACK.N++
		}
	}
	a.e.Receive(a.b.net.Now(), p)
}

// sent returns what was sent since the last call: segments, and those again.
func (a acker) sent(before Stats) (segments, again uint64) {
	return a.e.Stats.Segments - before.Segments, a.e.Stats.Retransmits - before.Retransmits
}

// TestReordering: one or two duplicates are not a loss. With RFC 3042 each sends one
// new segment.
func TestReordering(t *testing.T) {
	for _, limited := range []bool{false, true} {
		c := plain()
		c.LimitedTransmit = limited
		a := newAcker(t, c, 20)
		was := a.e.Stats
		a.ack(0, 0, [2]int64{1, 2})
		a.ack(0, 0, [2]int64{1, 3})
		segments, again := a.sent(was)
		assert.Zero(t, again)
		assert.Equal(t, map[bool]uint64{false: 0, true: 2}[limited], segments)
		a.ack(3, 0) // the late one
		assert.Equal(t, open, a.e.phase)
		assert.Zero(t, a.e.Stats.Recoveries)
		assert.InDelta(t, 20*mss+mss/20., a.e.cwnd, 1e-6)
	}
}

// TestPipe follows RFC 6675 by hand: 20 segments are under way, 0, 2 and 3 are lost.
func TestPipe(t *testing.T) {
	a := newAcker(t, plain(), 20)
	a.ack(0, 0, [2]int64{1, 2})
	a.ack(0, 0, [2]int64{4, 5}, [2]int64{1, 2})
	was := a.e.Stats
	// The third duplicate: ssthresh = cwnd = 10, number 0 again. Three segments above 0
	// and two above 2 and 3 are SACKed: 0 alone is lost. pipe = 20 - 3 SACKed - 1 lost
	// + 1 again = 17.
	a.ack(0, 0, [2]int64{4, 6}, [2]int64{1, 2})
	assert.Equal(t, recovery, a.e.phase)
	assert.Equal(t, 10.*mss, a.e.cwnd)
	segments, again := a.sent(was)
	assert.Equal(t, [2]uint64{1, 1}, [2]uint64{segments, again})
	// Each SACKed segment more: from the third above 2 and 3, those are lost too. At
	// 4..k-1 SACKed pipe = 20 - (k-4+1) - 3 + 1 = 21-k, and below 10 there is room:
	// from k = 12 for 2, then for 3, and from then on for new data, one each.
	for k := int64(7); k <= 15; k++ {
		was = a.e.Stats
		a.ack(0, 0, [2]int64{4, k}, [2]int64{1, 2})
		segments, again = a.sent(was)
		switch {
		case k < 12:
			assert.Zero(t, segments, "k = %d", k)
		case k < 14:
			assert.Equal(t, [2]uint64{1, 1}, [2]uint64{segments, again}, "k = %d", k)
		default:
			assert.Equal(t, [2]uint64{1, 0}, [2]uint64{segments, again}, "k = %d", k)
		}
	}
	a.ack(2, 0, [2]int64{4, 15}) // partial
	assert.Equal(t, recovery, a.e.phase)
	a.ack(20, 0)
	assert.Equal(t, open, a.e.phase)
	assert.Equal(t, 10.*mss, a.e.cwnd)
	assert.Zero(t, a.e.Stats.Timeouts)
}

// TestNewRenoWindow follows RFC 6582 by hand.
func TestNewRenoWindow(t *testing.T) {
	c := plain()
	c.SACK = false
	a := newAcker(t, c, 20)
	for range 3 {
		a.ack(0, 0)
	}
	assert.Equal(t, 13.*mss, a.e.cwnd, "ssthresh + 3")
	for range 5 {
		a.ack(0, 0)
	}
	assert.Equal(t, 18.*mss, a.e.cwnd, "inflated by each duplicate")
	was := a.e.Stats
	a.ack(4, 0)
	assert.Equal(t, 15.*mss, a.e.cwnd, "deflated by 4, and 1 more")
	_, again := a.sent(was)
	assert.Equal(t, uint64(1), again, "the next hole")
	a.ack(a.e.Outstanding()/mss+4, 0)
	assert.Equal(t, open, a.e.phase)
	assert.LessOrEqual(t, a.e.cwnd, 10.*mss)
}

// TestLossAfterECN: a loss in the window of data that ECN has already answered for is
// repaired, and the window stays: RFC 3168 section 6.1.2.
func TestLossAfterECN(t *testing.T) {
	a := newAcker(t, plain(), 20)
	a.ack(1, netmodel.ECE)
	assert.Equal(t, 10.*mss, a.e.cwnd)
	for k := int64(3); k <= 5; k++ {
		a.ack(1, netmodel.ECE, [2]int64{2, k})
	}
	assert.Equal(t, recovery, a.e.phase)
	assert.Equal(t, 10.*mss, a.e.cwnd)
	assert.Equal(t, uint64(1), a.e.Stats.Retransmits)
	assert.Equal(t, uint64(1), a.e.Stats.ECNReductions)
}

// TestNonsense: ACKs for what was never sent, and blocks of it, change nothing.
func TestNonsense(t *testing.T) {
	a := newAcker(t, plain(), 20)
	was := *a.e
	a.ack(21, 0)
	a.ack(-1, 0)
	a.ack(0, 0, [2]int64{30, 40}, [2]int64{5, 5}, [2]int64{-5, 3})
	assert.Equal(t, was.una, a.e.una)
	assert.Equal(t, was.cwnd, a.e.cwnd)
	assert.Empty(t, a.e.board.s)
}
