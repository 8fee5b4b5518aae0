package pie

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
)

var events = flag.Int("events", 1_000_000, "random events in the comparison with a timer; with 10^7, an hour of updates is run one by one")

// configs returns one configuration for each way to run.
func configs() []Config {
	limited := DefaultConfig()
	limited.LimitBytes = 200_000
	rate := DefaultConfig()
	rate.DepartureRate = true
	rateLimited := rate
	rateLimited.LimitBytes, rateLimited.MaxBurst = 100_000, 0
	odd := DefaultConfig()
	odd.Target, odd.Update, odd.MaxBurst = 3_333_333, 7_777_777, 50_000_000
	odd.Alpha, odd.Beta, odd.MaxECN = 0.3, 7.1, 0
	docsisLimited := DOCSIS()
	docsisLimited.LimitBytes, docsisLimited.MaxBurst = 100_000, 160*time.Millisecond
	tokens := docsisLimited
	tokens.PeakRate, tokens.SustainedRate, tokens.TrafficBurst = 20_000_000, 5_000_000, 60_000
	slow := tokens
	slow.LimitBytes, slow.TrafficBurst = 0, 3_000_000
	wide := docsisLimited // p falls without a decay between LATENCY_LOW and Target/2, and an allowance ends 1 ns after an update
	wide.Target, wide.MaxBurst = 100*time.Millisecond, 160*time.Millisecond+1
	return []Config{DefaultConfig(), limited, rate, rateLimited, odd, DataCenter(), DOCSIS(), docsisLimited, tokens, slow, wide}
}

// differ says where a and its oracle do.
func differ(a *PIE, o *oracle.PIE) error {
	name := [...]string{inactive: "INACTIVE", quiescent: "QUIESCENT", active: "ACTIVE"}[a.activity]
	switch {
	case a.timer.Next != o.Next():
		return fmt.Errorf("next tick at %d, the timer's at %d", a.timer.Next, o.Next())
	case a.p != o.DropProb:
		return fmt.Errorf("p = %v, the timer's %v, %g off", a.p, o.DropProb, a.p-o.DropProb)
	case a.accumulated != o.AccuProb:
		return fmt.Errorf("accumulated %v, the timer's %v", a.accumulated, o.AccuProb)
	case a.burst != o.BurstAllowance:
		return fmt.Errorf("burst allowance %v, the timer's %v", a.burst, o.BurstAllowance)
	case a.quiet != o.BurstReset:
		return fmt.Errorf("quiet for %v, the timer's %v", a.quiet, o.BurstReset)
	case name != o.State:
		return fmt.Errorf("state %v, the timer's %v", name, o.State)
	case a.old != o.QDelayOld:
		return fmt.Errorf("last update's delay %v s, the timer's %v s", a.old, o.QDelayOld)
	case a.estimator == byRate && a.activity == active && a.rate.average != o.AvgDQTime:
		return fmt.Errorf("2^14 bytes take %v s to depart, the timer's %v s", a.rate.average, o.AvgDQTime)
	case a.estimator == tokenBucket && !o.TokensUntouched && a.bucket.tokens != o.Tokens:
		return fmt.Errorf("%v tokens, the timer's %v", a.bucket.tokens, o.Tokens)
	case a.estimator == timestamps && seconds(a.State().Delay) != o.QDelay:
		return fmt.Errorf("delay %v, the timer's %v s", a.State().Delay, o.QDelay)
	}
	return nil
}

// TestTimer runs random traffic with pauses of up to an hour against the
// timer of the oracle: equal verdicts and tick counts, and p equal to the last bit.
func TestTimer(t *testing.T) {
	all := configs()
	t.Logf("%d events in %d configurations", *events, len(all))
	for i, c := range all {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 8033))
			c.Rand = rand.NewPCG(uint64(i), 1)
			a, err := New(c)
			require.NoError(t, err)
			c.Rand = rand.NewPCG(uint64(i), 1)
			o := naive(c)
			var signals int
			m := script.Machine{Now: 12345, LimitPackets: 100, Judged: script.Agree(func() error { return differ(a, o) })}
			agree := m.Judged
			m.Judged = func(j script.Judgement) error {
				if j.Verdicts[0] != pass && j.Verdicts[0] != full {
					signals++
				}
				return agree(j)
			}
			period := c.Target / 10
			for done := 0; done < *events/len(all); {
				s := script.Random(r, 5000, period)
				for range 5 {
					pause := math.Ldexp(1+r.Float64(), 10+r.IntN(32)) // 1 us to 2.4 h
					s[r.IntN(len(s))].Wait = time.Duration(min(pause, float64(time.Hour)))
				}
				require.NoError(t, m.Run(s, a, o))
				done += len(s)
			}
			t.Logf("%d updates, %d signals", o.Updates, signals)
			assert.Positive(t, signals)
		})
	}
}

// TestAnHour runs the updates of an hour's pause one by one, in configurations where
// they change p all the time.
func TestAnHour(t *testing.T) {
	c := DataCenter()
	pause := uint64(time.Hour / c.Update)
	if *events < 10_000_000 {
		pause /= 100
		t.Log("36 seconds; an hour with -events 10000000")
	}
	l := newLaw(c)
	l.alpha = 1e-3 // 1 ns above the target takes 10^12 updates from p = 0 to 1
	for _, tc := range []struct{ p, delay float64 }{{0.3, l.target + 1e-9}, {0.7, l.target - 1e-9}, {0, l.target + 1e-9}} {
		want := tc.p
		for range pause {
			want = l.next(want, tc.delay, tc.delay)
		}
		got, _ := l.repeat(tc.p, tc.delay, pause)
		assert.Equal(t, want, got)
		assert.NotEqual(t, tc.p, got)
	}
}

// TestEveryGap leaves a queue alone for each number of updates that its burst
// allowance lasts, and some more, congested or empty.
func TestEveryGap(t *testing.T) {
	for i, c := range configs() {
		for n := range 40 {
			for _, left := range []aqm.Occupancy{standing, {}} {
				c.Rand = fixed(0)
				a, err := New(c)
				require.NoError(t, err)
				o := naive(c)
				ask := func(updates int) {
					now := aqm.Time(updates) * aqm.Time(c.Update)
					require.Equal(t, o.Enqueue(now, ect, left), a.Enqueue(now, ect, left))
					require.NoError(t, differ(a, o), "configuration %d, %d updates, %+v", i, n, left)
				}
				start := 0
				if c.DOCSIS {
					start = 200
				}
				for _, q := range []aqm.AQM{a, o} {
					q.Enqueue(0, ect, standing)
					q.Dequeue(1, aqm.Packet{EnqueuedAt: 1 - 10*aqm.Time(c.Target), Size: 60_000}, standing)
					now := aqm.Time(start)*aqm.Time(c.Update) + 2
					q.Enqueue(now, ect, standing) // with DOCSIS a drop, which starts the allowance
					q.Dequeue(now, aqm.Packet{EnqueuedAt: now - 10*aqm.Time(c.Target), Size: 1500}, left)
				}
				for _, updates := range []int{n, n + 1, 2 * n, 100} {
					ask(start + updates)
				}
			}
		}
	}
}
