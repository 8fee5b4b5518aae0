package threshold

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// TestDefaults pins the defaults to their source: DCTCP (SIGCOMM 2010) section 3.4,
// K = 20 packets at 1 Gb/s.
func TestDefaults(t *testing.T) {
	assert.Equal(t, Config{Packets: 20}, DefaultConfig())
	assert.NoError(t, DefaultConfig().Validate())
}

func TestVerdicts(t *testing.T) {
	pass := aqm.Verdict{}
	mark := aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	drop := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
	full := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	for _, tc := range []struct {
		name             string
		config           Config
		ecn              aqm.ECN
		q                aqm.Occupancy
		sojourn          time.Duration
		enqueue, dequeue aqm.Verdict
	}{
		{"at K packets", Config{Packets: 20}, aqm.ECT0, aqm.Occupancy{Packets: 20, Bytes: 1e6}, time.Hour, pass, pass},
		{"above K packets", Config{Packets: 20}, aqm.ECT0, aqm.Occupancy{Packets: 21}, 0, mark, pass},
		{"above a packet", Config{Packets: 1}, aqm.ECT0, aqm.Occupancy{Packets: 2}, 0, mark, pass},
		{"above a byte", Config{Bytes: 1}, aqm.ECT0, aqm.Occupancy{Bytes: 2}, 0, mark, pass},
		{"at K bytes", Config{Bytes: 30000}, aqm.ECT1, aqm.Occupancy{Packets: 500, Bytes: 30000}, time.Hour, pass, pass},
		{"above K bytes", Config{Bytes: 30000}, aqm.ECT1, aqm.Occupancy{Bytes: 30001}, 0, mark, pass},
		{"at K sojourn", Config{Sojourn: time.Millisecond}, aqm.ECT0, aqm.Occupancy{Packets: 500, Bytes: 1e6}, time.Millisecond, pass, pass},
		{"above K sojourn", Config{Sojourn: time.Millisecond}, aqm.ECT0, aqm.Occupancy{}, time.Millisecond + 1, pass, mark},
		{"NotECT passes", Config{Packets: 20}, aqm.NotECT, aqm.Occupancy{Packets: 21}, 0, pass, pass},
		{"NotECT is dropped", Config{Packets: 20, DropNotECT: true}, aqm.NotECT, aqm.Occupancy{Packets: 21}, 0, drop, pass},
		{"NotECT is dropped at dequeue", Config{Sojourn: 1, DropNotECT: true}, aqm.NotECT, aqm.Occupancy{}, 2, pass, drop},
		{"CE stays", Config{Packets: 20, DropNotECT: true}, aqm.CE, aqm.Occupancy{Packets: 21}, 0, mark, pass},
		{"full", Config{Packets: 20}, aqm.ECT0, aqm.Occupancy{Packets: 5, Full: true}, 0, full, pass},
	} {
		t.Run(tc.name, func(t *testing.T) {
			th, err := New(tc.config)
			require.NoError(t, err)
			p := aqm.Packet{Size: 1500, ECN: tc.ecn, Class: aqm.Data}
			now := aqm.Time(7e9)
			assert.Equal(t, tc.enqueue, th.Enqueue(now, p, tc.q))
			p.EnqueuedAt = now
			assert.Equal(t, tc.dequeue, th.Dequeue(now.Add(tc.sojourn), p, tc.q))
		})
	}
}

// TestLongestGap has a packet queued for more than a Duration holds: the gap saturates,
// and is longer than any Sojourn but the largest.
func TestLongestGap(t *testing.T) {
	for sojourn, want := range map[time.Duration]aqm.Verdict{
		math.MaxInt64 - 1: {Action: aqm.Mark, Reason: aqm.Early},
		math.MaxInt64:     {},
	} {
		th, err := New(Config{Sojourn: sojourn})
		require.NoError(t, err)
		p := aqm.Packet{EnqueuedAt: math.MinInt64, Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}
		assert.Equal(t, want, th.Dequeue(1, p, aqm.Occupancy{}), sojourn)
	}
}

func TestDesign(t *testing.T) {
	for _, tc := range []struct {
		name   string
		sender Sender
		rate   uint64
		rtt    time.Duration
		flows  int
		burst  int
		want   int
	}{
		// DCTCP 3.4: at 10 Gb/s and 100 us "the theory" asks for C*RTT/7 = 11.9 packets, the bursts for 60 and more.
		{"DCTCP at 10 Gb/s", DCTCP, 10e9, 100 * time.Microsecond, 2, 0, 12},
		{"with bursts", DCTCP, 10e9, 100 * time.Microsecond, 2, 65, 65},
		{"strictly above C*RTT/7", DCTCP, 84e6, time.Millisecond, 2, 0, 2}, // 7 packets in flight, so K > 1
		{"TCP-ECN", TCPECN, 1e9, 300 * time.Microsecond, 25, 0, 5},         // 25 packets in flight / 5
		{"TCP-ECN of one flow", TCPECN, 1e9, 300 * time.Microsecond, 1, 0, 25},
		{"the smallest", DCTCP, 1, 1, 1, 0, 1},
		{"the smallest", TCPECN, 1, 1, math.MaxInt, 0, 1},
		{"the largest", DCTCP, 1, 1, 1, math.MaxInt32, math.MaxInt32},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Design(tc.sender, tc.rate, tc.rtt, tc.flows, 1500, tc.burst)
			require.NoError(t, err)
			assert.Equal(t, Config{Packets: tc.want}, c)
		})
	}
	_, err := Design(9, 0, 0, 0, 0, -1)
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{"sender = 9", "rate = 0 bit/s", "rtt = 0s", "flows = 0 flows", "meanPacket = 0 bytes", "burst = -1 packets"} {
		assert.ErrorContains(t, err, part)
	}
	assert.NotContains(t, err.Error(), "K = ", "what follows from them is not looked at")
	_, err = Design(TCPECN, math.MaxUint64, math.MaxInt64, 1, 1, 0)
	assert.ErrorContains(t, err, "rate, rtt or burst is too large")
}

// TestValidate sees every mistake listed at once, with field, value, bound and unit.
func TestValidate(t *testing.T) {
	err := Config{Packets: -1, Bytes: -2, Sojourn: -3}.Validate()
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, part := range []string{"Packets = -1 packets, must be > 0", "Bytes = -2 bytes, must be > 0", "Sojourn = -3ns, must be > 0s", "exactly one of the three"} {
		assert.ErrorContains(t, err, part)
	}
	assert.ErrorContains(t, Config{}.Validate(), "exactly one of the three")
	assert.ErrorContains(t, Config{Packets: 1, Bytes: 1}.Validate(), "exactly one of the three")
	th, err := New(Config{})
	assert.Nil(t, th)
	assert.ErrorIs(t, err, aqm.ErrConfig)
}

func TestReconfigure(t *testing.T) {
	th, err := New(Config{Packets: 20})
	require.NoError(t, err)
	p, q := aqm.Packet{Size: 1500, ECN: aqm.ECT0}, aqm.Occupancy{Packets: 15}
	assert.Equal(t, aqm.Pass, th.Enqueue(1, p, q).Action)
	require.Error(t, th.Reconfigure(Config{}))
	assert.Equal(t, aqm.Pass, th.Enqueue(2, p, q).Action, "a refused configuration changes nothing")
	require.NoError(t, th.Reconfigure(Config{Packets: 10}))
	assert.Equal(t, aqm.Mark, th.Enqueue(3, p, q).Action)
	assert.Equal(t, State{Signals: 1}, th.State(), "the count survives")
}

// TestStepBack sees the largest now go on where time steps back, whichever end saw it.
func TestStepBack(t *testing.T) {
	for _, arrival := range []bool{true, false} {
		th, err := New(Config{Sojourn: time.Millisecond})
		require.NoError(t, err)
		if arrival {
			th.Enqueue(5e6, aqm.Packet{}, aqm.Occupancy{})
		} else {
			th.Dequeue(5e6, aqm.Packet{EnqueuedAt: 5e6}, aqm.Occupancy{})
		}
		assert.Equal(t, aqm.Pass, th.Dequeue(3e6, aqm.Packet{EnqueuedAt: 4e6, ECN: aqm.ECT0}, aqm.Occupancy{}).Action)
		assert.Equal(t, aqm.Mark, th.Dequeue(3e6, aqm.Packet{EnqueuedAt: 4e6 - 1, ECN: aqm.ECT0}, aqm.Occupancy{}).Action)
	}
}

// TestManyPackets counts beyond 2^32 signals.
func TestManyPackets(t *testing.T) {
	th, err := New(Config{Packets: 10})
	require.NoError(t, err)
	th.signals = 1<<32 - 2
	for range 4 {
		assert.Equal(t, aqm.Mark, th.Enqueue(1, aqm.Packet{ECN: aqm.ECT0}, aqm.Occupancy{Packets: 11}).Action)
	}
	assert.Equal(t, State{Signals: 1<<32 + 2}, th.State())
}
