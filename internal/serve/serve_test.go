package serve

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

type departure struct {
	item       int
	start, end aqm.Time
}

// link returns a Server and where its departures are collected.
func link(t *testing.T, rate uint64, limit int, a aqm.AQM) (*Server[int], *[]departure) {
	t.Helper()
	var out []departure
	s, err := New(aqm.FIFOConfig[int]{LimitPackets: limit}, rate, a, func(item int, _ aqm.Packet, start, end aqm.Time) {
		out = append(out, departure{item, start, end})
	})
	require.NoError(t, err)
	return s, &out
}

func packet(size uint32) aqm.Packet { return aqm.Packet{Size: size, ECN: aqm.ECT0, Class: aqm.Data} }

func TestInstants(t *testing.T) {
	s, out := link(t, 12e6, 10, aqm.TailDrop{}) // 1500 bytes take 1 ms
	ms := func(x float64) aqm.Time { return aqm.Time(x * 1e6) }
	s.Arrive(ms(10), 0, packet(1500)) // into an idle link: at once
	s.Arrive(ms(10), 1, packet(1500)) // behind it
	s.Arrive(ms(10.5), 2, packet(750))
	assert.Equal(t, 2, s.Queue().Len(), "the packet in transmission is not in the queue")
	s.Advance(ms(11.9))
	assert.Equal(t, 1, s.Queue().Len())
	s.Arrive(ms(20), 3, packet(1500)) // long after the link fell idle
	s.Arrive(ms(21), 4, packet(1500)) // at the instant at which it does
	assert.Equal(t, []departure{
		{0, ms(10), ms(11)},
		{1, ms(11), ms(12)},
		{2, ms(12), ms(12.5)},
		{3, ms(20), ms(21)},
		{4, ms(21), ms(22)},
	}, *out)
}

// TestSetRate changes the rate in the middle of a packet, which ends as it began.
func TestSetRate(t *testing.T) {
	s, out := link(t, 12e6, 10, aqm.TailDrop{}) // 1500 bytes take 1 ms
	for i := range 4 {
		s.Arrive(0, i, packet(1500))
	}
	require.NoError(t, s.SetRate(1_500_000, 24e6))
	s.Advance(10_000_000)
	assert.Equal(t, []departure{{0, 0, 1e6}, {1, 1e6, 2e6}, {2, 2e6, 2.5e6}, {3, 2.5e6, 3e6}}, *out)
	require.ErrorIs(t, s.SetRate(20_000_000, 0), aqm.ErrConfig)
	s.Arrive(20_000_000, 4, packet(1500))
	assert.Equal(t, departure{4, 20e6, 20.5e6}, (*out)[4])
}

// judge records what an AQM is told.
type judge struct {
	times    []aqm.Time
	sojourn  []time.Duration
	departed []aqm.Occupancy
	arrived  []aqm.Occupancy
}

func (j *judge) Enqueue(now aqm.Time, _ aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	j.times, j.arrived = append(j.times, now), append(j.arrived, q)
	return aqm.TailDrop{}.Enqueue(now, aqm.Packet{}, q)
}

func (j *judge) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	j.times, j.departed = append(j.times, now), append(j.departed, q)
	j.sojourn = append(j.sojourn, now.Sub(p.EnqueuedAt))
	return aqm.Verdict{}
}

// TestLateArrivals reads a burst late: the departures that were due before it take
// place first, at their own instants, and time never goes back for the algorithm.
func TestLateArrivals(t *testing.T) {
	j := &judge{}
	s, out := link(t, 12e6, 10, j)
	for i := range 3 {
		s.Arrive(0, i, packet(1500))
	}
	s.Arrive(7_300_000, 3, packet(1500))
	s.Arrive(7_200_000, 4, packet(1500)) // a step back of the caller's clock
	s.Advance(100_000_000)
	assert.True(t, slices.IsSorted(j.times), "%v", j.times)
	assert.Equal(t, []time.Duration{0, time.Millisecond, 2 * time.Millisecond, 0, time.Millisecond}, j.sojourn)
	assert.Equal(t, departure{4, 8_300_000, 9_300_000}, (*out)[4])
}

// TestCatchUp proves that it does not matter when departures are carried out.
func TestCatchUp(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	run := func(polls int) ([]departure, aqm.Stats) {
		r := rand.New(rand.NewPCG(seed, 0))
		poll := rand.New(rand.NewPCG(seed, uint64(polls)))
		s, out := link(t, 49_999_999, 20, aqm.TailDrop{})
		now := aqm.Time(0)
		for i := range 5000 {
			gap := aqm.Time(r.IntN(250_000))
			for range polls {
				s.Advance(now + aqm.Time(poll.Int64N(int64(gap)+1)))
			}
			now += gap
			s.Arrive(now, i, packet(uint32(40+r.IntN(1461))))
		}
		s.Advance(now.Add(time.Second))
		return *out, s.Queue().Stats()
	}
	want, stats := run(0)
	require.NotZero(t, stats.Refused.Packets, "the queue overflows now and then")
	for _, polls := range []int{1, 3} {
		got, gotStats := run(polls)
		assert.Equal(t, want, got)
		assert.Equal(t, stats, gotStats)
	}
}

// TestRate keeps a link busy whose packets do not take whole nanoseconds.
func TestRate(t *testing.T) {
	for _, rate := range []uint64{7, 999_999_937, 50e6, 123_456_789_012} {
		s, out := link(t, rate, 1001, aqm.TailDrop{})
		for i := range 1000 {
			s.Arrive(0, i, packet(1500))
		}
		s.Advance(math.MaxInt64)
		end := (*out)[999].end
		want := float64(1000) * 1500 * 8 / float64(rate) * 1e9
		assert.InDelta(t, want, float64(end), 1+want*1e-15, "rate %d", rate)
	}
}

// dropAll drops every packet at Dequeue.
type dropAll struct{ aqm.TailDrop }

func (dropAll) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict {
	return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
}

func TestDropsTakeNoTime(t *testing.T) {
	s, out := link(t, 12e6, 10, dropAll{})
	s.Arrive(5, 0, packet(1500))
	s.Arrive(5, 1, packet(1500))
	s.Advance(5)
	assert.Empty(t, *out)
	assert.Equal(t, uint64(2), s.Queue().Stats().Dropped.Packets)
}

// TestExtremes sees no panic and no endless loop at the ends of the ranges.
func TestExtremes(t *testing.T) {
	s, out := link(t, 1, 10, aqm.TailDrop{})
	s.Advance(math.MinInt64)
	s.Arrive(math.MinInt64, 0, packet(math.MaxUint32))
	s.Arrive(math.MaxInt64-1, 1, packet(math.MaxUint32))
	s.Arrive(math.MaxInt64, 2, packet(0))
	s.Advance(math.MaxInt64)
	require.Len(t, *out, 3)
	assert.Equal(t, aqm.Time(math.MaxInt64), (*out)[2].end)
}

func TestNew(t *testing.T) {
	_, err := New(aqm.FIFOConfig[int]{LimitPackets: 1}, 0, aqm.TailDrop{}, nil)
	require.ErrorIs(t, err, aqm.ErrConfig)
	assert.ErrorContains(t, err, "rate = 0 bit/s, must be > 0")
	_, err = New(aqm.FIFOConfig[int]{}, 1, aqm.TailDrop{}, nil)
	assert.ErrorIs(t, err, aqm.ErrConfig)
}
