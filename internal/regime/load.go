// Package regime has the loads that benchmarks put on the algorithms: for each of
// them, instances in the states that matter for their cost, and streams of questions
// that keep them there.
package regime

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Steps is the length of a Load: a power of two, so that a loop can run round it.
const Steps = 4096

// PacketTime is how long a packet waits for each one before it: 1500 bytes at
// 100 Mb/s.
const PacketTime = 120 * time.Microsecond

// Sample is how many packets a sample of a benchmark has: about a millisecond, so
// that an interrupt spoils one sample and not the median. A regime is what its name
// says for so long, from a new instance on; some laws leave it after.
const Sample = 1 << 17

// Load is a stream of packets with the backlog that each finds.
type Load [Steps]Step

// Step is one packet of a Load: 16 bytes, so that a Load stays in the first caches.
type Step struct {
	Wait    uint32 // since the packet before, ns
	Backlog int32  // packets of 1500 bytes; the sojourn time is Backlog*PacketTime
	Size    uint32 // bytes
	ECN     aqm.ECN
	Class   aqm.Class
	Level   uint16 // packets that a FIFO is kept at
}

// Arrival returns what an AQM is told of the step's packet as it arrives.
func (s *Step) Arrival() (aqm.Packet, aqm.Occupancy) {
	return aqm.Packet{Size: s.Size, ECN: s.ECN, Class: s.Class},
		aqm.Occupancy{Packets: int(s.Backlog), Bytes: int64(s.Backlog) * 1500}
}

// Departure returns what an AQM is told of the step's packet as it departs at now,
// queued for as long as its backlog takes to send.
func (s *Step) Departure(now aqm.Time) (aqm.Packet, aqm.Occupancy) {
	p, q := s.Arrival()
	p.EnqueuedAt = now - aqm.Time(s.Backlog)*aqm.Time(PacketTime)
	return p, q
}

// Shape is a queue over time: what the packets of a Load find, and where a FIFO is
// kept.
type Shape struct{ backlog, level func(i int) int }

// NewLoad returns a stream of packets, PacketTime apart, that find the backlog that
// shape says. Three in four are of 1500 bytes; the codepoints cycle through ecn.
func NewLoad(shape Shape, ecn ...aqm.ECN) *Load {
	r := rand.New(rand.NewPCG(1, 1))
	l := new(Load)
	for i := range l {
		size := uint32(1500)
		if r.IntN(4) == 0 {
			size = 64 + uint32(r.IntN(1400))
		}
		l[i] = Step{
			Wait: uint32(PacketTime), Backlog: int32(shape.backlog(i)), Size: size,
			ECN: ecn[i%len(ecn)], Class: aqm.Data, Level: uint16(shape.level(i)),
		}
	}
	return l
}

// Standing is a backlog of n packets, and up to 15 more. A FIFO is slowly taken up
// and down over the same.
func Standing(n int) Shape {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	return Shape{
		func(int) int { return n + r.IntN(16) },
		func(i int) int { return n + int(8+7.9*math.Sin(float64(i)*2*math.Pi/Steps)) },
	}
}

// Steady is a backlog of exactly n packets.
func Steady(n int) Shape { return Shape{constant(n), constant(n)} }

func constant(n int) func(int) int { return func(int) int { return n } }

// Walk is a random walk over all regimes, drawn to a sine between 10 and 190
// packets: the load on which the costs of RED are compared across implementations. A
// FIFO is kept at the sine, which one arrival at a time can follow.
func Walk() Shape {
	r := rand.New(rand.NewPCG(3, 3))
	q := 100.0
	sine := func(i int) float64 { return 100 + 90*math.Sin(float64(i)*2*math.Pi/Steps) }
	walk := func(i int) int {
		q += 6 * (2*r.Float64() - 1)
		q += 0.02 * (sine(i) - q)
		q = max(q, 0)
		return int(q)
	}
	return Shape{walk, func(i int) int { return int(sine(i)) }}
}

// Enqueues asks a about n arrivals, one after the other, from now on, and returns
// the instant of the last and the number that did not pass.
func (l *Load) Enqueues(a aqm.AQM, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) { // unsigned: a mask, where a sign would take four instructions
		s := &l[i%Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Arrival()
		if v := a.Enqueue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}

// Dequeues asks a about n departures.
func (l *Load) Dequeues(a aqm.AQM, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) {
		s := &l[i%Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Departure(now)
		if v := a.Dequeue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}

// Pairs asks a about n arrivals and n departures in turn.
func (l *Load) Pairs(a aqm.AQM, now aqm.Time, n int) (aqm.Time, int) {
	signals := 0
	for i := range uint(n) {
		s := &l[i%Steps]
		now += aqm.Time(s.Wait)
		p, q := s.Arrival()
		if v := a.Enqueue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
		p, q = s.Departure(now) // anew: to keep it across the call would take as many stores
		if v := a.Dequeue(now, p, q); v.Action != aqm.Pass {
			signals++
		}
	}
	return now, signals
}

// Noop is the floor: what a decision costs that decides nothing.
type Noop struct{}

// Enqueue passes the packet.
func (*Noop) Enqueue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }

// Dequeue passes the packet.
func (*Noop) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }
