package codel

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

const ms = time.Millisecond

var (
	pass  = aqm.Verdict{}
	mark  = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	drop  = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	full  = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	stand = aqm.Occupancy{Packets: 100, Bytes: 150_000} // a standing queue
)

func newCoDel(t *testing.T, c Config) *CoDel {
	t.Helper()
	d, err := New(c)
	require.NoError(t, err)
	return d
}

// at is the instant d after the clock's origin.
func at(d time.Duration) aqm.Time { return aqm.Time(d) }

// take judges at now a packet that stayed for sojourn.
func take(d *CoDel, now aqm.Time, sojourn time.Duration, e aqm.ECN) aqm.Verdict {
	return d.Dequeue(now, aqm.Packet{EnqueuedAt: now.Add(-sojourn), Size: 1500, ECN: e, Class: aqm.Data}, stand)
}

// dequeue offers packets that stayed for sojourn until one is not dropped, 10 000
// at the most, and returns the number of drops and what became of the last.
func dequeue(d *CoDel, now aqm.Time, sojourn time.Duration, e aqm.ECN) (drops int, v aqm.Verdict) {
	for v = take(d, now, sojourn, e); v.Action == aqm.Drop && drops < 10_000; v = take(d, now, sojourn, e) {
		drops++
	}
	return drops, v
}

// dropsEvery dequeues every period in [from, until), and returns the instants of
// the drops.
func dropsEvery(d *CoDel, period, sojourn time.Duration, from, until aqm.Time) (drops []aqm.Time) {
	const most = 100_000 // what a fault may come to
	for now := from; now < until && len(drops) < most; now = now.Add(period) {
		n, _ := dequeue(d, now, sojourn, aqm.NotECT)
		for range n {
			drops = append(drops, now)
		}
	}
	return drops
}

// TestDefaults pins the defaults to their sources: TARGET and INTERVAL of RFC 8289
// section 5.3; the MTU of an Ethernet interface with its header, as Linux sets it,
// for the RFC's "SHOULD use interface MTU".
func TestDefaults(t *testing.T) {
	assert.Equal(t, Config{Target: 5 * ms, Interval: 100 * ms, MTU: 1500 + 14}, DefaultConfig())
	assert.NoError(t, DefaultConfig().Validate())
}

// TestVectors holds CoDel against faults found in other implementations.
func TestVectors(t *testing.T) {
	t.Run("C1", func(t *testing.T) {
		// The above-target flag alone as the verdict drops 9 500 of 10 000 packets.
		c := Config{Target: 50 * ms, Interval: 500 * ms, MTU: 1514}
		var want []aqm.Time
		due := 500 * ms // the first packet at 0 is above Target
		for count := 1; due < 10*time.Second; count++ {
			want = append(want, at((due + ms - 1).Truncate(ms))) // at the next packet
			due += time.Duration(float64(c.Interval) / math.Sqrt(float64(count)))
		}
		require.Len(t, want, 105)
		d := newCoDel(t, c)
		assert.Equal(t, want, dropsEvery(d, ms, 100*ms, 0, at(10*time.Second)))
		assert.Equal(t, 10_041*ms, due.Round(ms))
		assert.Equal(t, at(due), d.State().DropNext)
		assert.Equal(t, []aqm.Time{at((due + ms - 1).Truncate(ms))}, dropsEvery(d, ms, 100*ms, at(10*time.Second), at(10_050*ms)))
	})

	t.Run("C2", func(t *testing.T) {
		// A 1/sqrt of zero makes every packet due.
		d := newCoDel(t, DefaultConfig())
		assert.Equal(t, []aqm.Time{at(100 * ms)}, dropsEvery(d, ms, 20*ms, 0, at(150*ms)))
		assert.Equal(t, pass, take(d, at(150*ms), ms, aqm.NotECT))
		assert.False(t, d.State().Dropping)
		assert.Equal(t, uint32(0), d.State().Count-d.State().LastCount)
		assert.Equal(t, []aqm.Time{at(260 * ms)}, dropsEvery(d, ms, 20*ms, at(160*ms), at(300*ms)))
		assert.Equal(t, State{Dropping: true, Count: 1, LastCount: 1, DropNext: at(360 * ms), Sojourn: 20 * ms}, d.State())
	})

	t.Run("C3", func(t *testing.T) {
		// (t + I)/sqrt(count) would be 5.05 s.
		d := newCoDel(t, DefaultConfig())
		d.above, d.firstAbove = true, at(9*time.Second)
		d.dropping, d.count, d.dropNext = true, 3, at(10*time.Second)
		require.NoError(t, d.Reconfigure(DefaultConfig()))
		assert.Equal(t, drop, take(d, at(10*time.Second), 20*ms, aqm.NotECT))
		assert.Equal(t, pass, take(d, at(10*time.Second), 20*ms, aqm.NotECT))
		assert.Equal(t, uint32(4), d.State().Count)
		assert.Equal(t, at(10_050*ms), d.State().DropNext)
	})

	t.Run("C4", func(t *testing.T) {
		var dropped []string
		d := newCoDel(t, DefaultConfig())
		f, err := aqm.NewFIFO(aqm.FIFOConfig[string]{LimitPackets: 10, OnDrop: func(s string, _ aqm.Packet, v aqm.Verdict) {
			assert.Equal(t, drop, v)
			dropped = append(dropped, s)
		}}, d)
		require.NoError(t, err)
		p := aqm.Packet{Size: 1500, Class: aqm.Data}
		for _, s := range []string{"first", "A", "B", "C"} {
			require.Equal(t, pass, f.Enqueue(0, s, p))
		}
		var delivered []string
		for _, now := range []aqm.Time{at(20 * ms), at(120 * ms), at(121 * ms)} {
			s, _, ok := f.Dequeue(now)
			require.True(t, ok)
			delivered = append(delivered, s)
		}
		assert.Equal(t, []string{"A"}, dropped)
		assert.Equal(t, []string{"first", "B", "C"}, delivered)
		assert.Zero(t, f.Len())
	})

	t.Run("C5", func(t *testing.T) {
		// A floor of the largest packet seen, 9000 bytes, would never drop.
		now, period := aqm.Time(0), 97*ms/3 // the third in the queue leaves after 97 ms
		var drops []aqm.Time
		d := newCoDel(t, DefaultConfig())
		f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 10, OnDrop: func(int, aqm.Packet, aqm.Verdict) {
			drops = append(drops, now)
		}}, d)
		require.NoError(t, err)
		p := aqm.Packet{Size: 9000, Class: aqm.Data}
		for i := range 3 {
			f.Enqueue(now.Add(time.Duration(i-3)*period), 0, p)
		}
		for i := range 6 {
			now = at(time.Duration(i) * period)
			_, _, ok := f.Dequeue(now)
			require.True(t, ok)
			if len(drops) == 0 {
				require.InDelta(t, 97*ms, d.State().Sojourn, 1)
			}
			for f.Len() < 3 {
				f.Enqueue(now, 0, p)
			}
		}
		require.NotEmpty(t, drops)
		assert.Equal(t, at(4*period), drops[0], "the first departure after 100 ms")
	})

	t.Run("C6", func(t *testing.T) {
		// Count minus 2, the law of 2013, would resume at 3.
		d := newCoDel(t, DefaultConfig())
		d.count, d.lastCount, d.dropNext = 5, 4, at(-10*ms)
		assert.Equal(t, []aqm.Time{at(100 * ms)}, dropsEvery(d, ms, 20*ms, 0, at(101*ms)))
		assert.Equal(t, State{Dropping: true, Count: 1, LastCount: 1, DropNext: at(200 * ms), Sojourn: 20 * ms}, d.State())

		for last, want := range map[uint32]uint32{3: 2, 4: 1, 2: 3} { // a difference of 2 resumes at 2
			d = newCoDel(t, DefaultConfig())
			d.count, d.lastCount, d.dropNext = 5, last, at(-10*ms)
			dropsEvery(d, ms, 20*ms, 0, at(101*ms))
			assert.Equal(t, want, d.State().Count)
		}

		d = newCoDel(t, DefaultConfig())
		d.above, d.dropping, d.count, d.dropNext = true, true, math.MaxUint32-1, 0
		d.firstAbove = math.MinInt64
		for i := range 4 {
			require.Equal(t, drop, take(d, at(time.Second), time.Second, aqm.NotECT), i)
		}
		assert.Equal(t, uint32(math.MaxUint32), d.State().Count, "saturated")
		assert.Equal(t, 3*int64(100*ms/65536), int64(d.State().DropNext), "one signal every I/2^16")
	})

	t.Run("C7", func(t *testing.T) {
		c := DefaultConfig()
		for _, mtu := range []uint32{0, 1 << 31, 1<<20 + 1, math.MaxUint32} {
			c.MTU = mtu
			_, err := New(c)
			require.ErrorIs(t, err, aqm.ErrConfig)
			assert.ErrorContains(t, err, "MTU = ")
			assert.ErrorContains(t, err, "must be in [1, 1048576]")
		}
		for _, tc := range []struct {
			left int64
			want aqm.Verdict
		}{{144, drop}, {73, drop}, {72, pass}, {0, pass}} {
			c.MTU = 72
			d := newCoDel(t, c)
			q := aqm.Occupancy{Packets: 2, Bytes: tc.left}
			assert.Equal(t, pass, d.Dequeue(at(20*ms), aqm.Packet{Size: 72}, q))
			assert.Equal(t, tc.want, d.Dequeue(at(120*ms), aqm.Packet{Size: 72}, q), "%d bytes left", tc.left)
		}
	})

	t.Run("C8", func(t *testing.T) {
		want := dropsEvery(newCoDel(t, DefaultConfig()), ms, 20*ms, 0, at(3*time.Second))
		require.NotEmpty(t, want)
		for _, origin := range []aqm.Time{1<<31 - 5e8, 1<<32 - 5e8, 1<<40 - 5e8, 1 << 40, at(10 * time.Hour), -1e9, math.MinInt64 + 1e9} {
			got := dropsEvery(newCoDel(t, DefaultConfig()), ms, 20*ms, origin, origin.Add(3*time.Second))
			for i := range got {
				got[i] -= origin
			}
			assert.Equal(t, want, got, "origin %d", origin)
		}
		if testing.Short() {
			return
		}
		d := newCoDel(t, DefaultConfig()) // through 10 hours, a packet every 10 s
		drops := 0
		for now := aqm.Time(0); now < at(10*time.Hour); now = now.Add(10 * time.Second) {
			n, _ := dequeue(d, now, ms, aqm.NotECT)
			drops += n
		}
		assert.Zero(t, drops, "below Target throughout")
		assert.Equal(t, []aqm.Time{at(10*time.Hour + 100*ms), at(10*time.Hour + 200*ms)},
			dropsEvery(d, ms, 20*ms, at(10*time.Hour), at(10*time.Hour+250*ms)))
	})
}

// TestEntering sees the edges of entering and leaving, at equality.
func TestEntering(t *testing.T) {
	t.Run("now >= first_above", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		assert.Equal(t, pass, take(d, 0, 5*ms, aqm.NotECT), "Target itself is above")
		assert.Equal(t, pass, take(d, at(100*ms)-1, 5*ms, aqm.NotECT))
		assert.Equal(t, drop, take(d, at(100*ms), 5*ms, aqm.NotECT))
		assert.Equal(t, pass, take(d, at(100*ms), 5*ms, aqm.NotECT), "entering drops one, due or not")
	})
	t.Run("Target is above where it is CEThreshold, too", func(t *testing.T) {
		c := DefaultConfig()
		c.CEThreshold = c.Target
		d := newCoDel(t, c)
		assert.Equal(t, pass, take(d, 0, 5*ms, aqm.NotECT))
		assert.Equal(t, pass, take(d, at(100*ms)-1, 5*ms, aqm.NotECT))
		assert.Equal(t, drop, take(d, at(100*ms), 5*ms, aqm.NotECT))
	})
	t.Run("one packet below Target starts anew", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 5*ms, aqm.NotECT)
		take(d, at(50*ms), 5*ms-1, aqm.NotECT)
		take(d, at(51*ms), 5*ms, aqm.NotECT)
		assert.Equal(t, pass, take(d, at(150*ms), 5*ms, aqm.NotECT))
		assert.Equal(t, drop, take(d, at(151*ms), 5*ms, aqm.NotECT))
	})
	t.Run("the packet after entering is judged all the same", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 5*ms, aqm.NotECT)
		assert.Equal(t, drop, take(d, at(100*ms), 5*ms, aqm.NotECT))
		assert.Equal(t, pass, take(d, at(100*ms), ms, aqm.NotECT), "below Target")
		assert.True(t, d.State().Dropping, "as in the RFC: the next one leaves")
		assert.Equal(t, pass, take(d, at(300*ms), 5*ms, aqm.NotECT), "above again, but not for an Interval")
		assert.False(t, d.State().Dropping)
		assert.Equal(t, at(200*ms), d.State().DropNext)
	})
	t.Run("above again before drop_next leaves, too", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 5*ms, aqm.NotECT)
		assert.Equal(t, drop, take(d, at(100*ms), 5*ms, aqm.NotECT))
		assert.Equal(t, pass, take(d, at(100*ms), ms, aqm.NotECT), "below Target")
		assert.Equal(t, pass, take(d, at(150*ms), 5*ms, aqm.NotECT))
		assert.False(t, d.State().Dropping)
		assert.Equal(t, pass, take(d, at(249*ms), 5*ms, aqm.NotECT))
		assert.Equal(t, drop, take(d, at(250*ms), 5*ms, aqm.NotECT), "an Interval later")
	})
	t.Run("drop_next stays where a drop ends the dropping state", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 20*ms, aqm.NotECT)
		dequeue(d, at(100*ms), 20*ms, aqm.NotECT)
		assert.Equal(t, drop, take(d, at(200*ms), 20*ms, aqm.NotECT))
		assert.Equal(t, pass, take(d, at(200*ms), ms, aqm.NotECT))
		assert.Equal(t, State{Count: 2, LastCount: 1, DropNext: at(200 * ms), Sojourn: ms}, d.State())
	})
	t.Run("a late dequeue drops what is due", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 20*ms, aqm.NotECT)
		dequeue(d, at(100*ms), 20*ms, aqm.NotECT) // due at 200, 270.7, 328.4, 378.4
		drops, _ := dequeue(d, at(330*ms), 20*ms, aqm.NotECT)
		assert.Equal(t, 3, drops)
		assert.Equal(t, uint32(4), d.State().Count)
	})
	t.Run("resumes within 16 Intervals of drop_next", func(t *testing.T) {
		for _, tc := range []struct {
			reenter time.Duration // after drop_next
			count   uint32
		}{{1600*ms - 1, 4}, {1600 * ms, 1}} {
			d := newCoDel(t, DefaultConfig())
			d.count, d.lastCount, d.dropNext = 5, 1, at(time.Second)
			take(d, at(time.Second+tc.reenter-100*ms), 20*ms, aqm.NotECT)
			require.Equal(t, drop, take(d, at(time.Second+tc.reenter), 20*ms, aqm.NotECT))
			assert.Equal(t, tc.count, d.State().Count)
			assert.Equal(t, tc.count, d.State().LastCount)
			assert.Equal(t, at(time.Second+tc.reenter+100*ms/time.Duration(math.Sqrt(float64(tc.count)))), d.State().DropNext)
		}
	})
}

func TestECN(t *testing.T) {
	t.Run("a mark delivers, ends the dequeue and advances at once", func(t *testing.T) {
		for _, e := range []aqm.ECN{aqm.ECT0, aqm.ECT1, aqm.CE} {
			d := newCoDel(t, DefaultConfig())
			take(d, 0, 20*ms, e)
			assert.Equal(t, mark, take(d, at(100*ms), 20*ms, e), "entering")
			assert.Equal(t, State{Dropping: true, Count: 1, LastCount: 1, DropNext: at(200 * ms), Sojourn: 20 * ms}, d.State())
			assert.Equal(t, pass, take(d, at(100*ms), 20*ms, e), "a dequeue of its own")
			assert.Equal(t, mark, take(d, at(400*ms), 20*ms, e))
			assert.Equal(t, uint32(2), d.State().Count)
			assert.Equal(t, at(200*ms+70_710_678), d.State().DropNext)
			assert.Equal(t, mark, take(d, at(400*ms), 20*ms, e), "late: one in each dequeue")
		}
	})
	t.Run("drops go on to a packet that can be marked", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 20*ms, aqm.NotECT)
		dequeue(d, at(100*ms), 20*ms, aqm.NotECT)
		assert.Equal(t, drop, take(d, at(400*ms), 20*ms, aqm.NotECT))
		assert.Equal(t, mark, take(d, at(400*ms), 20*ms, aqm.ECT0))
		assert.Equal(t, uint32(3), d.State().Count)
	})
	t.Run("CEThreshold", func(t *testing.T) {
		c := DefaultConfig()
		c.CEThreshold = ms
		for _, tc := range []struct {
			sojourn time.Duration
			ecn     aqm.ECN
			want    aqm.Verdict
		}{
			{ms, aqm.ECT0, pass},
			{ms + 1, aqm.ECT0, mark},
			{ms + 1, aqm.ECT1, mark},
			{ms + 1, aqm.CE, mark},
			{ms + 1, aqm.NotECT, pass},
			{20 * ms, aqm.ECT0, mark},
		} {
			d := newCoDel(t, c)
			for i := range 3 {
				assert.Equal(t, tc.want, take(d, at(time.Duration(i)*ms), tc.sojourn, tc.ecn), "%v %v", tc.sojourn, tc.ecn)
			}
			assert.Equal(t, uint32(0), d.State().Count, "no signal of the law")
			empty := aqm.Packet{EnqueuedAt: at(-tc.sojourn), ECN: tc.ecn}
			assert.Equal(t, tc.want, newCoDel(t, c).Dequeue(0, empty, aqm.Occupancy{}), "with an empty queue too")
		}
		c.CEThreshold = 30 * ms // above Target
		d := newCoDel(t, c)
		assert.Equal(t, pass, take(d, 0, 30*ms, aqm.ECT0))
		assert.Equal(t, mark, take(d, at(ms), 30*ms+1, aqm.ECT0))
		assert.Equal(t, mark, take(d, at(100*ms), 40*ms, aqm.ECT0), "over both, and marked once")
		assert.Equal(t, uint32(1), d.State().Count)
		assert.Equal(t, pass, take(d, at(101*ms), 20*ms, aqm.ECT0))
		assert.Equal(t, mark, take(d, at(102*ms), 40*ms, aqm.ECT0), "while dropping, not due")
		assert.Equal(t, uint32(1), d.State().Count)
	})
}

func TestMaxDropsPerDequeue(t *testing.T) {
	c := DefaultConfig()
	c.MaxDropsPerDequeue = 2
	d := newCoDel(t, c)
	take(d, 0, 20*ms, aqm.NotECT)
	dequeue(d, at(100*ms), 20*ms, aqm.NotECT)
	for _, want := range []int{2, 2, 1, 0} { // five are due: 200, 270.7, 328.4, 378.4 and 423.1 ms
		drops, v := dequeue(d, at(430*ms), 20*ms, aqm.NotECT)
		assert.Equal(t, want, drops)
		assert.Equal(t, pass, v)
	}
	assert.True(t, d.State().Dropping)
	assert.Equal(t, uint32(6), d.State().Count)
}

// TestEmptied sees the effect of the RFC's dequeue routine on an empty queue, which
// no call tells of.
func TestEmptied(t *testing.T) {
	p := aqm.Packet{Size: 1500}
	t.Run("flushed while above Target", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 20*ms, aqm.NotECT)
		d.Enqueue(at(80*ms), p, aqm.Occupancy{}) // flushed before
		p := p
		p.EnqueuedAt = at(80 * ms)
		assert.Equal(t, pass, d.Dequeue(at(120*ms), p, stand), "above, but since now")
		assert.Equal(t, pass, take(d, at(219*ms), 20*ms, aqm.NotECT))
		assert.Equal(t, drop, take(d, at(220*ms), 20*ms, aqm.NotECT))
	})
	t.Run("not yet at the head", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 20*ms, aqm.NotECT)
		d.Enqueue(at(80*ms), p, aqm.Occupancy{})
		assert.Equal(t, drop, take(d, at(101*ms), 50*ms, aqm.NotECT), "a packet older than that arrival")
	})
	t.Run("emptied by a drop, other queues on the link", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 20*ms, aqm.NotECT)
		dequeue(d, at(100*ms), 20*ms, aqm.NotECT)
		assert.Equal(t, drop, take(d, at(200*ms), 20*ms, aqm.NotECT)) // and there was no next packet
		d.Enqueue(at(300*ms), p, aqm.Occupancy{Bytes: 100_000})
		p := p
		p.EnqueuedAt = at(300 * ms)
		assert.Equal(t, pass, d.Dequeue(at(320*ms), p, stand))
		assert.Equal(t, State{Count: 2, LastCount: 1, DropNext: at(200 * ms), Sojourn: 20 * ms}, d.State())
	})
	t.Run("emptied by the drop of entering", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 20*ms, aqm.NotECT)
		assert.Equal(t, drop, take(d, at(100*ms), 20*ms, aqm.NotECT))
		d.Enqueue(at(130*ms), p, aqm.Occupancy{})
		p := p
		p.EnqueuedAt = at(130 * ms)
		assert.Equal(t, pass, d.Dequeue(at(150*ms), p, stand))
		assert.Equal(t, State{Count: 1, LastCount: 1, DropNext: at(200 * ms), Sojourn: 20 * ms}, d.State())
		assert.Equal(t, pass, take(d, at(249*ms), 20*ms, aqm.NotECT))
		assert.Equal(t, drop, take(d, at(250*ms), 20*ms, aqm.NotECT))
	})
	t.Run("down to one packet, while above Target", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		p := aqm.Packet{Size: 1500}
		for _, tc := range []struct {
			now   aqm.Time
			bytes int64
			want  aqm.Verdict
		}{
			{0, 1515, pass},
			{at(50 * ms), 1515, pass},
			{at(60 * ms), 1514, pass}, // no more than MTU left: not above
			{at(70 * ms), 1515, pass},
			{at(100 * ms), 1515, pass},
			{at(169 * ms), 1515, pass},
			{at(170 * ms), 1514, pass},
			{at(180 * ms), 1515, pass},
			{at(280 * ms), 1515, drop},
		} {
			p.EnqueuedAt = tc.now.Add(-20 * ms)
			assert.Equal(t, tc.want, d.Dequeue(tc.now, p, aqm.Occupancy{Packets: 1, Bytes: tc.bytes}), "at %v", time.Duration(tc.now))
		}
	})
	t.Run("and reconfigured", func(t *testing.T) {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 20*ms, aqm.NotECT)
		d.Enqueue(at(50*ms), p, aqm.Occupancy{})
		require.NoError(t, d.Reconfigure(DefaultConfig()))
		p := p
		p.EnqueuedAt = at(50 * ms)
		d.Dequeue(at(70*ms), p, stand)
		assert.Equal(t, pass, take(d, at(169*ms), 20*ms, aqm.NotECT))
		assert.Equal(t, drop, take(d, at(170*ms), 20*ms, aqm.NotECT))
	})
}

// TestHostile survives what a caller must not do.
func TestHostile(t *testing.T) {
	d := newCoDel(t, DefaultConfig())
	assert.Equal(t, full, d.Enqueue(at(ms), aqm.Packet{ECN: aqm.ECT0}, aqm.Occupancy{Full: true}))
	assert.Equal(t, full, d.Enqueue(math.MinInt64, aqm.Packet{Size: math.MaxUint32}, aqm.Occupancy{Packets: -1, Bytes: math.MaxInt64, Full: true}))
	extremes := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, c := range []Config{
		DefaultConfig(),
		{Target: 1, Interval: 1, MTU: 1, CEThreshold: 1, MaxDropsPerDequeue: 1},
		{Target: maxInterval, Interval: maxInterval, MTU: maxMTU, CEThreshold: math.MaxInt64},
	} {
		for _, now := range extremes {
			d := newCoDel(t, c)
			for _, enqueued := range extremes {
				for _, bytes := range extremes {
					q := aqm.Occupancy{Packets: int(bytes), Bytes: bytes}
					assert.Equal(t, pass, d.Enqueue(aqm.Time(now), aqm.Packet{}, q))
					v := d.Dequeue(aqm.Time(now), aqm.Packet{EnqueuedAt: aqm.Time(enqueued), Size: math.MaxUint32}, q)
					assert.NotEqual(t, aqm.Mark, v.Action)
				}
			}
		}
	}
	d = newCoDel(t, DefaultConfig())
	d.Dequeue(math.MaxInt64, aqm.Packet{EnqueuedAt: math.MinInt64}, stand)
	assert.Equal(t, time.Duration(math.MaxInt64), d.State().Sojourn, "saturated")
	d = newCoDel(t, DefaultConfig())
	assert.Equal(t, pass, d.Dequeue(0, aqm.Packet{EnqueuedAt: math.MinInt64 + 1}, stand))
	assert.Equal(t, drop, d.Dequeue(at(100*ms), aqm.Packet{EnqueuedAt: math.MinInt64}, stand))
}

// TestSojourn has the longest sojourn times there are, and packets from the future,
// also where the difference of two instants is more than a Duration holds.
func TestSojourn(t *testing.T) {
	for _, tc := range []struct {
		now, enqueuedAt aqm.Time
		want            time.Duration
	}{
		{5, 3, 2},
		{5, 5, 0},
		{5, 7, -2},
		{math.MaxInt64, 0, math.MaxInt64},
		{math.MaxInt64, -1, math.MaxInt64},
		{math.MaxInt64, math.MinInt64, math.MaxInt64},
		{1 << 62, -1<<62 - 5, math.MaxInt64},
		{-1<<62 - 5, 1 << 62, math.MinInt64},
		{math.MinInt64, math.MaxInt64, math.MinInt64},
	} {
		d := newCoDel(t, DefaultConfig())
		d.Dequeue(tc.now, aqm.Packet{EnqueuedAt: tc.enqueuedAt, Size: 1500}, stand)
		assert.Equal(t, tc.want, d.State().Sojourn, "%+v", tc)
	}
}

// TestClock steps back at either end, and sees no time elapse.
func TestClock(t *testing.T) {
	d := newCoDel(t, DefaultConfig())
	d.Enqueue(at(50*ms), aqm.Packet{}, stand)
	p := aqm.Packet{EnqueuedAt: at(40 * ms), Size: 1500}
	d.Dequeue(at(10*ms), p, stand)
	assert.Equal(t, 10*ms, d.State().Sojourn, "at 50 ms, Enqueue's now")
	assert.Equal(t, pass, d.Dequeue(at(149*ms), p, stand))
	assert.Equal(t, drop, d.Dequeue(at(150*ms), p, stand), "an Interval after 50 ms")
	d.Dequeue(at(150*ms), p, stand)
	assert.Equal(t, pass, d.Dequeue(at(-time.Hour), p, stand))
	assert.Equal(t, drop, d.Dequeue(at(250*ms), p, stand))
}

func TestDesign(t *testing.T) {
	for _, tc := range []struct {
		name string
		rate uint64
		rtt  time.Duration
		mtu  uint32
		want Config
	}{
		{"the RFC's constants", 100e6, 100 * ms, 1514, DefaultConfig()},
		{"a data centre", 10e9, ms, 9000, Config{Target: 50 * time.Microsecond, Interval: ms, MTU: 9000}},
		{"1 Mb/s: a packet's time", 1e6, 100 * ms, 1514, Config{Target: 12_112 * time.Microsecond, Interval: 100 * ms, MTU: 1514}},
		{"rounded up", 3, 10 * time.Second, 1, Config{Target: 2_666_666_667, Interval: 10 * time.Second, MTU: 1}},
		{"an infinite rate", math.MaxUint64, 19, 1, Config{Target: 1, Interval: 19, MTU: 1}},
		{"the shortest rtt", 8e9, 1, 1, Config{Target: 1, Interval: 1, MTU: 1}},
		{"no rate to speak of", 1, maxInterval, 1, Config{Target: maxInterval / 20, Interval: maxInterval, MTU: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Design(tc.rate, tc.rtt, tc.mtu)
			require.NoError(t, err)
			assert.Equal(t, tc.want, c)
			assert.NoError(t, c.Validate())
		})
	}
	_, err := Design(0, 0, 0)
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{"rate = 0 bit/s", "rtt = 0s", "mtu = 0 bytes"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = Design(1e6, 10*ms, 1514)
	require.ErrorIs(t, err, aqm.ErrConfig)
	assert.ErrorContains(t, err, "Target = 12.112ms, must be <= Interval = rtt = 10ms")
	assert.ErrorContains(t, err, "raise rtt")
}

// TestValidate sees every mistake listed at once, with field, value, bound and unit.
func TestValidate(t *testing.T) {
	err := Config{Target: -1, Interval: -2, CEThreshold: -3, MaxDropsPerDequeue: -4}.Validate()
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{
		"Target = -1ns, must be > 0s",
		"Interval = -2ns, must be >= Target = -1ns",
		"Interval = -2ns, must be in (0s, ",
		"MTU = 0 bytes, must be in [1, 1048576]",
		"CEThreshold = -3ns, must be > 0s",
		"MaxDropsPerDequeue = -4 packets, must be > 0",
	} {
		assert.ErrorContains(t, err, part)
	}
	c := DefaultConfig()
	c.Interval = c.Target
	require.NoError(t, c.Validate())
	c.Interval--
	assert.ErrorContains(t, c.Validate(), "codel: Interval = 4.999999ms, must be >= Target = 5ms")
	c.Interval = math.MaxInt64
	assert.ErrorContains(t, c.Validate(), "must be in (0s, ")
	d, err := New(Config{})
	assert.Nil(t, d)
	assert.ErrorIs(t, err, aqm.ErrConfig)
}

func TestReconfigure(t *testing.T) {
	d := newCoDel(t, DefaultConfig())
	take(d, 0, 20*ms, aqm.NotECT)
	dequeue(d, at(100*ms), 20*ms, aqm.NotECT)
	before := d.State()
	require.Error(t, d.Reconfigure(Config{}))
	assert.Equal(t, before, d.State())
	require.NoError(t, d.Reconfigure(Config{Target: ms, Interval: 10 * ms, MTU: 1514}))
	assert.Equal(t, before, d.State(), "the state survives")
	assert.Equal(t, pass, take(d, at(199*ms), 2*ms, aqm.NotECT), "not due before, and above the new Target")
	assert.Equal(t, drop, take(d, at(200*ms), 2*ms, aqm.NotECT))
	assert.Equal(t, drop, take(d, at(210*ms), 2*ms, aqm.NotECT), "due 10/sqrt(2) ms after")
	require.NoError(t, d.Reconfigure(DefaultConfig()))
	assert.Equal(t, pass, take(d, at(210*ms), 2*ms, aqm.NotECT), "in the middle of a dequeue")
	assert.False(t, d.State().Dropping, "below the new Target")
}

// TestManyPackets counts signals up to 2^32-1, where the count saturates: the next
// one would be the 0th, and the law has a rate for none.
func TestManyPackets(t *testing.T) {
	for _, e := range []aqm.ECN{aqm.NotECT, aqm.ECT0} {
		d := newCoDel(t, DefaultConfig())
		take(d, 0, 20*ms, e)
		dequeue(d, at(100*ms), 20*ms, e)
		require.True(t, d.State().Dropping)
		d.count, d.lastCount = math.MaxUint32-2, 7
		const gap = 1525 // ns, 100 ms/sqrt(2^32)
		due := d.State().DropNext
		for i, want := range []uint32{math.MaxUint32 - 1, math.MaxUint32, math.MaxUint32, math.MaxUint32} {
			assert.Equal(t, pass, take(d, due-1, 20*ms, e), "signal %d is not due", i)
			v := take(d, due, 20*ms, e)
			assert.NotEqual(t, pass, v, "signal %d", i)
			assert.Equal(t, want, d.State().Count)
			if v.Action == aqm.Drop { // the routine goes on, and sets the instant of the next
				assert.Equal(t, pass, take(d, due, 20*ms, e), "once at an instant")
			}
			due += gap
			assert.Equal(t, due, d.State().DropNext, "signal %d", i)
		}

		// Left and entered again at once, it resumes at a count of that many.
		take(d, due, 0, e)
		require.False(t, d.State().Dropping)
		take(d, due, 20*ms, e)
		assert.NotEqual(t, pass, take(d, due+at(100*ms), 20*ms, e))
		want := uint32(math.MaxUint32 - 7)
		assert.Equal(t, State{Dropping: true, Count: want, LastCount: want, DropNext: due + at(100*ms) + gap, Sojourn: 20 * ms}, d.State())
	}
}

// TestAllocations runs through every regime.
func TestAllocations(t *testing.T) {
	c := DefaultConfig()
	c.CEThreshold = 50 * ms
	d := newCoDel(t, c)
	verdicts := map[aqm.Verdict]int{pass: 0, mark: 0, drop: 0}
	assert.Zero(t, testing.AllocsPerRun(1, func() {
		for i := range 20_000 {
			now := at(time.Duration(i) * ms)
			sojourn := time.Duration(i%4000/100) * 2 * ms
			d.Enqueue(now, aqm.Packet{Size: 1500}, aqm.Occupancy{Packets: i % 100, Bytes: 150_000})
			verdicts[take(d, now, sojourn, aqm.ECN(i%7&3))]++
		}
	}))
	for v, n := range verdicts {
		assert.Positive(t, n, v)
	}
}
