package script

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// TestDecodeReachesEverything decodes every pair of bytes, and finds all that a
// queue may meet.
func TestDecodeReachesEverything(t *testing.T) {
	kinds, waits, sizes := map[Kind]int{}, map[time.Duration]bool{}, map[uint32]bool{}
	codepoints, classes, numbers := map[aqm.ECN]bool{}, map[aqm.Class]bool{}, map[Op]bool{}
	for i := range 1 << 16 {
		s := Decode([]byte{byte(i >> 8), byte(i), 0}, 10)
		require.Len(t, s, 1, "half an operation is none")
		op := s[0]
		kinds[op.Kind]++
		waits[op.Wait] = true
		switch op.Kind {
		case Arrive:
			sizes[op.Size], codepoints[op.ECN], classes[op.Class] = true, true, true
		case Reconfigure, LimitPackets, LimitBytes:
			numbers[Op{Kind: op.Kind, N: op.N}] = true
		}
		if op.Kind != Arrive {
			require.Equal(t, Op{Kind: op.Kind, Wait: op.Wait, N: op.N}, op)
		}
	}
	assert.Len(t, kinds, numKinds)
	assert.Greater(t, kinds[Arrive], kinds[Depart], "queues build up")
	assert.Less(t, kinds[Flush]*100, kinds[Depart], "a flush is rare")
	for _, wait := range []time.Duration{0, time.Millisecond, 3 * time.Hour, -2 * time.Millisecond, -time.Hour} {
		assert.True(t, waits[wait], wait)
	}
	assert.True(t, sizes[0] && sizes[70000])
	assert.Len(t, codepoints, 4)
	for bit := range 8 {
		assert.True(t, classes[1<<bit] || classes[1<<bit|aqm.ECE], aqm.Class(1<<bit))
	}
	assert.True(t, classes[0] && classes[aqm.ECE] && classes[aqm.Data|aqm.ECE])
	assert.True(t, numbers[Op{Kind: LimitPackets, N: 1}] && numbers[Op{Kind: LimitBytes}] && numbers[Op{Kind: Reconfigure, N: 15}])
	assert.Len(t, Decode(make([]byte, 100), 7), 7)
	assert.Empty(t, Decode([]byte{1}, 7))
}

// TestMachine walks through the limits, a flush, and what may stop a run.
func TestMachine(t *testing.T) {
	var full []bool
	var packets []int
	m := Machine{LimitPackets: 2, Judged: func(j Judgement) error {
		full, packets = append(full, j.Occupancy.Full), append(packets, j.Occupancy.Packets)
		return nil
	}}
	arrive := Op{Kind: Arrive, Size: 1000}
	require.NoError(t, m.Run(Script{
		arrive, arrive, arrive, // the third finds no room
		{Kind: LimitPackets, N: 3},
		arrive, arrive,
		{Kind: LimitBytes, N: 3999},
		{Kind: LimitPackets, N: 100},
		arrive,
		{Kind: LimitBytes, N: 4000},
		arrive,
		{Kind: Reconfigure, N: 1},
		{Kind: Flush},
		{Kind: Depart},
		arrive,
		{Kind: Depart},
	}, aqm.TailDrop{}))
	assert.Equal(t, []bool{false, false, true, false, true, true, false, false, false}, full)
	assert.Equal(t, []int{0, 1, 2, 2, 3, 3, 3, 0, 0}, packets)

	broken := errors.New("broken")
	m = Machine{Reconfigure: func(n int) error {
		if n == 2 {
			return broken
		}
		return nil
	}}
	err := m.Run(Script{{Kind: Reconfigure, N: 1}, {Kind: Reconfigure, N: 2}}, aqm.TailDrop{})
	require.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, "step 1: ")

	m = Machine{Judged: Agree(nil)}
	require.NoError(t, m.Run(Script{arrive}, aqm.TailDrop{}, aqm.TailDrop{}))
	m.Judged = Agree(func() error { return broken })
	require.ErrorIs(t, m.Run(Script{arrive}, aqm.TailDrop{}, aqm.TailDrop{}), broken)
	m = Machine{LimitPackets: 1, Judged: Agree(nil)}
	err = m.Run(Script{arrive, {Kind: Arrive, Wait: 5, Size: 40}}, aqm.TailDrop{}, passAll{})
	assert.EqualError(t, err, "step 1: Enqueue(5, {EnqueuedAt:5 Size:40 ECN:NotECT Class:Other}, {Packets:1 Bytes:1000 Full:true}): verdicts differ: [Drop/Overflow Pass]")
}

type passAll struct{ aqm.TailDrop }

func (passAll) Enqueue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }

// TestDisturb sees every kind of disturbance in a long script, and the rest of it
// as it was.
func TestDisturb(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	before := Random(r, 20_000, time.Millisecond)
	after := append(Script{}, before...)
	Disturb(r, after, 16)
	kinds, changed, back, hours := map[Kind]int{}, 0, 0, 0
	for i, op := range after {
		kinds[op.Kind]++
		if op != before[i] {
			changed++
		}
		if op.Wait < 0 {
			back++
		}
		if op.Wait > time.Hour {
			hours++
		}
	}
	assert.Len(t, kinds, numKinds)
	assert.Greater(t, changed, 20_000/32)
	assert.LessOrEqual(t, changed, 20_000/12)
	assert.Positive(t, back)
	assert.Positive(t, hours)
}

// TestStart finds both ends of time among the instants to begin at, and both sides
// of zero.
func TestStart(t *testing.T) {
	seen := map[aqm.Time]bool{}
	for n := range 256 {
		seen[Start(byte(n))] = true
		assert.Equal(t, Start(byte(n)&7), Start(byte(n)))
	}
	assert.Len(t, seen, 8)
	assert.Zero(t, Start(0))
	assert.Equal(t, []aqm.Time{0}, Starts(0))
	for n := range byte(8) {
		assert.Equal(t, Start(n), Starts(n)[0])
		assert.True(t, Start(n) < 1<<62 || slices.Equal(Starts(n), []aqm.Time{Start(n), 0}), n)
	}
	assert.True(t, seen[math.MinInt64] && seen[math.MaxInt64] && seen[-1_000_000] && seen[1<<40])
}

// TestAwake shortens long pauses once there is a day of them, and no others.
func TestAwake(t *testing.T) {
	s := Decode(bytes.Repeat([]byte{0x7e, 0, 0x0d, 0, 0x0f, 0}, 500), 4096)
	before := slices.Clone(s)
	awake := s.Awake()
	require.Equal(t, before, s)
	require.Len(t, awake, len(s))
	long := time.Duration(0)
	for i, op := range awake {
		if s[i].Wait <= time.Minute || i < 24 {
			require.Equal(t, s[i], op)
			continue
		}
		require.Equal(t, time.Minute, op.Wait)
		op.Wait = s[i].Wait
		require.Equal(t, s[i], op)
	}
	for _, op := range awake {
		if op.Wait > time.Minute {
			long += op.Wait
		}
	}
	assert.Equal(t, 24*time.Hour, long)
}
