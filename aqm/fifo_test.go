package aqm

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scripted is an AQM that answers from a function and records what it was asked.
type scripted struct {
	enqueue, dequeue func(Time, Packet, Occupancy) Verdict
}

func (s scripted) Enqueue(now Time, p Packet, q Occupancy) Verdict {
	if s.enqueue == nil {
		return Verdict{}
	}
	return s.enqueue(now, p, q)
}

func (s scripted) Dequeue(now Time, p Packet, q Occupancy) Verdict {
	if s.dequeue == nil {
		return Verdict{}
	}
	return s.dequeue(now, p, q)
}

func newFIFO[T any](t testing.TB, c FIFOConfig[T], a AQM) *FIFO[T] {
	t.Helper()
	f, err := NewFIFO(c, a)
	require.NoError(t, err)
	return f
}

func TestVectors(t *testing.T) {
	t.Run("Q1", testAccounting)
	t.Run("Q2", testEveryItemIsReleasedOnce)
	t.Run("Q4", testNoReferenceIsKept)
	t.Run("Q6", testStatsUnderTheCallersLock)
}

// testAccounting runs random traffic with drops at both ends against counts kept
// packet by packet.
func testAccounting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(_ Time, p Packet, q Occupancy) Verdict {
		switch x := r.IntN(10); {
		case q.Full:
			return Verdict{Drop, Overflow}
		case x == 0:
			return Verdict{Drop, Reason(1 + r.IntN(2))}
		case x < 3 && p.ECN.Capable():
			return Verdict{Mark, Early}
		}
		return Verdict{}
	}
	type item struct {
		size   uint32
		marked bool
	}
	var (
		want    Stats
		queued  []*item
		current *item
		f       *FIFO[*item]
	)
	add := func(c *Count, size uint32) { c.Packets++; c.Bytes += uint64(size) }
	f = newFIFO(t, FIFOConfig[*item]{LimitPackets: 20, LimitBytes: 15000, OnDrop: func(i *item, p Packet, v Verdict) {
		require.Same(t, queued[0], i)
		queued = queued[1:]
		add(&want.Dropped, p.Size)
		want.AtDequeue[v.Action][v.Reason]++
	}}, scripted{random, random})
	for range 100_000 {
		switch x := r.IntN(1000); {
		case x == 0:
			f.Flush(func(i *item, p Packet) {
				require.Same(t, queued[0], i)
				queued = queued[1:]
				add(&want.Flushed, p.Size)
			})
		case x < 550:
			current = &item{size: uint32(r.IntN(2000))}
			p := Packet{Size: current.size, ECN: ECN(r.IntN(4))}
			v := f.Enqueue(0, current, p)
			add(&want.Arrived, p.Size)
			want.AtEnqueue[v.Action][v.Reason]++
			switch v.Action {
			case Drop:
				add(&want.Refused, p.Size)
			case Mark:
				if p.ECN != CE {
					current.marked = true
					add(&want.Marked, p.Size)
				}
				fallthrough
			default:
				current.marked = current.marked || p.ECN == CE // already says CE: marking it again is no mark
				queued = append(queued, current)
			}
		default:
			i, p, ok := f.Dequeue(0)
			require.Equal(t, len(queued) > 0, ok)
			if !ok {
				break
			}
			require.Same(t, queued[0], i, "first in, first out")
			queued = queued[1:]
			require.Equal(t, i.size, p.Size)
			add(&want.Delivered, p.Size)
			if p.ECN == CE && !i.marked {
				add(&want.Marked, p.Size)
			}
			require.False(t, i.marked && p.ECN != CE, "marked at Enqueue and delivered without")
		}
		bytes := int64(0)
		for _, i := range queued {
			bytes += int64(i.size)
		}
		require.Equal(t, len(queued), f.Len())
		require.Equal(t, bytes, f.Bytes())
		got := f.Stats()
		for _, c := range []struct{ in, out uint64 }{
			{got.Arrived.Packets, got.Refused.Packets + got.Delivered.Packets + got.Dropped.Packets + got.Flushed.Packets + uint64(f.Len())},
			{got.Arrived.Bytes, got.Refused.Bytes + got.Delivered.Bytes + got.Dropped.Bytes + got.Flushed.Bytes + uint64(f.Bytes())},
		} {
			require.Equal(t, c.in, c.out, "the identity of Stats")
		}
		// The verdict on a delivered packet is not returned, so that its counts are not known here.
		want.AtDequeue[Pass], want.AtDequeue[Mark] = got.AtDequeue[Pass], got.AtDequeue[Mark]
		require.Equal(t, want.Delivered.Packets, sum(got.AtDequeue[Pass])+sum(got.AtDequeue[Mark]))
		require.Equal(t, want, got)
	}
	require.NotZero(t, want.Dropped.Packets*want.Refused.Packets*want.Flushed.Packets*want.Marked.Packets*want.AtEnqueue[Drop][Overflow])
}

// testEveryItemIsReleasedOnce drops one's own packet and another's: the first is
// the caller's by the verdict, the second goes to OnDrop.
func testEveryItemIsReleasedOnce(t *testing.T) {
	released := map[string]int{}
	a := scripted{
		enqueue: func(_ Time, p Packet, _ Occupancy) Verdict {
			return MarkOrDrop(p.ECN, map[uint32]Reason{1: Forced, 2: None, 3: None}[p.Size])
		},
		dequeue: func(_ Time, p Packet, _ Occupancy) Verdict {
			return MarkOrDrop(p.ECN, map[uint32]Reason{2: Forced}[p.Size])
		},
	}
	var dropped []Verdict
	f := newFIFO(t, FIFOConfig[string]{LimitPackets: 2, OnDrop: func(s string, p Packet, v Verdict) {
		released[s]++
		assert.Equal(t, uint32(2), p.Size)
		dropped = append(dropped, v)
	}}, a)
	for i, name := range []string{"", "refused", "dropped later", "delivered", "no room"} {
		if i == 0 {
			continue
		}
		if v := f.Enqueue(0, name, Packet{Size: uint32(i)}); v.Action == Drop {
			released[name]++
		}
	}
	s, _, ok := f.Dequeue(0)
	assert.True(t, ok)
	released[s]++
	_, _, ok = f.Dequeue(0)
	assert.False(t, ok)
	assert.Equal(t, map[string]int{"refused": 1, "dropped later": 1, "delivered": 1, "no room": 1}, released)
	assert.Equal(t, []Verdict{{Drop, Forced}}, dropped)
}

// testNoReferenceIsKept sees that the garbage collector gets every item that left
// the queue, by whatever way.
func testNoReferenceIsKept(t *testing.T) {
	var mu sync.Mutex
	collected := map[int]bool{}
	f := newFIFO(t, FIFOConfig[*[64]byte]{LimitPackets: 4}, scripted{
		enqueue: func(_ Time, p Packet, q Occupancy) Verdict {
			if p.Size == 1 || q.Full {
				return Verdict{Drop, Early}
			}
			return Verdict{}
		},
		dequeue: func(_ Time, p Packet, _ Occupancy) Verdict {
			if p.Size == 2 {
				return Verdict{Drop, Early}
			}
			return Verdict{}
		},
	})
	offer := func(id int, size uint32) {
		item := new([64]byte)
		runtime.AddCleanup(item, func(id int) { mu.Lock(); collected[id] = true; mu.Unlock() }, id)
		f.Enqueue(0, item, Packet{Size: size})
	}
	offer(2, 2) // dropped at Dequeue
	offer(3, 3) // delivered
	f.Dequeue(0)
	offer(4, 3) // flushed
	f.Flush(nil)
	for range 4 {
		offer(6, 3)
	}
	offer(5, 3) // finds no room
	f.Dequeue(0)
	offer(1, 1)                                                                // refused by the algorithm, where no other packet comes after it
	want := map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true} // of the sixth, one
	done := func() bool {
		runtime.GC()
		mu.Lock()
		defer mu.Unlock()
		return assert.ObjectsAreEqual(want, collected)
	}
	for range 100 {
		if done() {
			break
		}
	}
	assert.True(t, done(), "collected: %v", collected)
	assert.Equal(t, 3, f.Len())
	runtime.KeepAlive(f)
}

// testStatsUnderTheCallersLock reads Stats as documented, from another goroutine
// under the lock that guards the queue; the race detector watches.
func testStatsUnderTheCallersLock(t *testing.T) {
	var mu sync.Mutex
	f := newFIFO(t, FIFOConfig[int]{LimitPackets: 8}, TailDrop{})
	done := make(chan Stats)
	go func() {
		var s Stats
		for s.Arrived.Packets < 1000 {
			mu.Lock()
			s = f.Stats()
			mu.Unlock()
		}
		done <- s
	}()
	for i := range 1000 {
		mu.Lock()
		f.Enqueue(Time(i), i, Packet{Size: 1})
		f.Dequeue(Time(i))
		mu.Unlock()
	}
	assert.Equal(t, uint64(1000), (<-done).Arrived.Packets)
}

func TestFIFOLimits(t *testing.T) {
	f := newFIFO(t, FIFOConfig[int]{LimitPackets: 3, LimitBytes: 1000}, TailDrop{})
	overflow := Verdict{Drop, Overflow}
	assert.Equal(t, Verdict{}, f.Enqueue(0, 1, Packet{Size: 900}))
	assert.Equal(t, overflow, f.Enqueue(0, 2, Packet{Size: 101}))
	assert.Equal(t, Verdict{}, f.Enqueue(0, 3, Packet{Size: 100}), "exactly the limit fits")
	assert.Equal(t, Verdict{}, f.Enqueue(0, 4, Packet{}))
	assert.Equal(t, overflow, f.Enqueue(0, 5, Packet{}), "the limit in packets")
	assert.Equal(t, 3, f.Len())
}

// TestFIFOAgainstFaultyAQMs sees the queue hold its own invariants whatever the
// algorithm answers.
func TestFIFOAgainstFaultyAQMs(t *testing.T) {
	answer := Verdict{}
	say := func(Time, Packet, Occupancy) Verdict { return answer }
	f := newFIFO(t, FIFOConfig[int]{LimitPackets: 1}, scripted{say, say})
	require.Equal(t, Verdict{}, f.Enqueue(0, 1, Packet{Size: 1}))
	assert.Equal(t, Verdict{Drop, Overflow}, f.Enqueue(0, 2, Packet{Size: 1}), "a pass on a full queue")
	answer = Verdict{Mark, Early}
	assert.Equal(t, Verdict{Drop, Overflow}, f.Enqueue(0, 2, Packet{Size: 1, ECN: ECT0}), "a mark on a full queue")
	_, p, ok := f.Dequeue(0)
	assert.True(t, ok)
	assert.Equal(t, NotECT, p.ECN, "a mark on NotECT is a pass")
	for _, answer = range []Verdict{{NumActions, Early}, {255, 255}, {Drop, NumReasons}, {Pass, Early}} {
		assert.Equal(t, Verdict{}, f.Enqueue(0, 1, Packet{Size: 1}), "%v", answer)
		_, _, ok := f.Dequeue(0)
		assert.True(t, ok, "%v", answer)
	}
	assert.Zero(t, f.Stats().Marked.Packets)
}

func TestFIFOClock(t *testing.T) {
	var seen []Time
	look := func(now Time, _ Packet, _ Occupancy) Verdict { seen = append(seen, now); return Verdict{} }
	f := newFIFO(t, FIFOConfig[int]{LimitPackets: 4}, scripted{look, look})
	f.Enqueue(100, 1, Packet{})
	f.Enqueue(50, 2, Packet{})
	_, p, _ := f.Dequeue(60)
	assert.Equal(t, Time(100), p.EnqueuedAt)
	_, p, _ = f.Dequeue(200)
	assert.Equal(t, Time(100), p.EnqueuedAt, "a packet that arrives while the clock is set back")
	assert.Equal(t, []Time{100, 100, 100, 200}, seen)
	f = newFIFO(t, FIFOConfig[int]{LimitPackets: 4}, TailDrop{})
	f.Enqueue(math.MinInt64, 1, Packet{})
	_, p, _ = f.Dequeue(math.MaxInt64)
	assert.Equal(t, Time(math.MinInt64), p.EnqueuedAt)
}

// TestFIFOOccupancy sees the algorithm told what is in the queue, without the packet
// in question, and when that one arrived.
func TestFIFOOccupancy(t *testing.T) {
	type event struct {
		Occupancy
		at Time
	}
	var sizes []uint32 // in the queue, kept by itself
	var seen, want event
	see := func(_ Time, p Packet, q Occupancy) Verdict {
		seen = event{q, p.EnqueuedAt}
		return Verdict{}
	}
	inside := func(at Time) event {
		e := event{Occupancy{Packets: len(sizes)}, at}
		for _, size := range sizes {
			e.Bytes += int64(size)
		}
		return e
	}
	f := newFIFO(t, FIFOConfig[Time]{LimitPackets: 1000}, scripted{enqueue: see, dequeue: see})
	r := rand.New(rand.NewPCG(8, 8))
	for now := Time(1); now < 2000; now++ {
		if size := uint32(r.IntN(1500)); r.IntN(5) < 3 {
			want = inside(now)
			f.Enqueue(now, now, Packet{Size: size, EnqueuedAt: -5})
			sizes = append(sizes, size)
		} else if len(sizes) > 0 {
			sizes = sizes[1:]
			at, _, ok := f.Dequeue(now)
			require.True(t, ok)
			want = inside(at)
		}
		require.Equal(t, want, seen)
	}
	require.Greater(t, len(sizes), 100, "a standing queue")
}

// TestFIFOConfig sees every mistake listed at once.
func TestFIFOConfig(t *testing.T) {
	_, err := NewFIFO(FIFOConfig[int]{LimitPackets: -3, LimitBytes: -7}, nil)
	require.ErrorIs(t, err, ErrConfig)
	for _, part := range []string{"AQM = nil", "LimitPackets = -3 packets, must be in [1, 16777216]", "LimitBytes = -7 bytes, must be >= 0"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = NewFIFO(FIFOConfig[int]{LimitPackets: 1, LimitBytes: -1}, TailDrop{})
	require.ErrorIs(t, err, ErrConfig)
	_, err = NewFIFO(FIFOConfig[int]{LimitPackets: 1}, (*scripted)(nil))
	require.ErrorIs(t, err, ErrConfig, "a nil pointer, such as a failed New returns")
	for _, n := range []int{0, MaxLimitPackets + 1, math.MaxInt, math.MinInt} {
		_, err := NewFIFO(FIFOConfig[int]{LimitPackets: n}, TailDrop{})
		assert.ErrorIs(t, err, ErrConfig, n)
	}
}

// TestFIFOAllocates measures one run through filling, overflow, marks, drops at
// both ends and draining.
func TestFIFOAllocatesNothing(t *testing.T) {
	n := 0
	a := scripted{
		enqueue: func(_ Time, p Packet, q Occupancy) Verdict {
			n++
			if q.Full {
				return Verdict{Drop, Overflow}
			}
			return MarkOrDrop(p.ECN, Reason(n%7/5))
		},
		dequeue: func(_ Time, p Packet, _ Occupancy) Verdict { n++; return MarkOrDrop(p.ECN, Reason(n%11/9)) },
	}
	f := newFIFO(t, FIFOConfig[*int]{LimitPackets: 100, OnDrop: func(*int, Packet, Verdict) {}}, a)
	item := new(int)
	allocs := testing.AllocsPerRun(1, func() {
		for i := range 40_000 {
			f.Enqueue(Time(i), item, Packet{Size: 1500, ECN: ECN(i & 3)})
			if i%300 > 150 {
				f.Dequeue(Time(i))
				f.Dequeue(Time(i))
			}
		}
		f.Flush(nil)
	})
	assert.Zero(t, allocs)
	s := f.Stats()
	for _, c := range []uint64{s.Marked.Packets, s.Dropped.Packets, s.Flushed.Packets, s.AtEnqueue[Drop][Overflow], s.AtEnqueue[Drop][Early], s.AtDequeue[Mark][Early]} {
		assert.NotZero(t, c, "every regime was driven: %+v", s)
	}
}

// TestManyPackets runs a FIFO whose counters are about to pass 2^32, and one whose
// counters are about to wrap, beside a fresh one.
func TestManyPackets(t *testing.T) {
	for _, start := range []uint64{1<<32 - 700, math.MaxUint64 - 700} {
		coin := func() AQM {
			r := rand.New(rand.NewPCG(3, 3))
			toss := func(_ Time, p Packet, q Occupancy) Verdict {
				if q.Full {
					return Verdict{Drop, Overflow}
				}
				return MarkOrDrop(p.ECN, Reason(max(0, r.IntN(8)-5)))
			}
			return scripted{toss, toss}
		}
		c := FIFOConfig[int]{LimitPackets: 20, LimitBytes: 12_000}
		fresh, old := newFIFO(t, c, coin()), newFIFO(t, c, coin())
		old.tail, old.head, old.tailBytes, old.headBytes = start, start, start, start
		old.refused, old.dropped, old.flushed = Count{start, start}, Count{start, start}, Count{start, start}
		r := rand.New(rand.NewPCG(4, 4))
		for i := range 5000 {
			switch n := r.IntN(100); {
			case n == 0:
				fresh.Flush(nil)
				old.Flush(nil)
			case n < 60:
				p := Packet{Size: r.Uint32N(1500), ECN: ECN(r.IntN(4))}
				require.Equal(t, fresh.Enqueue(Time(i), i, p), old.Enqueue(Time(i), i, p))
			default:
				item, p, ok := fresh.Dequeue(Time(i))
				oldItem, oldP, oldOK := old.Dequeue(Time(i))
				require.Equal(t, []any{item, p, ok}, []any{oldItem, oldP, oldOK})
			}
			require.Equal(t, fresh.Len(), old.Len())
			require.Equal(t, fresh.Bytes(), old.Bytes())
			was, now := fresh.Stats(), old.Stats()
			require.Equal(t, was.Refused.Packets+start, now.Refused.Packets)
			require.Equal(t, was.Marked, now.Marked)
			require.Equal(t, was.AtEnqueue[Drop], now.AtEnqueue[Drop])
			out := now.Refused.Packets + now.Delivered.Packets + now.Dropped.Packets + now.Flushed.Packets
			require.Equal(t, now.Arrived.Packets, out+uint64(old.Len()))
		}
		assert.Less(t, old.tail-start, uint64(5000))
		assert.Greater(t, old.tail-start, uint64(1400), "the counters passed the end")
	}
}
