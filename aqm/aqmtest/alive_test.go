package aqmtest

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// TestAliveSpares sees an AQM keep alive that signals an empty queue, and is right to or
// at least not shut: by chance, however likely, in steps that become fewer, and for as
// long as it owes signals.
func TestAliveSpares(t *testing.T) {
	good := map[string]own{
		"99 in 100": {enqueue: func(o *own, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
			if o.draw() < 0.99 {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		}},
		"500 more": {enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if o.n++; q.Packets > 30 {
				o.n = 0
			}
			if o.n < 500 {
				return aqm.MarkOrDrop(p.ECN, aqm.Early)
			}
			return aqm.Verdict{}
		}},
		"1024 marks": {enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			switch {
			case q.Packets > 30:
				o.n = min(1024, o.n+1)
			case o.n > 0 && (p.ECN == aqm.ECT0 || p.ECN == aqm.ECT1):
				o.n--
				return aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
			}
			return aqm.Verdict{}
		}},
	}
	for name, o := range good {
		assert.NoError(t, Check(owning(o), Packets(1000), Only(alive.Name)), name)
	}
}

// TestStuck has an instance asked by a queue that is true to its verdicts, after both
// silences.
func TestStuck(t *testing.T) {
	s, err := newSession(planter("never cools down"), nil)
	require.NoError(t, err)
	hot := Call{Now: 7, Packet: aqm.Packet{Size: 1500}, Occupancy: aqm.Occupancy{Packets: 51}}
	for _, far := range []bool{false, true} {
		b, calls := s.stuck(seeded(1, 0), []Call{hot}, far)
		require.NotNil(t, b)
		require.Len(t, calls, 1+1+2+2+2, "a packet that is dropped does not depart")
		gap := calls[1].Now.Sub(calls[0].Now)
		if far {
			assert.Equal(t, time.Duration(math.MaxInt64), gap)
			assert.Negative(t, int64(calls[1].Now-calls[0].Now), "and overflows")
		} else {
			assert.Equal(t, hour, gap)
		}
		assert.Equal(t, time.Second, calls[2].Now.Sub(calls[1].Now))
		assert.Equal(t, aqm.ECT1, calls[2].Packet.ECN)
		assert.Equal(t, aqm.CE, calls[3].Packet.ECN, "it was marked")
		assert.Equal(t, calls[2].Now, calls[3].Packet.EnqueuedAt)
	}
	b, calls := s.stuck(seeded(1, 0), nil, false)
	assert.Nil(t, b, "it is cool")
	assert.Empty(t, calls)
}

// TestForced spares a policy, which says what it wraps.
func TestForced(t *testing.T) {
	mk := planter("marks beyond its limit")
	assert.Equal(t, []string{"forced"}, broken(Check(mk, Packets(1000), Only(forced.Name))))
	assert.NoError(t, Check(func(src rand.Source) aqm.AQM { return wrapped{mk(src)} }, Packets(1000), Only(forced.Name)))
}

// TestRevivalProgram asks what a failure of revival shows: nothing is signalled after the
// silence, and to an instance that begins with it something is.
func TestRevivalProgram(t *testing.T) {
	mk := planter("has a rate that is infinite at a gap of 0")
	v := Violations(Check(mk, Packets(1000), Only(revival.Name)))
	require.Len(t, v, 1)
	assert.Less(t, len(v[0].Calls), 1000)
	after := 1
	for ; v[0].Calls[after].Now.Sub(v[0].Calls[after-1].Now) < hour; after++ {
	}
	assert.Less(t, after, 10, "shrunk")
	s, err := newSession(mk, nil)
	require.NoError(t, err)
	assert.Zero(t, signals(v[0].Verdicts[after:]))
	fresh, _ := s.answers(seeded(1, 0), v[0].Calls[after:])
	assert.Positive(t, signals(fresh))
	t.Log(v[0])
}
