package codel

import (
	"fmt"
	"math"
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

// signals dequeues at every multiple of period before until, and returns the
// instants of the signals.
func signals(c Config, period, sojourn, until time.Duration, e aqm.ECN) (when []aqm.Time) {
	d, err := New(c)
	if err != nil {
		return nil
	}
	const most = 100_000 // what a fault may come to
	for now := aqm.Time(0); now < at(until) && len(when) < most; now = now.Add(period) {
		drops, v := dequeue(d, now, sojourn, e)
		for range drops {
			when = append(when, now)
		}
		if v.Action == aqm.Mark {
			when = append(when, now)
		}
	}
	return when
}

// schedule returns the instants of the RFC's signals to a standing queue: signal n
// is due after I(1 + 1/sqrt(1) + ... + 1/sqrt(n-1)), counted from the first one, and
// comes at the next dequeue. Marks come one at a time, drops all at once; but the
// dequeue of the first drop has no other.
func schedule(c Config, period, until time.Duration, marks bool) (when []aqm.Time) {
	next := func(d time.Duration) time.Duration { return (d + period - 1) / period * period }
	now := next(c.Interval)
	due := now
	for n := 1; now < until; n++ {
		when = append(when, at(now))
		due += time.Duration(float64(c.Interval) / math.Sqrt(float64(n)))
		earliest := now
		if marks || n == 1 {
			earliest += period
		}
		now = max(next(due), earliest)
	}
	return when
}

// forward is an algorithm on a clock that never steps back.
type forward struct {
	*CoDel
	now aqm.Time
}

func (f *forward) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	f.now = max(f.now, now)
	return f.CoDel.Enqueue(f.now, p, q)
}

func (f *forward) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	f.now = max(f.now, now)
	return f.CoDel.Dequeue(f.now, p, q)
}

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)

	properties.Property("schedule: a standing queue is signalled when the RFC's law says", prop.ForAll(
		func(target, above, interval, period int64, marks bool) bool {
			c := Config{Target: time.Duration(target), Interval: time.Duration(target + interval), MTU: 1514}
			until := 100 * c.Interval
			step := max(time.Duration(period), until/5000)
			e := aqm.NotECT
			if marks {
				e = aqm.ECT0
			}
			want := schedule(c, step, until, marks)
			return len(want) > 10 && slices.Equal(signals(c, step, c.Target+time.Duration(above), until, e), want)
		},
		gen.Int64Range(1, 1e7), gen.Int64Range(0, 1e9), gen.Int64Range(1e3, 1e9), gen.Int64Range(1, 1e8), gen.Bool()))

	properties.Property("scale: multiplying all times alike changes no verdict", prop.ForAll(
		// The events keep to a grid so coarse beside the nanosecond to which drop_next
		// is rounded that the rounding moves no signal to another event.
		func(sojourns []int64, interval, factor int64) bool {
			const grid = int64(time.Second)
			run := func(factor int64) (verdicts []aqm.Verdict) {
				tick := time.Duration(grid * factor)
				d, err := New(Config{Target: 5 * tick, Interval: time.Duration(5+interval) * tick, CEThreshold: 30 * tick, MTU: 1514})
				if err != nil {
					return nil
				}
				for i, s := range sojourns {
					v := take(d, aqm.Time(time.Duration(i/2)*tick), time.Duration(s)*tick, aqm.ECN(s&3))
					verdicts = append(verdicts, v)
				}
				return verdicts
			}
			once := run(1)
			return len(once) == len(sojourns) && slices.Equal(once, run(factor))
		},
		gen.SliceOfN(600, gen.Int64Range(4, 40)), gen.Int64Range(0, 20), gen.Int64Range(2, 100_000)))

	properties.Property("floor: with no more than MTU bytes left nothing is signalled", prop.ForAll(
		func(mtu uint32, waits, sojourns []int64, left []int64) bool {
			d, err := New(Config{Target: 5 * ms, Interval: 100 * ms, MTU: mtu})
			if err != nil {
				return false
			}
			now := aqm.Time(0)
			for i := range waits {
				now = now.Add(time.Duration(waits[i]))
				q := aqm.Occupancy{Packets: 2, Bytes: left[i] % (int64(mtu) + 1)}
				p := aqm.Packet{EnqueuedAt: now.Add(-time.Duration(sojourns[i])), Size: 1500, ECN: aqm.ECN(i & 3)}
				if d.Dequeue(now, p, q) != pass {
					return false
				}
			}
			return true
		},
		gen.UInt32Range(1, maxMTU), gen.SliceOfN(50, gen.Int64Range(0, 1e9)), gen.SliceOfN(50, gen.Int64Range(0, 1e10)), gen.SliceOfN(50, gen.Int64Range(0, maxMTU))))

	properties.Property("floor: one byte more, and the law signals", prop.ForAll(
		func(mtu uint32, sojourn int64) bool {
			d, err := New(Config{Target: 5 * ms, Interval: 100 * ms, MTU: mtu})
			if err != nil {
				return false
			}
			q := aqm.Occupancy{Packets: 2, Bytes: int64(mtu) + 1}
			long := 5*ms + time.Duration(sojourn)
			first := d.Dequeue(0, aqm.Packet{EnqueuedAt: aqm.Time(-long)}, q)
			return first == pass && d.Dequeue(at(100*ms), aqm.Packet{EnqueuedAt: at(100 * ms).Add(-long)}, q) == drop
		},
		gen.UInt32Range(1, maxMTU), gen.Int64Range(0, 1e10)))

	entered := 0
	properties.Property("clock: a step back is no elapsed time", scripttest.ForAll(
		func(s script.Script) string {
			raw, err := New(DefaultConfig())
			if err != nil {
				return err.Error()
			}
			smooth, err := New(DefaultConfig())
			if err != nil {
				return err.Error()
			}
			m := script.Machine{LimitPackets: 100, Judged: script.Agree(func() error {
				if raw.State() != smooth.State() {
					return fmt.Errorf("%+v, and on a clock without steps back %+v", raw.State(), smooth.State())
				}
				return nil
			})}
			if err := m.Run(s, raw, &forward{smooth, math.MinInt64}); err != nil {
				return err.Error()
			}
			if smooth.State().Count > 0 {
				entered++
			}
			return ""
		},
		scripttest.Hostile(3000, 500*time.Microsecond)))

	properties.TestingRun(t)
	if entered == 0 {
		t.Error("nothing was signalled")
	}
}
