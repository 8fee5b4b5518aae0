package red

import (
	"math"
	"math/bits"
)

// idleClock counts idle time in small packets: how many the link could have sent
// meanwhile, m = f(time - q_time) [RED Fig. 2]. What is left of one idle period,
// less than a packet, counts for the next. Else an average under a stream of
// packets that each find the queue empty, but never for long, would stand still.
type idleClock struct {
	rate   uint64 // bit/s
	packet uint64 // of MeanPacket: bits times nanoseconds in a second, so that ns*rate/packet are packets
	rest   uint64 // idle time not yet counted, in the unit of packet
}

// newIdleClock returns a clock at the start of an idle period. The arguments are
// within the bounds of Validate.
func newIdleClock(rate uint64, meanPacket uint32) idleClock {
	return idleClock{rate: rate, packet: uint64(meanPacket) * 8 * 1e9}
}

// packets returns how many packets have fit in once another ns nanoseconds are
// over, and what is left. The quotient is exact and saturates.
func (c *idleClock) packets(ns uint64) (m, rest uint64) {
	hi, lo := bits.Mul64(ns, c.rate)
	lo, carry := bits.Add64(lo, c.rest, 0)
	hi += carry
	if hi >= c.packet {
		return math.MaxUint64, bits.Rem64(hi, lo, c.packet)
	}
	return bits.Div64(hi, lo, c.packet)
}

// advance lets ns nanoseconds pass and returns the packets that are over.
func (c *idleClock) advance(ns uint64) (m uint64) {
	m, c.rest = c.packets(ns)
	return m
}
