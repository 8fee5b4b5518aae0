package observe

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/aqmtest"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/pie"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// around returns an Observer that must be right.
func around(t testing.TB, a aqm.AQM, change func(*Config)) *Observer {
	t.Helper()
	c := DefaultConfig("test")
	if change != nil {
		change(&c)
	}
	o, err := New(a, c)
	require.NoError(t, err)
	return o
}

// snapshot returns one that is to be had without waiting.
func snapshot(t testing.TB, o *Observer) *Snapshot {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := o.Snapshot(ctx)
	require.NoError(t, err)
	return s
}

// TestLaws holds every algorithm to the contract through an Observer.
func TestLaws(t *testing.T) {
	for _, e := range catalog.All() {
		t.Run(e.Name, func(t *testing.T) {
			aqmtest.TestAQM(t, func(src rand.Source) aqm.AQM {
				a, err := e.Default(src)
				require.NoError(t, err)
				return around(t, a, func(c *Config) { c.Digits, c.Every = 1, time.Millisecond })
			}, aqmtest.Packets(1000))
		})
	}
}

// traffic asks both of two algorithms about the same packets, in a queue of the
// Observer's verdicts, and calls each with both verdicts.
func traffic(o, bare aqm.AQM, packets int, each func(observed, bare aqm.Verdict)) {
	r := rand.New(rand.NewPCG(1, 2))
	var queue []aqm.Packet
	now, bytes := aqm.Time(0), int64(0)
	classes := []aqm.Class{aqm.Data, aqm.PureACK, aqm.SYN, aqm.SYNACK, aqm.FIN | aqm.Data, aqm.FIN, aqm.RST, aqm.Other, 0, aqm.ECE | aqm.PureACK}
	for range packets {
		now += aqm.Time(r.IntN(200_000))
		if r.IntN(100) < 53 {
			p := aqm.Packet{Size: 40 + r.Uint32N(1461), ECN: aqm.ECN(r.IntN(4)), Class: classes[r.IntN(len(classes))]}
			q := aqm.Occupancy{Packets: len(queue), Bytes: bytes, Full: len(queue) >= 300}
			v := o.Enqueue(now, p, q)
			each(v, bare.Enqueue(now, p, q))
			if v.Action != aqm.Drop {
				p.EnqueuedAt = now
				if v.Action == aqm.Mark {
					p.ECN = aqm.CE
				}
				queue, bytes = append(queue, p), bytes+int64(p.Size)
			}
		} else if len(queue) > 0 {
			p := queue[0]
			queue, bytes = queue[1:], bytes-int64(p.Size)
			q := aqm.Occupancy{Packets: len(queue), Bytes: bytes}
			each(o.Dequeue(now, p, q), bare.Dequeue(now, p, q))
		}
	}
}

// TestTransparent sees that all verdicts are those of the algorithm by itself, and
// that an event that the Tap saw is counted once and where it belongs.
func TestTransparent(t *testing.T) {
	for _, e := range catalog.All() {
		t.Run(e.Name, func(t *testing.T) {
			make := func() aqm.AQM {
				a, err := e.New(50e6, 20*time.Millisecond, 4, rand.NewPCG(3, 4))
				require.NoError(t, err)
				return a
			}
			var want Counts
			var ecn [4]aqm.Count
			var marked aqm.Count
			waited := 0.
			var events, delivered uint64
			o := around(t, make(), func(c *Config) {
				c.Tap = func(e Event) {
					events++
					add(&want[e.End][GroupOf(e.Packet.Class)][e.Verdict.Action][e.Verdict.Reason], aqm.Count{Packets: 1, Bytes: uint64(e.Packet.Size)})
					if e.End == Enqueue {
						add(&ecn[e.Packet.ECN], aqm.Count{Packets: 1, Bytes: uint64(e.Packet.Size)})
					}
					if e.Verdict.Action == aqm.Mark && e.Packet.ECN != aqm.CE {
						add(&marked, aqm.Count{Packets: 1, Bytes: uint64(e.Packet.Size)})
					}
					if e.End == Dequeue && e.Verdict.Action != aqm.Drop {
						delivered++
						waited += e.Sojourn().Seconds()
					}
				}
			})
			judged := uint64(0)
			traffic(o, make(), 20_000, func(observed, bare aqm.Verdict) {
				judged++
				require.Equal(t, bare, observed)
			})
			o.Idle(0, aqm.Occupancy{})
			s := snapshot(t, o)
			assert.Equal(t, judged, events)
			assert.Equal(t, want, s.Counts)
			assert.Equal(t, ecn, s.ECN)
			assert.Equal(t, marked, s.Marked)
			assert.Equal(t, delivered, uint64(s.Sojourn.TotalCount()))
			assert.Equal(t, delivered, s.Delivered().Packets)
			assert.InEpsilon(t, waited, s.Waited, 1e-9)
			assert.InEpsilon(t, waited/float64(delivered), s.Sojourn.Mean()/1e9, .02)
			if e.Name != "droptail" && e.Name != "rem" {
				assert.Positive(t, s.Marked.Packets)
			}
		})
	}
}

// TestAgainstFIFO compares with the counters of a queue.
func TestAgainstFIFO(t *testing.T) {
	a, err := codel.New(codel.DefaultConfig())
	require.NoError(t, err)
	o := around(t, a, nil)
	queue, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 50}, o)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	now := aqm.Time(0)
	for i := range 50_000 {
		now += aqm.Time(r.IntN(1_000_000))
		if r.IntN(100) < 52 {
			queue.Enqueue(now, i, aqm.Packet{Size: 1500, ECN: aqm.ECN(r.IntN(4)), Class: aqm.Data})
		} else {
			queue.Dequeue(now)
		}
	}
	o.Idle(now, aqm.Occupancy{Packets: queue.Len(), Bytes: queue.Bytes()})
	s, q := snapshot(t, o), queue.Stats()
	assert.Equal(t, q.Arrived, s.Arrived())
	assert.Equal(t, q.Delivered, s.Delivered())
	assert.Equal(t, q.Marked, s.Marked)
	assert.Equal(t, q.Refused.Packets+q.Dropped.Packets, s.Dropped().Packets)
	assert.Positive(t, q.Dropped.Packets)
	assert.Positive(t, q.Refused.Packets)
	assert.EqualValues(t, queue.Len(), s.Packets)
	assert.Equal(t, queue.Bytes(), s.Bytes)
}

// TestNoAllocation has every path but that of a waiting reader.
func TestNoAllocation(t *testing.T) {
	for _, e := range catalog.All() {
		t.Run(e.Name, func(t *testing.T) {
			a, err := e.New(50e6, 20*time.Millisecond, 4, rand.NewPCG(3, 4))
			require.NoError(t, err)
			var last Event
			o := around(t, a, func(c *Config) {
				c.Every, c.Tap, c.Samples = time.Millisecond, func(e Event) { last = e }, func(Sample) {}
			})
			queue, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 100}, o)
			require.NoError(t, err)
			now, n := aqm.Time(0), 0
			assert.Zero(t, testing.AllocsPerRun(20, func() {
				for range 1000 { // filled, full, emptied, idle
					now += 300_000
					n++
					switch {
					case n%400 < 200:
						queue.Enqueue(now, n, aqm.Packet{Size: 1500, ECN: aqm.ECN(n % 4), Class: aqm.Data})
					default:
						queue.Dequeue(now)
					}
				}
			}))
			assert.NotZero(t, last)
		})
	}
}

func TestReadersFindIdleQueue(t *testing.T) {
	o := around(t, aqm.TailDrop{}, nil)
	assert.Zero(t, snapshot(t, o).Arrived().Packets)
	p := aqm.Packet{Size: 100, Class: aqm.Data}
	for n := uint64(1); n <= 5; n++ {
		o.Enqueue(aqm.Time(n), p, aqm.Occupancy{})
		o.Dequeue(aqm.Time(n), p, aqm.Occupancy{})
		for range n % 3 { // no reader, one, and several before the next event
			s := snapshot(t, o)
			assert.Equal(t, n, s.Arrived().Packets)
			assert.Equal(t, n, s.Delivered().Packets)
			assert.EqualValues(t, n, s.Sojourn.TotalCount())
			assert.Equal(t, aqm.Time(n), s.At)
		}
	}
	o.Enqueue(6, p, aqm.Occupancy{Full: true}) // what is refused by an empty queue is seen too
	assert.EqualValues(t, 1, snapshot(t, o).Dropped().Packets)
}

func TestReaderWaits(t *testing.T) {
	o := around(t, aqm.TailDrop{}, nil)
	p := aqm.Packet{Size: 100, Class: aqm.Data}
	o.Enqueue(1, p, aqm.Occupancy{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	s, err := o.Snapshot(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Zero(t, s.Arrived().Packets, "the snapshot before")

	o.Enqueue(2, p, aqm.Occupancy{Packets: 1, Bytes: 100})
	got := make(chan *Snapshot)
	go func() {
		s, err := o.Snapshot(context.Background())
		assert.NoError(t, err)
		got <- s
	}()
	for n := 2; ; n++ {
		o.Enqueue(aqm.Time(n+1), p, aqm.Occupancy{Packets: n, Bytes: 100 * int64(n)})
		select {
		case s := <-got:
			assert.LessOrEqual(t, s.Arrived().Packets, uint64(n))
			assert.GreaterOrEqual(t, s.Arrived().Packets, uint64(2))
			assert.EqualValues(t, s.Arrived().Packets, s.Packets)
			assert.EqualValues(t, 100*s.Packets, s.Bytes)
			return
		default:
		}
	}
}

// late is a context that ends while the owner is at work.
type late struct {
	context.Context
	work func()
}

func (c late) Done() <-chan struct{} {
	c.work()
	done := make(chan struct{})
	close(done)
	return done
}

func (late) Err() error { return context.Canceled }

// TestReaderGivesUpTooLate has readers that give up when the owner has handed its ledger
// over already, and has put down the reader's own as its loan.
func TestReaderGivesUpTooLate(t *testing.T) {
	o := around(t, aqm.TailDrop{}, nil)
	p := aqm.Packet{Size: 100}
	for n := range uint64(100) {
		o.Enqueue(0, p, aqm.Occupancy{}) // holds a packet: a reader waits
		s, err := o.Snapshot(late{t.Context(), func() { o.Dequeue(0, p, aqm.Occupancy{}) }})
		require.NoError(t, err)
		require.Equal(t, n+1, s.Arrived().Packets)
		require.Equal(t, n, s.Delivered().Packets)
		require.Equal(t, n+1, snapshot(t, o).Delivered().Packets)
	}
}

// TestReaders has readers that wait, give up and find an idle queue, all at once with
// an owner. Every snapshot is consistent, and in the end nothing is missing. It is
// worth the most under the race detector.
func TestReaders(t *testing.T) {
	a, err := pie.New(pie.DefaultConfig())
	require.NoError(t, err)
	o := around(t, a, func(c *Config) { c.Every = time.Millisecond })
	stop := make(chan struct{})
	var readers sync.WaitGroup
	var seen, gaveUp atomic.Int64
	for n := range 4 {
		readers.Go(func() {
			last := uint64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n)*20*time.Microsecond)
				s, err := o.Snapshot(ctx)
				cancel()
				arrived := s.Arrived().Packets
				assert.GreaterOrEqual(t, arrived, last)
				last = arrived
				// What is in the queue is what came and has not left: between two events only.
				assert.EqualValues(t, arrived-s.Dropped().Packets-s.Delivered().Packets, s.Packets)
				assert.EqualValues(t, s.Delivered().Packets, s.Sojourn.TotalCount())
				assert.Equal(t, arrived, s.ECN[0].Packets+s.ECN[1].Packets+s.ECN[2].Packets+s.ECN[3].Packets)
				seen.Add(1)
				if err != nil {
					gaveUp.Add(1)
					assert.True(t, errors.Is(err, context.DeadlineExceeded))
				}
			}
		})
	}
	queue, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 30}, o)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	// On a busy machine until the readers have had their turn.
	start := time.Now()
	for n := 0; time.Since(start) < 300*time.Millisecond || seen.Load() <= 10 && time.Since(start) < time.Minute; n++ {
		now := aqm.Time(time.Since(start))
		if n%5000 == 0 { // empty, then full, then idle for a while
			for queue.Len() > 0 {
				queue.Dequeue(now)
			}
			time.Sleep(50 * time.Microsecond)
		}
		if r.IntN(100) < 50 {
			queue.Enqueue(now, n, aqm.Packet{Size: 1500, ECN: aqm.ECN(r.IntN(4)), Class: aqm.Data})
		} else {
			queue.Dequeue(now)
		}
	}
	close(stop)
	readers.Wait()
	o.Idle(0, aqm.Occupancy{Packets: queue.Len(), Bytes: queue.Bytes()})
	s, q := snapshot(t, o), queue.Stats()
	assert.Equal(t, q.Arrived, s.Arrived())
	assert.Equal(t, q.Delivered, s.Delivered())
	t.Logf("%d packets, %d snapshots, of which %d gave up", q.Arrived.Packets, seen.Load(), gaveUp.Load())
	assert.Greater(t, seen.Load(), int64(10))
}

func TestAs(t *testing.T) {
	c, err := codel.New(codel.DefaultConfig())
	require.NoError(t, err)
	policy, err := ecnpolicy.New(c, ecnpolicy.Config{Protect: ecnpolicy.ACKSYN})
	require.NoError(t, err)
	o := around(t, around(t, policy, nil), nil)
	inner, ok := As[*codel.CoDel](o)
	assert.True(t, ok)
	assert.Same(t, c, inner)
	r, ok := As[interface{ Reconfigure(ecnpolicy.Config) error }](o)
	assert.True(t, ok)
	assert.NoError(t, r.Reconfigure(ecnpolicy.Config{}))
	_, ok = As[interface{ Probability() float64 }](o)
	assert.False(t, ok, "CoDel has none")

	p, err := pie.New(pie.DefaultConfig())
	require.NoError(t, err)
	probability, ok := As[interface{ Probability() float64 }](around(t, p, nil))
	assert.True(t, ok)
	assert.Same(t, p, probability)

	var self selfish
	_, ok = As[*codel.CoDel](&self)
	assert.False(t, ok)
}

// selfish is around itself.
type selfish struct{ aqm.TailDrop }

func (s *selfish) Unwrap() aqm.AQM { return s }

func TestSamples(t *testing.T) {
	a, err := codel.New(codel.DefaultConfig())
	require.NoError(t, err)
	policy, err := ecnpolicy.New(a, ecnpolicy.Config{Protect: ecnpolicy.ACKSYN})
	require.NoError(t, err)
	var at []aqm.Time
	var last Sample
	o := around(t, policy, func(c *Config) {
		c.Every = 10 * time.Millisecond
		c.Samples = func(s Sample) {
			at = append(at, s.At)
			last = s
			last.Values = append([]float64(nil), s.Values...)
		}
	})
	p := aqm.Packet{Size: 1500, Class: aqm.Data, ECN: aqm.ECT0}
	for n := range 300 { // of a queue that holds packets for 20 ms
		o.Dequeue(aqm.Time(n)*1e6, aqm.Packet{Size: 1500, ECN: p.ECN, EnqueuedAt: aqm.Time(n-20) * 1e6}, aqm.Occupancy{Packets: 20, Bytes: 30_000})
	}
	require.Len(t, at, 30)
	for n, at := range at {
		assert.Equal(t, aqm.Time(n)*10e6, at)
	}
	assert.EqualValues(t, 20, last.Packets)
	assert.EqualValues(t, 30_000, last.Bytes)
	assert.True(t, math.IsNaN(last.Probability))
	value := func(s Sample, layer, name string) float64 {
		for i, f := range s.Fields {
			if f == (Field{layer, name}) {
				return s.Values[i]
			}
		}
		t.Errorf("there is no %s.%s among %v", layer, name, s.Fields)
		return math.NaN()
	}
	assert.Equal(t, 1., value(last, "CoDel", "Dropping"))
	assert.InDelta(t, .020, value(last, "CoDel", "Sojourn"), 1e-9)
	assert.Positive(t, value(last, "CoDel", "Count"))
	assert.Zero(t, value(last, "Policy", "Pending"))

	o.Idle(0, aqm.Occupancy{Packets: 1})
	s := snapshot(t, o)
	assert.Equal(t, 1., value(s.Sample, "CoDel", "Dropping"), "the last that there was")
	assert.EqualValues(t, 1, s.Sample.Packets)
}

// stranger has a State that package observe does not know.
type stranger struct{ aqm.TailDrop }

func (*stranger) State() struct {
	Text string
	Seen uint8
	At   aqm.Time
	own  int
} {
	return struct {
		Text string
		Seen uint8
		At   aqm.Time
		own  int
	}{"x", 3, 2e9, 1}
}

func TestStranger(t *testing.T) {
	o := around(t, &stranger{}, nil)
	o.Dequeue(1, aqm.Packet{Size: 1}, aqm.Occupancy{})
	s := snapshot(t, o).Sample
	assert.Equal(t, []Field{{"stranger", "Seen"}, {"stranger", "At"}}, s.Fields)
	assert.Equal(t, []float64{3, 2}, s.Values)
}

func TestProbabilitySampled(t *testing.T) {
	o := around(t, steady(.25), nil)
	o.Dequeue(1, aqm.Packet{Size: 1}, aqm.Occupancy{})
	assert.Equal(t, .25, snapshot(t, o).Sample.Probability)
}

// steady has a probability.
type steady float64

func (steady) Enqueue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }
func (steady) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }
func (s steady) Probability() float64                                  { return float64(s) }

// outlaw gives a verdict that the contract does not know.
type outlaw aqm.Verdict

func (o outlaw) Enqueue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict(o) }
func (o outlaw) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict(o) }

func TestOutlaws(t *testing.T) {
	for _, v := range []aqm.Verdict{{Action: 7}, {Action: aqm.Drop, Reason: 9}, {Action: aqm.Mark, Reason: aqm.Early}, {Action: aqm.Pass, Reason: aqm.Early}} {
		o := around(t, outlaw(v), nil)
		assert.Equal(t, v, o.Enqueue(math.MinInt64, aqm.Packet{Size: math.MaxUint32, ECN: aqm.NotECT}, aqm.Occupancy{Packets: math.MinInt, Bytes: math.MaxInt64}), "passed on as it is")
		assert.Equal(t, v, o.Dequeue(math.MaxInt64, aqm.Packet{EnqueuedAt: math.MinInt64, ECN: aqm.NotECT}, aqm.Occupancy{}))
		s := snapshot(t, o)
		assert.EqualValues(t, 1, s.Counts[Enqueue][Other][aqm.Pass][aqm.None].Packets, v)
		assert.EqualValues(t, 1, s.Delivered().Packets)
		assert.InEpsilon(t, 10e9, s.Sojourn.Max(), .01, "what is too long counts as the longest")
		assert.Zero(t, s.Marked)
	}
}

func TestGroups(t *testing.T) {
	for c, want := range map[aqm.Class]Group{
		aqm.Data: Data, aqm.PureACK: ACK, aqm.PureACK | aqm.ECE: ACK, aqm.SYN: SYN, aqm.SYN | aqm.Data: SYN, aqm.SYNACK | aqm.ECE: SYNACK,
		aqm.FIN: FIN, aqm.FIN | aqm.Data: Data, aqm.RST: RST, aqm.RST | aqm.Data: RST, aqm.Other: Other, 0: Other, aqm.ECE: Other,
	} {
		assert.Equal(t, want, GroupOf(c), c.String())
	}
	assert.Equal(t, "other", Group(200).String())
}

func TestConfig(t *testing.T) {
	var nothing *codel.CoDel
	_, err := New(nothing, Config{Name: "a\nb", Longest: time.Second * 1e6, Digits: 4, Every: -1})
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, want := range []string{
		"observe: inner = nil, must be an algorithm", `Name = "a\nb", must be printable`, "Longest = 277h46m40s, must be in [1ms, 24h]",
		"Digits = 4, must be in [1, 3]", "Every = -1ns, must be >= 0s",
	} {
		assert.ErrorContains(t, err, want)
	}
	require.NoError(t, DefaultConfig("x").Validate())
}
