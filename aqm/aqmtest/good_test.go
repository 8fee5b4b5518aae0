package aqmtest

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/threshold"
)

// red is an AQM that breaks no law: a random early detection of sorts, which halves
// its average in every 10 ms of idle time and signals at Dequeue as well.
type red struct {
	src   rand.Source
	clock aqm.Time // largest now
	idle  aqm.Time // when the average was last seen to
	avg   float64  // packets

	scratch []float64 // for those who break it
	n       int
}

func newRED(src rand.Source) *red {
	return &red{src: src, clock: math.MinInt64, idle: math.MinInt64, scratch: make([]float64, 64)}
}

// Probability rises from 0 at an average of 10 packets to 1 at 60.
func (r *red) Probability() float64 { return min(1, max(0, (r.avg-10)/50)) }

func (r *red) average(now aqm.Time, q aqm.Occupancy) {
	r.clock = max(r.clock, now)
	if q.Packets <= 0 {
		r.decay(r.clock)
	}
	r.avg += 0.05 * (float64(min(max(q.Packets, 0), 1000)) - r.avg)
	r.idle = r.clock
}

func (r *red) decay(now aqm.Time) {
	halvings := now.Sub(r.idle) / (10 * time.Millisecond)
	r.avg = math.Ldexp(r.avg, -int(min(halvings, 2000)))
}

func (r *red) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	r.average(now, q)
	switch prob := r.Probability(); {
	case q.Full:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	case prob >= 1:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	case prob > 0 && float64(r.src.Uint64()>>11)/(1<<53) < prob:
		return aqm.MarkOrDrop(p.ECN, aqm.Early)
	}
	return aqm.Verdict{}
}

func (r *red) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	r.average(now, q)
	if r.clock.Sub(p.EnqueuedAt) > 20*time.Millisecond && q.Packets > 30 {
		return aqm.MarkOrDrop(p.ECN, aqm.Early)
	}
	return aqm.Verdict{}
}

// wrapped is a decorator.
type wrapped struct{ aqm.AQM }

func (w wrapped) Unwrap() aqm.AQM { return w.AQM }

// coin draws by rejection, which a source that gives always the same may never end.
type coin struct {
	aqm.TailDrop
	rand *rand.Rand
}

func (c coin) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if !q.Full && c.rand.IntN(10) == 0 {
		return aqm.MarkOrDrop(p.ECN, aqm.Early)
	}
	return c.TailDrop.Enqueue(now, p, q)
}

// goodAQMs break no law.
var goodAQMs = map[string]MakeAQM{
	"coin":      func(src rand.Source) aqm.AQM { return coin{rand: rand.New(src)} },
	"tail drop": func(rand.Source) aqm.AQM { return aqm.TailDrop{} },
	"red":       func(src rand.Source) aqm.AQM { return newRED(src) },
	"wrapped":   func(src rand.Source) aqm.AQM { return wrapped{newRED(src)} },
	"threshold": func(rand.Source) aqm.AQM {
		th, err := threshold.New(threshold.DefaultConfig())
		if err != nil {
			panic(err)
		}
		return th
	},
}

func TestGoodAQMsPass(t *testing.T) {
	for name, mk := range goodAQMs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.NoError(t, Check(mk))
		})
	}
}

// TestGoodAQMsPassWithAnySeed is about the kit: what it thinks right may not depend
// on the traffic it happens to make.
func TestGoodAQMsPassWithAnySeed(t *testing.T) {
	for seed := range uint64(3) {
		assert.NoError(t, Check(goodAQMs["red"], Seed(seed+2), Packets(1000), Limit(100), brief, Periods(10*time.Microsecond, time.Millisecond)))
	}
}

// TestTrafficIsHard sees the good AQM driven through every verdict that it has, at
// each period and in all of them at a time.
func TestTrafficIsHard(t *testing.T) {
	s, err := newSession(goodAQMs["red"], nil)
	require.NoError(t, err)
	streams := s.ordinaryStreams()
	require.Len(t, streams, 7)
	calls := 0
	for i, st := range streams {
		calls += len(st.calls)
		seen, codepoints, classes := map[aqm.Verdict]int{}, map[aqm.ECN]int{}, map[aqm.Class]int{}
		atDequeue := 0
		for j, c := range st.calls {
			seen[st.verdicts[j]]++
			codepoints[c.Packet.ECN]++
			classes[c.Packet.Class]++
			if c.AtDequeue && st.verdicts[j] != (aqm.Verdict{}) {
				atDequeue++
			}
		}
		assert.Len(t, codepoints, 4)
		assert.Len(t, classes, 14, "each class, without ECE and with it")
		want := []aqm.Verdict{{}, {Action: aqm.Mark, Reason: aqm.Early}, {Action: aqm.Drop, Reason: aqm.Early}}
		if heedless := i%2 == 1 || i == 6; heedless {
			want = append(want, aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}, aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow})
		} else {
			share := float64(len(st.calls)-seen[aqm.Verdict{}]) / float64(len(st.calls))
			assert.InDelta(t, 0.02, share, 0.015, "stream %d: one packet in forty, each asked about twice, is signalled to", i)
		}
		for _, v := range want {
			assert.Greater(t, seen[v], 15, "stream %d: %v", i, v)
		}
		if i == 5 { // packets are queued for 20 ms
			assert.Greater(t, atDequeue, 20, "stream %d: signals at Dequeue", i)
		}
	}
	assert.Greater(t, calls, 20_000, "allocations are counted over this many")
}
