package aqmtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Sender is the congestion control of the flows in closed loop.
type Sender uint8

// The senders.
const (
	Reno  Sender = iota // NewReno with SACK, with ECN by RFC 3168
	CUBIC               // RFC 9438, with ECN by RFC 3168
	DCTCP               // RFC 8257

	numSenders = iota
)

// Range is an interval, both ends included.
type Range[T any] struct{ Low, High T }

// Domain is where an AQM promises to be stable, and what it promises there. Rate, RTT
// and Flows are what it is designed for. Points of it are drawn evenly from a seed;
// the first one is always the corner where the loop's gain and its lag are largest:
// the highest rate, the longest RTT and the fewest flows.
//
// A point is a link with long-lived flows whose base RTTs are spread evenly from half
// of the point's to all of it, and a buffer for twice the link's pipe at that RTT and
// four times the target. There are six phases of twice Settle:
//
//   - the queue is empty, and the flows start;
//   - flows x2;
//   - flows /2, back to the point's;
//   - rate /2;
//   - rate x2, back to the point's;
//   - the flows start again, after ten minutes of silence.
//
// so that the AQM is also asked to hold twice Flows.High, and half of Rate.Low. In
// each phase the queue is to be in bounds after Settle and to stay there for as long.
type Domain struct {
	Rate  Range[uint64]        // bit/s; > 0; of the link
	RTT   Range[time.Duration] // > 0; without queueing, of the flow with the longest
	Flows Range[int]           // > 0; long-lived flows; at least 2 packets in the window of each after a step

	Unit   aqm.Unit // of Target: Packets, Bytes or Delay
	Target float64  // in Unit; > 0; where the queue is to stand

	Band        Range[float64] // share of Target; 0 <= Low < High; where the mean of the queue is to be
	Swing       float64        // share of the mean; > 0; half of the distance between the 5 % and the 95 % quantile of the queue is at most this
	Settle      time.Duration  // [20 RTT.High, 1h]; after a step; means over a tenth of it then stay in Band, give or take Swing
	Utilisation float64        // [0, 1]; least share of the time that the link is busy

	Sender Sender // of the flows
	Points int    // > 0; how many are drawn

	// Design makes the AQM for a point, in place of the MakeAQM, which makes the same
	// for all; nil: the MakeAQM does.
	Design func(p Point, src rand.Source) (aqm.AQM, error)

	// SetRate tells the AQM of a new capacity, in bit/s, where a datapath would; nil:
	// it has to find out.
	SetRate func(a aqm.AQM, rate uint64) error
}

// Point is one link with its flows.
type Point struct {
	Rate  uint64        // bit/s
	RTT   time.Duration // without queueing, of the flow with the longest
	Flows int
	Seed  uint64 // it was drawn from
	Index int    // among the points of the seed
}

// String returns a line.
func (p Point) String() string {
	return fmt.Sprintf("%.4g Mb/s, RTT %v, %d flows (point %d of seed %d)", float64(p.Rate)/1e6, p.RTT, p.Flows, p.Index, p.Seed)
}

// name is that of the subtest.
func (p Point) name() string { return fmt.Sprintf("seed=%d/point=%d", p.Seed, p.Index) }

// packetSize is the size of full segments on the wire, in bytes.
const packetSize = 1500

// leastWindow is the smallest window of a flow that the domain may ask for, in
// packets: with less, TCP lives from timeout to timeout, and no signal can be obeyed.
const leastWindow = 2

// Validate returns all that is wrong with d, or nil.
func (d Domain) Validate() error {
	var errs []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("aqmtest: Domain."+format, args...))
		}
	}
	require(d.Rate.Low >= 1000 && d.Rate.Low <= d.Rate.High && d.Rate.High <= 1e12, "Rate = %d to %d bit/s, must be a range in [1000, 1e12]", d.Rate.Low, d.Rate.High)
	require(d.RTT.Low > 0 && d.RTT.Low <= d.RTT.High && d.RTT.High <= time.Minute, "RTT = %v to %v, must be a range in (0s, 1m]", d.RTT.Low, d.RTT.High)
	require(d.Flows.Low > 0 && d.Flows.Low <= d.Flows.High && d.Flows.High <= 1e6, "Flows = %d to %d, must be a range in [1, 1e6]", d.Flows.Low, d.Flows.High)
	require(d.Unit < aqm.NumUnits, "Unit = %v, must be Packets, Bytes or Delay", d.Unit)
	require(d.Target > 0 && d.Target <= math.MaxInt32, "Target = %v %v, must be in (0, 2^31)", d.Target, d.Unit)
	require(d.Band.Low >= 0 && d.Band.Low < d.Band.High && d.Band.High <= 1e6, "Band = %v to %v of the target, must be a range in [0, 1e6]", d.Band.Low, d.Band.High)
	require(d.Swing > 0 && d.Swing <= 1e6, "Swing = %v of the mean, must be in (0, 1e6]", d.Swing)
	require(d.Settle > 0 && d.Settle <= time.Hour && d.Settle >= 20*d.RTT.High, "Settle = %v, must be in [20 RTT.High, 1h]", d.Settle)
	require(d.Utilisation >= 0 && d.Utilisation <= 1, "Utilisation = %v, must be in [0, 1]", d.Utilisation)
	require(d.Sender < numSenders, "Sender = %d, must be Reno, CUBIC or DCTCP", d.Sender)
	require(d.Points > 0 && d.Points <= 1e6, "Points = %d, must be in [1, 1e6]", d.Points)
	if len(errs) == 0 {
		window := pipe(d.Rate.Low, d.RTT.Low) / float64(2*d.Flows.High)
		require(window >= leastWindow, "Flows = %d at most, at %d bit/s and %v: %.3g packets are left for the window of each of twice as many, must be >= %d", d.Flows.High, d.Rate.Low, d.RTT.Low, window, leastWindow)
		most := pipe(d.Rate.High, d.RTT.High) + d.inPackets(d.Target, d.Rate.High)
		require(most*4 < aqm.MaxLimitPackets, "Rate = %d bit/s at most, at %v and a target of %v %v: a buffer for %.3g packets, must be < %d", d.Rate.High, d.RTT.High, d.Target, d.Unit, 4*most, aqm.MaxLimitPackets)
	}
	return errors.Join(errs...)
}

// pipe returns how many packets a link of rate bit/s sends in d.
func pipe(rate uint64, d time.Duration) float64 {
	return float64(rate) / (8 * packetSize) * d.Seconds()
}

// inPackets returns how many packets q in Unit are.
func (d Domain) inPackets(q float64, rate uint64) float64 {
	switch d.Unit {
	case aqm.Bytes:
		return q / packetSize
	case aqm.Delay:
		return q * float64(rate) / (8 * packetSize)
	}
	return q
}

// inUnit is the inverse of inPackets.
func (d Domain) inUnit(q float64, rate uint64) float64 {
	switch d.Unit {
	case aqm.Bytes:
		return q * packetSize
	case aqm.Delay:
		return q * 8 * packetSize / float64(rate)
	}
	return q
}

// points returns the points of a seed.
func (d Domain) points(seed uint64) []Point {
	rng := rand.New(rand.NewPCG(seed, 0x5741b1e)) // not the AQM's
	between := func(low, high uint64) uint64 { return low + rng.Uint64N(high-low+1) }
	points := []Point{{d.Rate.High, d.RTT.High, d.Flows.Low, seed, 0}}
	for i := 1; i < d.Points; i++ {
		points = append(points, Point{
			Rate:  between(d.Rate.Low, d.Rate.High),
			RTT:   time.Duration(between(uint64(d.RTT.Low), uint64(d.RTT.High))),
			Flows: int(between(uint64(d.Flows.Low), uint64(d.Flows.High))),
			Seed:  seed, Index: i,
		})
	}
	return points
}

// buffer returns what the link's queue holds at a point, in packets.
func (d Domain) buffer(p Point) int {
	return int(2*pipe(p.Rate, p.RTT)+4*d.inPackets(d.Target, p.Rate)) + 8
}
