package tunlink

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/threshold"
)

// TCP flags.
const (
	fin = 0x01
	syn = 0x02
	ack = 0x10
)

// ipPacket returns an IPv4 packet of size bytes that carries TCP with the flags, and
// id, which is in the IP header.
func ipPacket(size int, ecn aqm.ECN, flags byte, id uint16) []byte {
	b := make([]byte, size)
	b[0], b[1] = 0x45, byte(ecn)
	binary.BigEndian.PutUint16(b[2:], uint16(size))
	binary.BigEndian.PutUint16(b[4:], id)
	b[8], b[9] = 64, 6
	binary.BigEndian.PutUint16(b[10:], ^headerSum(b))
	b[32], b[33] = 5<<4, flags
	return b
}

// headerSum is the one's complement sum of an IPv4 header: 0xffff if the checksum in
// it is right.
func headerSum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

func id(b []byte) uint16 { return binary.BigEndian.Uint16(b[4:]) }

// direction is a 12 Mb/s link: 1500 bytes take 1 ms.
func direction(a aqm.AQM) Direction {
	return Direction{Rate: 12e6, Delay: 10 * time.Millisecond, LimitPackets: 10, AQM: a}
}

func makePipe(t testing.TB, d Direction) *pipe {
	t.Helper()
	p, err := newPipe(d, DefaultMTU, 0)
	require.NoError(t, err)
	return p
}

// arriveAt hands b to the pipe at an instant.
func (p *pipe) arriveAt(at time.Duration, b []byte) (wake bool) {
	pk := p.take()
	return p.arrive(func() aqm.Time { return aqm.Time(at) }, pk, copy(pk.buf, b))
}

// delivery is a packet that came out: which, and when it was due.
type delivery struct {
	id  uint16
	due time.Duration
}

// deliverAt takes what is due by an instant, and returns what that was and when the
// next is.
func (p *pipe) deliverAt(at time.Duration) (got []delivery, next time.Duration) {
	due, wake := p.deliver(aqm.Time(at))
	for pk := due.first; pk != nil; pk = pk.next {
		got = append(got, delivery{id(pk.bytes), time.Duration(pk.due)})
	}
	p.release(due)
	return got, time.Duration(wake)
}

const ms = time.Millisecond

// TestInstants sends a burst through the link and looks in late: the packets are due
// at the instants that the rate and the delay give, whenever somebody comes by.
func TestInstants(t *testing.T) {
	p := makePipe(t, direction(aqm.TailDrop{}))
	got, next := p.deliverAt(0)
	assert.Empty(t, got)
	assert.Equal(t, time.Duration(never), next, "an empty link waits for an arrival")
	assert.True(t, p.arriveAt(5*ms, ipPacket(1500, aqm.ECT0, ack, 0)), "which says so")
	assert.False(t, p.arriveAt(5*ms, ipPacket(1500, aqm.ECT0, ack, 1)), "once")
	assert.False(t, p.arriveAt(5*ms, ipPacket(750, aqm.ECT0, ack, 2)))

	got, next = p.deliverAt(15 * ms)
	assert.Empty(t, got)
	assert.Equal(t, 16*ms, next, "1 ms of transmission and 10 ms of propagation")
	p.arriveAt(15200*time.Microsecond, ipPacket(1500, aqm.ECT0, ack, 3)) // long after the others have departed
	got, next = p.deliverAt(18 * ms)                                     // late
	assert.Equal(t, []delivery{{0, 16 * ms}, {1, 17 * ms}, {2, 17500 * time.Microsecond}}, got)
	assert.Equal(t, 26200*time.Microsecond, next)
	got, next = p.deliverAt(next)
	assert.Equal(t, []delivery{{3, 26200 * time.Microsecond}}, got)
	assert.Equal(t, time.Duration(never), next)

	s := p.snapshot(aqm.Time(30 * ms))
	assert.Equal(t, aqm.Count{Packets: 4, Bytes: 5250}, s.Queue.Delivered)
	assert.Equal(t, int64(4), s.Sojourn.TotalCount())
	assert.InDelta(t, 2e6, float64(s.Sojourn.Max()), 2e3, "the third waited for two")
	assert.InDelta(t, 2e6, float64(s.Lateness.Max()), 2e3, "the first was looked for at 18 ms")
	assert.Zero(t, s.InFlight)
	assert.Zero(t, s.Queued)
}

// TestSnapshot is as of its own instant, not of the last visit.
func TestSnapshot(t *testing.T) {
	p := makePipe(t, direction(aqm.TailDrop{}))
	for i := range uint16(5) {
		p.arriveAt(0, ipPacket(1500, aqm.NotECT, ack, i))
	}
	s := p.snapshot(aqm.Time(2500 * time.Microsecond))
	assert.Equal(t, aqm.Count{Packets: 2, Bytes: 3000}, s.Queued)
	assert.Equal(t, 3, s.InFlight)
}

// TestMarks sets CE on what the algorithm marks, and on nothing else, with a right
// checksum.
func TestMarks(t *testing.T) {
	th, err := threshold.New(threshold.Config{Packets: 2})
	require.NoError(t, err)
	p := makePipe(t, direction(th))
	ecn := []aqm.ECN{aqm.ECT0, aqm.ECT0, aqm.ECT0, aqm.ECT0, aqm.ECT0, aqm.ECT1, aqm.NotECT, aqm.CE}
	for i, e := range ecn {
		p.arriveAt(0, ipPacket(1000, e, ack, uint16(i)))
	}
	due, _ := p.deliver(aqm.Time(time.Second))
	var got []aqm.ECN
	for pk := due.first; pk != nil; pk = pk.next {
		got = append(got, aqm.ECNFromTOS(pk.bytes[1]))
		assert.Equal(t, uint16(0xffff), headerSum(pk.bytes), "checksum of packet %d", id(pk.bytes))
	}
	// The first is in transmission at once; the fifth is the first that finds three.
	assert.Equal(t, []aqm.ECN{aqm.ECT0, aqm.ECT0, aqm.ECT0, aqm.ECT0, aqm.CE, aqm.CE, aqm.NotECT, aqm.CE}, got)
	s := p.snapshot(aqm.Time(time.Second))
	assert.Equal(t, uint64(2), s.Queue.Marked.Packets)
	assert.Equal(t, uint64(2), s.MarkedSent)
	assert.Zero(t, s.MarkedDropped)
}

// thief marks on the way in and drops on the way out.
type thief struct{}

func (thief) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	return aqm.MarkOrDrop(p.ECN, aqm.Early)
}

func (thief) Dequeue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Packets%2 == 1 {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
	}
	return aqm.Verdict{}
}

// TestAccounts adds up what became of every packet, by group and reason.
func TestAccounts(t *testing.T) {
	d := direction(thief{})
	d.LimitPackets = 6
	p := makePipe(t, d)
	for i := range uint16(8) {
		p.arriveAt(0, ipPacket(1500, aqm.ECT0, ack, i)) // the first is in transmission, the eighth finds six
	}
	p.arriveAt(0, ipPacket(40, aqm.NotECT, ack, 8))
	p.arriveAt(0, ipPacket(40, aqm.NotECT, syn, 9))
	p.arriveAt(0, ipPacket(40, aqm.NotECT, syn|ack, 10))
	p.arriveAt(0, ipPacket(40, aqm.NotECT, fin|ack, 11))
	p.arriveAt(0, []byte("not IP"))
	p.arriveAt(0, ipPacket(1500, aqm.ECT0, ack, 12)[:100]) // cut off
	got, _ := p.deliverAt(time.Second)
	s := p.snapshot(aqm.Time(time.Second))
	assert.Equal(t, [NumGroups]uint64{8, 1, 2, 3}, s.Arrived)
	want := [NumGroups][aqm.NumReasons]uint64{}
	want[Data][aqm.Overflow] = 1
	want[Data][aqm.Forced] = 3
	want[ACK][aqm.Overflow] = 1
	want[SYN][aqm.Overflow] = 2
	want[Other][aqm.Overflow] = 3
	assert.Equal(t, want, s.Dropped)
	assert.Equal(t, uint64(2), s.Malformed)
	assert.Len(t, got, 4)
	assert.Equal(t, uint64(7), s.Queue.Marked.Packets)
	assert.Equal(t, uint64(4), s.MarkedSent)
	assert.Equal(t, uint64(3), s.MarkedDropped)
}

// TestMalformedPasses hands on what is not IP as it came.
func TestMalformedPasses(t *testing.T) {
	p := makePipe(t, direction(aqm.TailDrop{}))
	p.arriveAt(0, []byte("not IP"))
	p.arriveAt(0, nil)
	due, _ := p.deliver(aqm.Time(time.Second))
	assert.Equal(t, "not IP", string(due.pop().bytes))
	assert.Empty(t, due.pop().bytes)
	s := p.snapshot(aqm.Time(time.Second))
	assert.Equal(t, uint64(2), s.Malformed)
	assert.Equal(t, uint64(2), s.Arrived[Other])
}

// TestBuffers sends distinct packets through drops and reuse: each that comes out is
// whole. In the steady state nothing is allocated.
func TestBuffers(t *testing.T) {
	p := makePipe(t, Direction{Rate: 20e6, Delay: ms, LimitPackets: 5, AQM: thief{}})
	b := ipPacket(300, aqm.ECT0, ack, 0)
	at, sent, received := time.Duration(0), 0, 0
	step := func() {
		for range 4 {
			for i := 39; i < len(b); i++ {
				b[i] = byte(sent)
			}
			p.arriveAt(at, b)
			sent++
		}
		at += 300 * time.Microsecond
		due, _ := p.deliver(aqm.Time(at))
		for pk := due.first; pk != nil; pk = pk.next {
			if bytes.Count(pk.bytes[39:], pk.bytes[39:40]) != len(b)-39 {
				t.Fatal("two packets in one buffer")
			}
			received++
		}
		p.release(due)
	}
	for range 200 {
		step()
	}
	require.NotZero(t, received)
	require.Less(t, received, sent, "some were dropped")
	assert.Zero(t, testing.AllocsPerRun(1, func() {
		for range 2000 {
			step()
		}
	}))
	buffers := 0
	for pk := p.free.first; pk != nil; pk = pk.next {
		buffers++
	}
	assert.Less(t, buffers, 40, "what one queue and one flight hold")
}

func TestGroupOf(t *testing.T) {
	for class, want := range map[aqm.Class]Group{
		aqm.Data: Data, aqm.Data | aqm.FIN: Data, aqm.Data | aqm.ECE: Data,
		aqm.PureACK: ACK, aqm.PureACK | aqm.ECE: ACK,
		aqm.SYN: SYN, aqm.SYNACK: SYN, aqm.SYN | aqm.Data: SYN, aqm.SYN | aqm.ECE: SYN,
		aqm.FIN: Other, aqm.RST: Other, aqm.Other: Other, 0: Other, aqm.ECE: Other,
	} {
		assert.Equal(t, want, GroupOf(class), "%v", class)
	}
	assert.Equal(t, "data ACK SYN other", Data.String()+" "+ACK.String()+" "+SYN.String()+" "+Other.String())
}
