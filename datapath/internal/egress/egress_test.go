package egress

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/internal/check"
)

const ms = aqm.Time(time.Millisecond)

func packet(size uint32) aqm.Packet { return aqm.Packet{Size: size, ECN: aqm.ECT0, Class: aqm.Data} }

// queues returns n queues without an AQM, and what was dropped on the way out.
func queues(t *testing.T, rate uint64, limit int, algorithms ...aqm.AQM) (*Queues[int], *[]int) {
	t.Helper()
	var dropped []int
	s, err := New(Config{Rate: rate, LimitPackets: limit, AQMs: algorithms}, func(item int) { dropped = append(dropped, item) })
	require.NoError(t, err)
	return s, &dropped
}

// hashOf returns a hash that chooses queue i of n.
func hashOf(i, n int) uint32 { return uint32((uint64(i)<<32 + 1<<31) / uint64(n)) }

// TestRate looks at the link at the instants at which it says that it is free: 1500 bytes
// take 1 ms.
func TestRate(t *testing.T) {
	s, _ := queues(t, 12e6, 10, aqm.TailDrop{})
	_, _, wait, ok := s.Next(5)
	assert.False(t, ok)
	assert.Equal(t, Never, wait)
	for i := range 3 {
		s.Enqueue(10*ms, 0, i, packet(1500))
	}
	for i := range 3 {
		item, _, _, ok := s.Next(10*ms + aqm.Time(i)*ms)
		require.True(t, ok)
		assert.Equal(t, i, item)
		_, _, wait, ok = s.Next(10*ms + aqm.Time(i)*ms)
		assert.False(t, ok, "the link is busy")
		if i < 2 {
			assert.Equal(t, 11*ms+aqm.Time(i)*ms, wait)
		}
	}
	assert.Equal(t, Never, wait)

	s.Enqueue(12*ms+ms/2, 0, 3, packet(750)) // while the third is in transmission
	_, _, wait, ok = s.Next(12*ms + ms/2)
	assert.False(t, ok)
	assert.Equal(t, 13*ms, wait)
	_, _, _, ok = s.Next(13 * ms)
	assert.True(t, ok)
	s.Enqueue(100*ms, 0, 4, packet(1500)) // long after it fell idle
	_, _, _, ok = s.Next(100 * ms)
	assert.True(t, ok)
	s.Enqueue(100*ms, 0, 5, packet(1500))
	_, _, wait, _ = s.Next(100 * ms)
	assert.Equal(t, 101*ms, wait, "idle time is not saved up")
}

// TestLate wakes up late: what was due leaves at once, but for no longer than CatchUp.
func TestLate(t *testing.T) {
	for late, want := range map[aqm.Time]int{0: 1, 2 * ms: 3, aqm.Time(CatchUp): 11, 1000 * ms: 12} {
		s, _ := queues(t, 12e6, 100, aqm.TailDrop{})
		for i := range 50 {
			s.Enqueue(0, 0, i, packet(1500))
		}
		got := 0
		for ok := true; ok; {
			if _, _, _, ok = s.Next(late); ok {
				got++
			}
		}
		if late > aqm.Time(CatchUp) { // the packet that was due just before is sent now, and then those of CatchUp
			want = 11
		}
		assert.Equal(t, want, got, "%v late", time.Duration(late))
	}
}

// TestExactRate keeps a link busy whose packets do not take whole nanoseconds.
func TestExactRate(t *testing.T) {
	for _, rate := range []uint64{7, 999_999_937, 50e6, 123_456_789_012} {
		s, _ := queues(t, rate, 1001, aqm.TailDrop{})
		for i := range 1001 {
			s.Enqueue(0, 0, i, packet(1500))
		}
		now := aqm.Time(0)
		for s.Len() > 1 {
			if _, _, wait, ok := s.Next(now); !ok {
				now = wait
			}
		}
		_, _, wait, _ := s.Next(now)
		want := float64(1000) * 1500 * 8 / float64(rate) * 1e9
		assert.InDelta(t, want, float64(wait), 1+want*1e-15, "rate %d", rate)
	}
}

// TestTurns serves flows by bytes, whatever the sizes of their packets, and no flow waits
// for another's backlog.
func TestTurns(t *testing.T) {
	s, _ := queues(t, 0, 1000, aqm.TailDrop{}, aqm.TailDrop{}, aqm.TailDrop{})
	sizes := []uint32{1500, 100, 9000}
	for i := range 900 {
		for q, size := range sizes {
			s.Enqueue(0, hashOf(q, 3), q*1000+i, packet(size))
		}
	}
	var bytes [3]int
	var last [3]int
	for range 900 {
		item, p, _, ok := s.Next(0)
		require.True(t, ok)
		q := item / 1000
		bytes[q] += int(p.Size)
		assert.GreaterOrEqual(t, item%1000, last[q], "in order")
		last[q] = item % 1000
	}
	for q := range bytes {
		assert.InDelta(t, bytes[0], bytes[q], 9000+2*Quantum, "queue %d of %v", q, bytes)
	}
	s.Enqueue(0, hashOf(1, 3), 1999, packet(100))

	one, _ := queues(t, 0, 1000, aqm.TailDrop{}, aqm.TailDrop{})
	for i := range 500 {
		one.Enqueue(0, hashOf(0, 2), i, packet(1500))
	}
	one.Enqueue(0, hashOf(1, 2), 1000, packet(1500))
	for n := 0; ; n++ {
		require.Less(t, n, 4, "a new flow's turn comes soon")
		if item, _, _, _ := one.Next(0); item == 1000 {
			break
		}
	}
}

// dropSome drops every other packet on its way out.
type dropSome struct {
	aqm.TailDrop
	n int
}

func (d *dropSome) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict {
	if d.n++; d.n%2 == 0 {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	}
	return aqm.Verdict{}
}

// TestBalance adds up what goes in and comes out, through random events.
func TestBalance(t *testing.T) {
	const seed = 9
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c, err := codel.New(codel.DefaultConfig())
	require.NoError(t, err)
	s, dropped := queues(t, 10e6, 20, aqm.TailDrop{}, &dropSome{}, c, &dropSome{})
	now := aqm.Time(0)
	in, refused, out := 0, 0, 0
	for item := range 20000 {
		now += aqm.Time(r.Int64N(int64(ms) / 2))
		switch r.IntN(200) {
		case 0:
			s.SetRate(now, uint64(r.IntN(3))*50e6)
		case 1:
			now -= ms // a step back
		}
		in++
		if v := s.Enqueue(now, r.Uint32(), item, packet(uint32(r.IntN(1600)))); v.Action == aqm.Drop {
			refused++
		}
		for r.IntN(3) > 0 {
			if _, _, _, ok := s.Next(now); ok {
				out++
			}
		}
		require.Equal(t, in, refused+out+len(*dropped)+s.Len())
	}
	require.NotZero(t, refused)
	require.NotEmpty(t, *dropped)
	held := uint64(0)
	for i := range s.NumQueues() {
		held += s.Queued(i).Packets
	}
	assert.EqualValues(t, s.Len(), held)
	flushed := 0
	left := s.Len()
	s.Flush(func(int) { flushed++ })
	assert.Equal(t, left, flushed)
	assert.Zero(t, s.Len())
	_, _, wait, ok := s.Next(now)
	assert.False(t, ok)
	assert.Equal(t, Never, wait)
	s.Enqueue(now.Add(time.Hour), 0, 1, packet(1))
	_, _, _, ok = s.Next(now.Add(time.Hour))
	assert.True(t, ok, "it can be used after Flush")
}

// TestSetRate lets what is left of a packet leave at the new rate.
func TestSetRate(t *testing.T) {
	s, _ := queues(t, 12e6, 10, aqm.TailDrop{})
	s.Enqueue(0, 0, 0, packet(1500))
	s.Enqueue(0, 0, 1, packet(1500))
	s.Next(0)
	s.SetRate(ms/2, 6e6)
	_, _, wait, _ := s.Next(ms / 2)
	assert.Equal(t, ms/2+ms, wait, "half a packet at half the rate")
	s.SetRate(ms/2, 0)
	_, _, _, ok := s.Next(ms / 2)
	assert.True(t, ok, "at once")
	s.SetRate(2*ms, 12e6)
	s.Enqueue(2*ms, 0, 2, packet(1500))
	s.Enqueue(2*ms, 0, 3, packet(1500))
	_, _, _, ok = s.Next(2 * ms)
	assert.True(t, ok)
	_, _, wait, _ = s.Next(2 * ms)
	assert.Equal(t, 3*ms, wait)
}

// TestExtremes sees no panic and no endless loop at the ends of the ranges.
func TestExtremes(t *testing.T) {
	s, _ := queues(t, 1, 10, aqm.TailDrop{}, aqm.TailDrop{})
	s.Next(math.MinInt64)
	s.Enqueue(math.MinInt64, 0, 0, packet(math.MaxUint32))
	s.Enqueue(math.MaxInt64-1, math.MaxUint32, 1, packet(math.MaxUint32))
	s.Enqueue(math.MaxInt64, 0, 2, packet(0))
	s.SetRate(math.MaxInt64, math.MaxUint64)
	s.SetRate(math.MaxInt64, 1)
	for range 5 {
		s.Next(math.MaxInt64)
	}
	assert.Zero(t, s.Len())
}

func TestRequire(t *testing.T) {
	require1 := func(c Config) error {
		l := check.For("test")
		c.Require(l)
		return l.Err()
	}
	same, err := codel.New(codel.DefaultConfig())
	require.NoError(t, err)
	ok := Config{LimitPackets: 1, AQMs: []aqm.AQM{aqm.TailDrop{}, aqm.TailDrop{}, &aqm.TailDrop{}, same}}
	require.NoError(t, require1(ok))
	var failed *codel.CoDel // what codel.New returns with an error
	err = require1(Config{LimitPackets: -1, LimitBytes: -2, AQMs: []aqm.AQM{same, nil, same, failed}})
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, want := range []string{
		"test: LimitPackets = -1 packets, must be in [1, 16777216]",
		"test: LimitBytes = -2 bytes, must be >= 0",
		"test: AQMs[1] = nil, must be an algorithm",
		"test: AQMs[2] = AQMs[0], must be another instance",
		"test: AQMs[3] = nil, must be an algorithm",
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.ErrorContains(t, require1(Config{LimitPackets: 1}), "len(AQMs) = 0 queues, must be in [1, 65536]")
	_, err = New(Config{LimitPackets: 0, AQMs: []aqm.AQM{same}}, func(int) {})
	assert.ErrorContains(t, err, "AQMs[0]: aqm: LimitPackets = 0")
}
