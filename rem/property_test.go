package rem

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
)

const seed = 1

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)

	// at sees b packets in the queue until now.
	at := func(r *REM, now int64, b int) {
		r.Dequeue(aqm.Time(now), aqm.Packet{Size: 1000}, aqm.Occupancy{Packets: b - 1, Bytes: 1000 * int64(b-1)})
	}
	fresh := func(c Config, price float64) *REM {
		c.Rand = rand.NewPCG(1, 2)
		r, err := New(c)
		if err != nil {
			panic(err)
		}
		r.price = price
		return r
	}

	properties.Property("gaps: events between two updates change nothing, and neither do many updates at one event", prop.ForAll(
		func(price float64, b int, steps []int64) bool {
			often, once := fresh(DefaultConfig(), price), fresh(DefaultConfig(), price)
			at(often, 0, b)
			at(once, 0, b)
			now := int64(0)
			for _, step := range steps {
				now += step
				at(often, now, b)
			}
			at(once, now, b)
			return often.updates == once.updates && math.Abs(often.price-once.price) <= 1e-9*max(1, once.price) && math.Abs(often.prob-once.prob) <= 1e-9
		},
		gen.Float64Range(0, 1000), gen.IntRange(0, 100), gen.SliceOf(gen.Int64Range(0, int64(time.Second)))))

	properties.Property("monotone: a longer queue and more arrivals make no smaller price", prop.ForAll(
		func(price float64, b, more, x, others int, updates int64) bool {
			short, long := fresh(DefaultConfig(), price), fresh(DefaultConfig(), price)
			for i, r := range []*REM{short, long} {
				for range x + i*others {
					r.Enqueue(0, aqm.Packet{Size: 1000}, aqm.Occupancy{})
				}
			}
			end := (1 + updates) * int64(short.config.Interval)
			at(short, end, b)
			at(long, end, b+more)
			return long.price >= short.price && long.prob >= short.prob
		},
		gen.Float64Range(0, 1000), gen.IntRange(0, 100), gen.IntRange(0, 100), gen.IntRange(1, 20), gen.IntRange(0, 20), gen.Int64Range(0, 1000)))

	properties.Property("units: the same packets, counted or weighed, make the same price", prop.ForAll(
		func(price float64, backlog, arrivals []int) bool {
			packets, bytes := fresh(DefaultConfig(), price), fresh(DefaultConfig().InBytes(), price)
			for i, b := range backlog {
				now := int64(i) * int64(packets.config.Interval)
				for _, r := range []*REM{packets, bytes} {
					at(r, now, b)
					for range arrivals[i%len(arrivals)] {
						r.Enqueue(aqm.Time(now), aqm.Packet{Size: 1000}, aqm.Occupancy{Packets: b, Bytes: 1000 * int64(b)})
					}
				}
			}
			return math.Abs(packets.price-bytes.price) <= 1e-9
		},
		gen.Float64Range(0, 10), gen.SliceOf(gen.IntRange(0, 100)), gen.SliceOfN(7, gen.IntRange(0, 10))))

	properties.Property("fixed point: a queue at Target under arrivals at capacity leaves any price as it is", prop.ForAll(
		func(price float64, updates int) bool {
			c := DefaultConfig()
			c.Rate = 12_000_000 // 3 packets in an Interval
			r := fresh(c, price)
			at(r, 0, 20)
			for i := range updates {
				now := aqm.Time(i) * aqm.Time(c.Interval)
				for range 3 {
					r.Enqueue(now, aqm.Packet{Size: 1000}, aqm.Occupancy{Packets: 20, Bytes: 20_000})
				}
				at(r, int64(now)+int64(c.Interval), 20)
			}
			return r.updates == uint64(updates) && math.Abs(r.price-price) <= 1e-9
		},
		gen.Float64Range(0, 1000), gen.IntRange(0, 200)))

	// verdicts runs s under c, from the instant start.
	signals := 0
	verdicts := func(c Config, s script.Script, start aqm.Time) (all []aqm.Verdict) {
		m := script.Machine{Now: start, LimitPackets: 60, Judged: func(j script.Judgement) error {
			if j.Verdicts[0].Reason == aqm.Early {
				signals++
			}
			all = append(all, j.Verdicts[0])
			return nil
		}}
		if err := m.Run(s, fresh(c, 100)); err != nil {
			panic(err)
		}
		return all
	}
	quick := DefaultConfig()
	quick.Gamma *= 10

	properties.Property("scale: all times, or all sizes, multiplied by a power of 2 change no verdict", scripttest.ForAll(
		func(s script.Script, n int) bool {
			long, large := slices.Clone(s), slices.Clone(s)
			for i := range s {
				long[i].Wait <<= n
				large[i].Size <<= n
			}
			bytes := quick.InBytes()
			bytes.ScaleBySize = true
			for _, c := range []Config{quick, bytes} {
				c.Rate = 1 << 20
				slower := c
				slower.Interval <<= n
				slower.Rate >>= n
				if !slices.Equal(verdicts(c, s, 0), verdicts(slower, long, 0)) {
					return false
				}
			}
			larger := bytes
			larger.Rate <<= n
			larger.MeanPacket <<= n
			larger.Target *= float64(int64(1) << n)
			larger.Gamma /= float64(int64(1) << n)
			return slices.Equal(verdicts(bytes, s, 0), verdicts(larger, large, 0))
		},
		scripttest.Random(2000, 800*time.Microsecond), gen.IntRange(1, 10)))

	properties.Property("origin: shifting the clock changes no verdict", scripttest.ForAll(
		func(s script.Script, shift int64) bool {
			return slices.Equal(verdicts(quick, s, 0), verdicts(quick, s, aqm.Time(shift)))
		},
		scripttest.Random(2000, 800*time.Microsecond), gen.Int64Range(-1<<61, 1<<61)))

	properties.Property("hostile: any time, size and occupancy leaves p in [0, 1] and the rules kept", prop.ForAll(
		func(random uint64) bool {
			r := rand.New(rand.NewPCG(random, 1))
			extreme := func() int64 {
				return []int64{0, 1, -1, 1 << 40, math.MaxInt64, math.MinInt64, int64(r.Uint64()), r.Int64N(1e10)}[r.IntN(8)]
			}
			c := []Config{DefaultConfig(), DefaultConfig().InBytes()}[r.IntN(2)]
			c.ScaleBySize = r.IntN(2) == 0
			a := fresh(c, 1000*r.Float64())
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
				if !(a.prob >= 0 && a.prob <= 1 && a.price >= 0 && a.price <= math.MaxFloat64) {
					return false
				}
			}
			return true
		},
		gen.UInt64()))

	properties.TestingRun(t)
	if signals == 0 {
		t.Error("nothing was signalled")
	}
}
