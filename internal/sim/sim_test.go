package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// ticker fires at times of its own and writes down when.
type ticker struct {
	times []aqm.Time
	id    int
	log   *[]event
}

type event struct {
	at aqm.Time
	id int
}

func (k *ticker) Fire(now aqm.Time) aqm.Time {
	*k.log = append(*k.log, event{now, k.id})
	k.times = k.times[1:]
	if len(k.times) == 0 {
		return Never
	}
	return k.times[0]
}

// TestOrder has sources fire at random times, many of them equal: by time, and at one
// time in the order in which they were added. The number of sources goes past where
// the tree grows, during the run.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := New()
	var log, want []event
	add := func(id int) {
		var times []aqm.Time
		for range 1 + r.IntN(20) {
			times = append(times, s.Now()+aqm.Time(r.IntN(1000)))
		}
		slices.Sort(times)
		for _, at := range times {
			want = append(want, event{at, id})
		}
		s.Set(s.Add(&ticker{times, id, &log}), times[0])
	}
	for id := range 50 {
		add(id)
	}
	s.Run(300)
	for id := 50; id < 300; id++ {
		add(id)
	}
	s.Run(5000)
	slices.SortFunc(want, func(a, b event) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.id - b.id
	})
	require.Equal(t, want, log)
	assert.Equal(t, aqm.Time(5000), s.Now())
	assert.Equal(t, uint64(len(want)), s.Events())
}

func TestSet(t *testing.T) {
	s := New()
	var log []event
	k := &ticker{[]aqm.Time{1, 2, 3, 4, 5, 6}, 0, &log}
	id := s.Add(k)
	s.Set(id, 10)
	s.Set(id, 5) // earlier
	s.Run(5)
	assert.Equal(t, []event{{5, 0}, {5, 0}, {5, 0}, {5, 0}, {5, 0}}, log, "2, 3 and 4 have passed: they count as now")
	assert.Equal(t, aqm.Time(6), s.Next())
	s.Set(id, Never)
	assert.Equal(t, Never, s.Next())
	s.Run(100)
	assert.Len(t, log, 5)
}

func TestRemove(t *testing.T) {
	s := New()
	var log []event
	a := s.Add(&ticker{make([]aqm.Time, 5), 1, &log})
	s.Set(a, 10)
	s.Remove(a)
	s.Run(20)
	assert.Empty(t, log)
	assert.Equal(t, a, s.Add(&ticker{make([]aqm.Time, 5), 2, &log}))
}

func TestHorizon(t *testing.T) {
	s := New()
	var log []event
	id := s.Add(&ticker{[]aqm.Time{0, 0}, 1, &log})
	s.Set(id, s.Horizon()+1)
	s.Run(math.MaxInt64)
	assert.Empty(t, log)
	assert.Equal(t, s.Horizon(), s.Now())
	s.Run(5)
	assert.Equal(t, s.Horizon(), s.Now(), "time does not step back")
}

// TestAt has calls at random times: by time, then in the order of At.
func TestAt(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	s := New()
	var got, want []event
	for i := range 2000 {
		at := aqm.Time(r.IntN(500))
		want = append(want, event{at, i})
		s.At(at, func(now aqm.Time) { got = append(got, event{now, i}) })
	}
	slices.SortStableFunc(want, func(a, b event) int { return int(a.at - b.at) })
	s.At(100, func(aqm.Time) { s.At(50, func(now aqm.Time) { assert.Equal(t, aqm.Time(100), now) }) })
	s.Run(1000)
	require.Equal(t, want, got)
}

func TestEach(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 2, 7, 100} {
		out := make([]int, 50)
		Each(len(out), workers, func(i int) { out[i] += i * i })
		for i, x := range out {
			require.Equal(t, i*i, x)
		}
	}
	Each(0, 4, func(int) { t.Error("none to run") })
}

// steady fires for ever.
type steady struct{ gap aqm.Time }

func (k *steady) Fire(now aqm.Time) aqm.Time { return now + k.gap }

func TestAllocatesNothing(t *testing.T) {
	s := New()
	for i := range 100 {
		s.Set(s.Add(&steady{aqm.Time(i + 1)}), 0)
	}
	n := aqm.Time(0)
	assert.Zero(t, testing.AllocsPerRun(10, func() { n += 10_000; s.Run(n) }))
	assert.Greater(t, s.Events(), uint64(100_000))
}

func BenchmarkEvent(b *testing.B) {
	s := New()
	for i := range 300 {
		s.Set(s.Add(&steady{aqm.Time(1000 + i)}), 0)
	}
	b.ReportAllocs()
	for n := s.Events(); s.Events() < n+uint64(b.N); {
		s.Run(s.Now() + 1000)
	}
}
