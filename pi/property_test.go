package pi

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
)

const seed = 1

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)

	// at sees q packets in the queue until now.
	at := func(a *PI, now int64, q int) {
		a.Dequeue(aqm.Time(now), aqm.Packet{Size: 500}, aqm.Occupancy{Packets: q - 1, Bytes: 500 * int64(q-1)})
	}
	fresh := func(c Config, prob float64) *PI {
		c.Rand = rand.NewPCG(1, 2)
		a, err := New(c)
		if err != nil {
			panic(err)
		}
		a.setProb(prob)
		return a
	}

	properties.Property("gaps: events between two updates change nothing, and neither do many updates at one event", prop.ForAll(
		func(prob float64, q int, steps []int64) bool {
			often, once := fresh(DefaultConfig(), prob), fresh(DefaultConfig(), prob)
			at(often, 0, q)
			at(once, 0, q)
			now := int64(0)
			for _, step := range steps {
				now += step
				at(often, now, q)
			}
			at(once, now, q)
			return often.updates == once.updates && math.Abs(often.prob-once.prob) <= 1e-9
		},
		gen.Float64Range(0, 1), gen.IntRange(0, 300), gen.SliceOf(gen.Int64Range(0, int64(time.Second)))))

	properties.Property("monotone: a longer queue makes no smaller p", prop.ForAll(
		func(prob float64, q, more int, updates int64) bool {
			short, long := fresh(DefaultConfig(), prob), fresh(DefaultConfig(), prob)
			for _, a := range []*PI{short, long} {
				at(a, 0, q)
				at(a, int64(a.config.Interval), q)
			}
			end := (1 + updates) * int64(short.config.Interval)
			at(short, end, q)
			at(long, end, q+more)
			return long.prob >= short.prob
		},
		gen.Float64Range(0, 1), gen.IntRange(0, 300), gen.IntRange(0, 300), gen.Int64Range(0, 1000)))

	properties.Property("units: the same queue in packets, bytes and seconds makes the same p", prop.ForAll(
		func(prob float64, queue []int) bool {
			c := DefaultConfig()
			c.A, c.B = 100*c.A, 100*c.B
			packets, bytes, delay := fresh(c, prob), fresh(c.InBytes(), prob), fresh(c.InDelay(4_000_000), prob)
			see := func(now int64, q int) {
				for _, a := range []*PI{packets, bytes, delay} {
					p := aqm.Packet{Size: 500, EnqueuedAt: aqm.Time(now - int64(q)*1e6)} // 1 ms a packet
					a.Dequeue(aqm.Time(now), p, aqm.Occupancy{Packets: q - 1, Bytes: 500 * int64(q-1)})
				}
			}
			see(0, 2)
			for i, q := range queue {
				start := int64(i) * int64(c.Interval)
				see(start+1e6, q)               // the departure that the update finds
				see(start+int64(c.Interval), q) // the event at which it is due
			}
			return math.Abs(packets.prob-bytes.prob) <= 1e-9 && math.Abs(packets.prob-delay.prob) <= 1e-9
		},
		gen.Float64Range(0, 1), gen.SliceOf(gen.IntRange(2, 300))))

	properties.Property("origin: shifting the clock changes no verdict", prop.ForAll(
		func(random uint64, shift int64) bool {
			for _, c := range []Config{DefaultConfig(), PI2()} {
				run := func(start aqm.Time) (verdicts []aqm.Verdict) {
					m := script.Machine{Now: start, Judged: func(j script.Judgement) error {
						verdicts = append(verdicts, j.Verdicts[0])
						return nil
					}}
					if err := m.Run(script.Random(rand.New(rand.NewPCG(random, 0)), 2000, 270*time.Microsecond), fresh(c, 0.1)); err != nil {
						panic(err)
					}
					return verdicts
				}
				one, other := run(0), run(aqm.Time(shift))
				for i := range one {
					if one[i] != other[i] {
						return false
					}
				}
			}
			return true
		},
		gen.UInt64(), gen.Int64Range(-1<<61, 1<<61)))

	properties.Property("hostile: any time, size and occupancy leaves p in [0, 1] and the rules kept", prop.ForAll(
		func(random uint64) bool {
			r := rand.New(rand.NewPCG(random, 1))
			extreme := func() int64 {
				return []int64{0, 1, -1, 1 << 40, math.MaxInt64, math.MinInt64, int64(r.Uint64()), r.Int64N(1e10)}[r.IntN(8)]
			}
			c := []Config{DefaultConfig(), DefaultConfig().InBytes(), PI2()}[r.IntN(3)]
			c.ScaleBySize = r.IntN(2) == 0
			a := fresh(c, r.Float64())
			for range 200 {
				p := aqm.Packet{EnqueuedAt: aqm.Time(extreme()), Size: uint32(extreme()), ECN: aqm.ECN(r.IntN(4)), Class: aqm.Class(r.IntN(256))}
				q := aqm.Occupancy{Packets: int(extreme()), Bytes: extreme(), Full: r.IntN(4) == 0}
				v := a.Enqueue(aqm.Time(extreme()), p, q)
				if q.Full != (v == overflow) || v.Action == aqm.Mark && p.ECN == aqm.NotECT || (v.Action == aqm.Pass) != (v.Reason == aqm.None) {
					return false
				}
				q.Full = false
				if a.Dequeue(aqm.Time(extreme()), p, q) != pass {
					return false
				}
				if !(a.prob >= 0 && a.prob <= 1) {
					return false
				}
			}
			return true
		},
		gen.UInt64()))

	properties.TestingRun(t)
}
