package pi

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

	properties.Property("fixed point: a queue at QRef leaves any p as it is, and one beside it moves p to its side", prop.ForAll(
		func(prob float64, units int, off int, updates int64) bool {
			c := []Config{DefaultConfig(), DefaultConfig().InBytes(), DefaultConfig().InDelay(4_000_000)}[units]
			a := fresh(c, prob)
			see := func(now int64, q int) { // 1 ms a packet
				p := aqm.Packet{Size: 500, EnqueuedAt: aqm.Time(now - int64(q)*1e6)}
				a.Dequeue(aqm.Time(now), p, aqm.Occupancy{Packets: q - 1, Bytes: 500 * int64(q-1)})
			}
			const at = 50 // QRef
			see(0, at)
			see(int64(c.Interval), at) // from here on q_old is at QRef too
			start := a.prob
			now := (1 + updates) * int64(c.Interval)
			see(now, at)
			if a.updates != uint64(1+updates) || math.Abs(a.prob-start) > 1e-12 {
				return false
			}
			see(now+1, at+off)
			see(now+int64(c.Interval)+1, at+off)
			return (a.prob-start)*float64(off) > 0 || off == 0 || a.prob == 0 || a.prob == 1
		},
		gen.Float64Range(0, 1), gen.IntRange(0, 2), gen.IntRange(-49, 200), gen.Int64Range(0, 1_000_000)))

	// verdicts runs s under c, from the instant start.
	signals := 0
	verdicts := func(c Config, s script.Script, start aqm.Time) (all []aqm.Verdict) {
		m := script.Machine{Now: start, LimitPackets: 60, Judged: func(j script.Judgement) error {
			if v := j.Verdicts[0]; v.Reason == aqm.Early || v.Reason == aqm.Forced {
				signals++
			}
			all = append(all, j.Verdicts[0])
			return nil
		}}
		if err := m.Run(s, fresh(c, 0.1)); err != nil {
			panic(err)
		}
		return all
	}

	properties.Property("scale: all times, or all sizes, multiplied by a power of 2 change no verdict", scripttest.ForAll(
		func(s script.Script, n int) bool {
			k := float64(int64(1) << n)
			long, large := slices.Clone(s), slices.Clone(s)
			for i := range s {
				long[i].Wait <<= n
				large[i].Size <<= n
			}
			scaled := func(c Config, slower, larger, unit float64) Config {
				c.Interval = time.Duration(float64(c.Interval) * slower)
				c.MeanPacket = uint32(float64(c.MeanPacket) * larger)
				c.QRef, c.A, c.B = c.QRef*unit, c.A/unit, c.B/unit
				return c
			}
			packets := DefaultConfig()
			packets.QRef, packets.A, packets.B = 20, 0.01, 0.009
			bytes, delay := packets.InBytes(), packets.InDelay(8_000_000)
			squared := delay
			squared.Squared = true
			bytes.ScaleBySize = true
			for _, c := range []Config{packets, bytes} {
				if !slices.Equal(verdicts(c, s, 0), verdicts(scaled(c, k, 1, 1), long, 0)) {
					return false
				}
			}
			for _, c := range []Config{delay, squared} {
				if !slices.Equal(verdicts(c, s, 0), verdicts(scaled(c, k, 1, k), long, 0)) {
					return false
				}
			}
			return slices.Equal(verdicts(bytes, s, 0), verdicts(scaled(bytes, 1, k, k), large, 0))
		},
		scripttest.Random(2000, 270*time.Microsecond), gen.IntRange(1, 10)))

	properties.Property("origin: shifting the clock changes no verdict", scripttest.ForAll(
		func(s script.Script, shift int64) bool {
			for _, c := range []Config{DefaultConfig(), PI2()} {
				if !slices.Equal(verdicts(c, s, 0), verdicts(c, s, aqm.Time(shift))) {
					return false
				}
			}
			return true
		},
		scripttest.Random(2000, 270*time.Microsecond), gen.Int64Range(-1<<61, 1<<61)))

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
	if signals == 0 {
		t.Error("nothing was signalled")
	}
}
