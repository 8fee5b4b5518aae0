package aqmtest

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// planted is a red with a fault: it differs from the red that passes by the methods
// that are set, and by nothing else.
type planted struct {
	*red
	enqueue, dequeue method
	prob             func(*red) float64
}

type method func(*red, aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict

func (p planted) Enqueue(now aqm.Time, pkt aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if p.enqueue != nil {
		return p.enqueue(p.red, now, pkt, q)
	}
	return p.red.Enqueue(now, pkt, q)
}

func (p planted) Dequeue(now aqm.Time, pkt aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if p.dequeue != nil {
		return p.dequeue(p.red, now, pkt, q)
	}
	return p.red.Dequeue(now, pkt, q)
}

func (p planted) Probability() float64 {
	if p.prob != nil {
		return p.prob(p.red)
	}
	return p.red.Probability()
}

// with plants a fault.
func with(p planted) MakeAQM {
	return func(src rand.Source) aqm.AQM {
		p := p
		p.red = newRED(src)
		return p
	}
}

// altered is a red whose verdict on an arrival is changed.
func altered(change func(aqm.Packet, aqm.Occupancy, aqm.Verdict) aqm.Verdict) MakeAQM {
	return with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		return change(p, q, r.Enqueue(now, p, q))
	}})
}

var (
	early  = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	sink   any
	never  = make(chan struct{})
	shared float64
	loaded = time.Now()
	single *red
	busy   sync.Mutex
)

// faults are AQMs, each with the laws it breaks.
var faults = []struct {
	name string
	laws []string
	mk   MakeAQM
}{
	{"allocates for each drop", []string{"no-allocation"}, altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v == early {
			sink = make([]byte, 100)
		}
		return v
	})},
	{"allocates once in a thousand calls", []string{"no-allocation"}, with(planted{dequeue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		if r.n++; r.n%1000 == 0 {
			sink = new(int64)
		}
		return r.Dequeue(now, p, q)
	}})},
	{"keeps a log", []string{"no-allocation"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		r.scratch = append(r.scratch, float64(now))
		return r.Enqueue(now, p, q)
	}})},
	{"draws from the global generator", []string{"determinism", "early-marks", "zero"}, altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v == (aqm.Verdict{}) && rand.IntN(10) == 0 {
			return early
		}
		return v
	})},
	{"has a goroutine", []string{"no-goroutine"}, func(src rand.Source) aqm.AQM {
		go func() { <-never }()
		return newRED(src)
	}},
	{"shares its average", []string{"no-shared-state"}, func(src rand.Source) aqm.AQM {
		shared = 0 // so that one instance after the other is alike
		return planted{red: newRED(src), enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			r.avg = shared
			v := r.Enqueue(now, p, q)
			shared = r.avg
			return v
		}}
	}},
	{"is one instance for all", []string{"no-shared-state"}, func(src rand.Source) aqm.AQM {
		if single == nil {
			single = newRED(src)
		}
		return single
	}},
	{"stores what does not fit", []string{"overflow"}, altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Overflow {
			return aqm.Verdict{}
		}
		return v
	})},
	{"takes a full queue for its own limit", []string{"overflow"}, altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Overflow {
			v.Reason = aqm.Forced
		}
		return v
	})},
	{"takes its own limit for a full queue", []string{"overflow"}, altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Forced {
			v.Reason = aqm.Overflow
		}
		return v
	})},
	{"overflows at Dequeue", []string{"overflow"}, with(planted{dequeue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		v := r.Dequeue(now, p, q)
		if v == early {
			v.Reason = aqm.Overflow
		}
		return v
	}})},
	{"marks NotECT", []string{"not-ect"}, altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v == early {
			v.Action = aqm.Mark
		}
		return v
	})},
	{"drops CE", []string{"ce", "early-marks"}, altered(func(p aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Action == aqm.Mark && p.ECN == aqm.CE {
			v.Action = aqm.Drop
		}
		return v
	})},
	{"knows ECT(0) only", []string{"ect", "early-marks"}, altered(func(p aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Action == aqm.Mark && p.ECN == aqm.ECT1 {
			v.Action = aqm.Drop
		}
		return v
	})},
	{"passes with a reason", []string{"verdict"}, altered(func(p aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if p.Class.Has(aqm.PureACK) && v.Reason == aqm.Early {
			v.Action = aqm.Pass
		}
		return v
	})},
	{"drops without a reason", []string{"verdict"}, with(planted{dequeue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		v := r.Dequeue(now, p, q)
		v.Reason = aqm.None
		return v
	}})},
	{"has an action of its own", []string{"verdict"}, altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Forced {
			v.Action = aqm.NumActions
		}
		return v
	})},
	{"takes 0 for no time", []string{"time-origin"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		if r.idle <= 0 { // not set
			r.avg = 40
		}
		return r.Enqueue(now, p, q)
	}})},
	{"ticks by the clock's digits", []string{"time-origin"}, with(planted{dequeue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		r.clock = max(r.clock, now)
		if r.clock/aqm.Time(time.Millisecond)%64 == 0 {
			r.avg /= 2
		}
		return r.Dequeue(now, p, q)
	}})},
	{"has instants in float64", []string{"time-origin"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		r.clock = max(r.clock, now)
		if gap := float64(r.clock) - float64(r.idle); gap > 0 && gap < 500 {
			r.avg++
		}
		return r.Enqueue(now, p, q)
	}})},
	{"believes every now", []string{"time-backwards"}, with(planted{dequeue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		r.average(now, q)
		if now.Sub(p.EnqueuedAt) > 20*time.Millisecond && q.Packets > 30 {
			return aqm.MarkOrDrop(p.ECN, aqm.Early)
		}
		return aqm.Verdict{}
	}})},
	{"counts a step back as elapsed time", []string{"time-backwards"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		if r.clock != math.MinInt64 && now.Sub(r.clock).Abs() > time.Hour+10*time.Minute {
			r.avg = 0
		}
		return r.Enqueue(now, p, q)
	}})},
	{"catches up in a loop", []string{"bounded-work"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		r.clock = max(r.clock, now)
		if q.Packets <= 0 {
			for next := r.idle; next <= r.clock-1000 && r.idle != math.MinInt64; next += 1000 {
				r.n++
			}
		}
		return r.Enqueue(now, p, q)
	}})},
	{"draws for every nanosecond", []string{"bounded-work"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		for t := r.clock; t < now && r.clock != math.MinInt64; t++ {
			r.src.Uint64()
		}
		return r.Enqueue(now, p, q)
	}})},
	{"looks at all that ever happened", []string{"bounded-work"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		r.n++
		for i := range r.n / 2 {
			r.scratch[i%len(r.scratch)]++
		}
		return r.Enqueue(now, p, q)
	}})},
	{"reads EnqueuedAt in Enqueue", []string{"unset-fields"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		if p.EnqueuedAt < r.clock.Add(-time.Minute) {
			r.avg = 0
		}
		return r.Enqueue(now, p, q)
	}})},
	{"reads Full in Dequeue", []string{"unset-fields"}, with(planted{dequeue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		if q.Full {
			return early
		}
		return r.Dequeue(now, p, q)
	}})},
	{"has no class for a packet without one", []string{"zero-class"}, altered(func(p aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v == early && p.Class == 0 {
			return aqm.Verdict{}
		}
		return v
	})},
	{"drops ECT for Early when it is busy", []string{"early-marks"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		v := r.Enqueue(now, p, q)
		if v.Action == aqm.Mark && r.Probability() > 0.5 {
			v.Action = aqm.Drop
		}
		return v
	}})},
	{"decays when it is looked at", []string{"observer"}, with(planted{prob: func(r *red) float64 {
		p := r.Probability()
		r.avg *= 0.99
		return p
	}})},
	{"draws when it is looked at", []string{"observer"}, with(planted{prob: func(r *red) float64 {
		r.src.Uint64()
		return r.Probability()
	}})},
	{"allocates when it is looked at", []string{"observer"}, with(planted{prob: func(r *red) float64 {
		sink = new(int64)
		return r.Probability()
	}})},
	{"is no longer the same a millisecond later", []string{"observer"}, with(planted{prob: func(r *red) float64 {
		return r.Probability() * math.Exp(-time.Since(loaded).Seconds())
	}})},
	{"has a probability that is always 0", []string{"zero"}, with(planted{prob: func(*red) float64 { return 0 }})},
	{"signals for a draw of 0", []string{"zero"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		v := r.Enqueue(now, p, q)
		if v == (aqm.Verdict{}) && r.Probability() == 0 && float64(r.src.Uint64()>>11)/(1<<53) <= r.Probability() {
			return aqm.MarkOrDrop(p.ECN, aqm.Early)
		}
		return v
	}})},
	{"takes time 0 for no timer", []string{"time-origin"}, func(src rand.Source) aqm.AQM {
		var next aqm.Time
		started := false
		return planted{red: newRED(src), enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if r.clock = max(r.clock, now); !started || next == 0 { // not set
				started, next = true, r.clock.Add(20*time.Millisecond)
			} else if over := r.clock.Sub(next); over >= 0 {
				next = r.clock.Add(20*time.Millisecond - over%(20*time.Millisecond))
				r.avg /= 2
			}
			return r.Enqueue(now, p, q)
		}}
	}},
	{"has a table by the count of packets", []string{"survival"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		if r.n++; r.n > 60_000 {
			r.scratch[r.n]++
		}
		return r.Enqueue(now, p, q)
	}})},
	{"has room for 60 000 packets", []string{"no-allocation"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		if r.n++; r.n == 60_000 {
			sink = new(int64)
		}
		return r.Enqueue(now, p, q)
	}})},
	{"has a probability above 1", []string{"probability"}, with(planted{prob: func(r *red) float64 { return max(0, r.avg-10) / 50 }})},
	{"has a probability that is no number", []string{"probability"}, with(planted{prob: func(r *red) float64 { return r.Probability() / min(1, r.avg) * min(1, r.avg) }})},
	{"has an inner probability below 0", []string{"probability"}, func(src rand.Source) aqm.AQM {
		return wrapped{planted{red: newRED(src), prob: func(r *red) float64 { return (r.avg - 10) / 2000 }}}
	}},
	{"divides by the size", []string{"survival"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		r.n = int(1500 / p.Size)
		return r.Enqueue(now, p, q)
	}})},
	{"has a table by backlog", []string{"survival"}, with(planted{dequeue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		r.scratch[q.Packets%len(r.scratch)]++
		return r.Dequeue(now, p, q)
	}})},
	{"has a table by time", []string{"survival", "time-origin"}, with(planted{dequeue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		r.scratch[int(now)%len(r.scratch)]++
		return r.Dequeue(now, p, q)
	}})},
	{"has a table by draw", []string{"survival"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		u := float64(r.src.Uint64()) / (1 << 64) // rounds up to 1
		r.scratch[int(u*float64(len(r.scratch)))]++
		return r.Enqueue(now, p, q)
	}})},
	{"panics in ordinary traffic", []string{"survival"}, altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Forced {
			panic("a planted fault")
		}
		return v
	})},
	{"opens only at a departure", []string{"alive"}, owning(own{ // which a flush has none of
		enqueue: func(o *own, _ aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if !q.Full && q.Packets > 40 {
				o.on = true
			}
			if o.on {
				return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
			}
			return aqm.Verdict{}
		},
		dequeue: func(o *own, _ aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if q.Packets < 20 {
				o.on = false
			}
			return aqm.Verdict{}
		},
	})},
	{"counts the queue itself", []string{"alive"}, owning(own{ // and loses count at a flush
		enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			var v aqm.Verdict
			if o.n > 30 {
				v = aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			if !q.Full && v.Action != aqm.Drop {
				o.n++
			}
			return v
		},
		dequeue: func(o *own, _ aqm.Packet, _ aqm.Occupancy) aqm.Verdict { o.n--; return aqm.Verdict{} },
	})},
	{"never cools down", []string{"alive"}, owning(own{enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		if o.on = o.on || !q.Full && q.Packets > 50; o.on {
			return aqm.MarkOrDrop(p.ECN, aqm.Early)
		}
		return aqm.Verdict{}
	}})},
	{"delivers nothing", []string{"alive"}, owning(own{dequeue: func(*own, aqm.Packet, aqm.Occupancy) aqm.Verdict {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	}})},
	{"takes the longest idle time for a step back", []string{"alive"}, owning(own{ // now - then overflows, and it cools by no time
		enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if idle := o.clock - o.was; q.Packets == 0 && idle > aqm.Time(time.Second) {
				o.on = false
			}
			if o.was = o.clock; o.on && q.Packets < 50 || q.Packets >= 50 {
				o.on = true
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
	})},
	{"has a rate that is infinite at a gap of 0", []string{"revival"}, owning(own{ // and then no number
		enqueue: func(o *own, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
			if o.was != math.MinInt64 {
				rate := float64(p.Size) / o.clock.Sub(o.was).Seconds()
				o.x += 0.1 * (rate - o.x)
			}
			if o.was = o.clock; o.x > 2e6 && o.draw() < 0.1 {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
	})},
	{"counts in packets of the size of this one", []string{"revival"}, owning(own{ // 0/0 for Size 0
		enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			o.x += 0.05 * (float64(q.Bytes)/float64(p.Size) - o.x)
			if o.draw() < (o.x-10)/100 {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		},
	})},
	{"subtracts instants as they are", []string{"saturation"}, owning(own{dequeue: func(o *own, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
		if o.clock-p.EnqueuedAt > aqm.Time(5*time.Millisecond) {
			return aqm.MarkOrDrop(p.ECN, aqm.Early)
		}
		return aqm.Verdict{}
	}})},
	{"marks beyond its limit", []string{"forced"}, owning(own{enqueue: func(_ *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		v := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
		switch {
		case q.Packets <= 30:
			v = aqm.Verdict{}
		case p.ECN.Capable():
			v.Action = aqm.Mark
		}
		return v
	}})},
	{"passes while another is busy", []string{"no-shared-state"}, with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
		if !busy.TryLock() {
			return aqm.Verdict{}
		}
		defer busy.Unlock()
		runtime.Gosched()
		return r.Enqueue(now, p, q)
	}})},
}

// broken returns the names of the laws that err says are broken.
func broken(err error) (names []string) {
	for _, v := range Violations(err) {
		names = append(names, v.Law.Name)
	}
	return names
}

// TestPlantedFaults sees every fault found, by the law it breaks and by no other.
func TestPlantedFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if !slices.Contains(f.laws, "bounded-work") && !slices.Contains(f.laws, "no-goroutine") { // those are the program's
				t.Parallel()
			}
			err := Check(f.mk, Packets(1000), brief)
			require.Error(t, err)
			want := slices.Clone(f.laws)
			slices.Sort(want)
			got := broken(err)
			slices.Sort(got)
			assert.Equal(t, want, got, "%v", err)
			t.Log(err)
		})
	}
}

// planter returns the AQM with the fault of that name.
func planter(name string) MakeAQM {
	for _, f := range faults {
		if f.name == name {
			return f.mk
		}
	}
	panic("no such fault: " + name)
}

// brief is a no-clock that is faster.
func brief(c *config) { c.pause = 10 * time.Millisecond }

// TestEveryLawCanBreak keeps the table of faults complete.
func TestEveryLawCanBreak(t *testing.T) {
	elsewhere := map[string]string{
		"no-clock":     "TestClocks",
		"no-blocking":  "TestBlocking",
		"revival":      "TestLasting",
		"silence":      "TestLasting",
		"conservation": "TestConservationFindsFaultyQueues, and TestChoice",
	}
	for _, l := range Laws() {
		found := elsewhere[l.Name] != ""
		for _, f := range faults {
			found = found || slices.Contains(f.laws, l.Name)
		}
		assert.True(t, found, "no planted fault breaks %s", l.Name)
	}
}
