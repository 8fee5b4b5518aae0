package aqm_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/aqmkit/aqmkit/aqm"
)

const seed = 1

// coin signals at both ends with a probability, for whatever reason.
type coin struct{ r *rand.Rand }

func (c coin) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	return c.Dequeue(0, p, q)
}

func (c coin) Dequeue(_ aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	return aqm.MarkOrDrop(p.ECN, aqm.Reason(max(0, c.r.IntN(12)-9)))
}

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)
	properties.Property("Arrived = Refused + Delivered + Dropped + Flushed + queued, in packets and bytes, after every step", prop.ForAll(
		func(ops []byte, limit int, limitBytes int64, aqmSeed uint64) string {
			f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: limit, LimitBytes: limitBytes}, coin{rand.New(rand.NewPCG(aqmSeed, 0))})
			if err != nil {
				return err.Error()
			}
			for i, op := range ops {
				switch {
				case op == 255:
					f.Flush(nil)
				case op&1 == 0:
					f.Enqueue(aqm.Time(i), i, aqm.Packet{Size: uint32(op) * 13, ECN: aqm.ECN(op >> 1 & 3)})
				default:
					f.Dequeue(aqm.Time(i))
				}
				s := f.Stats()
				out := aqm.Count{Packets: uint64(f.Len()), Bytes: uint64(f.Bytes())}
				for _, c := range []aqm.Count{s.Refused, s.Delivered, s.Dropped, s.Flushed} {
					out.Packets += c.Packets
					out.Bytes += c.Bytes
				}
				if out != s.Arrived {
					return fmt.Sprintf("after step %d: %+v, queued %d packets, %d bytes", i, s, f.Len(), f.Bytes())
				}
			}
			return ""
		},
		gen.SliceOf(gen.UInt8()), gen.IntRange(1, 20), gen.Int64Range(0, 20_000), gen.UInt64()))
	properties.TestingRun(t)
}
