package aqm_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
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
	properties.Property("Arrived = Refused + Delivered + Dropped + Flushed + queued, in packets and bytes, after every step", scripttest.ForAll(
		func(s script.Script, limit int, limitBytes int64, aqmSeed uint64) string {
			f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: limit, LimitBytes: limitBytes}, coin{rand.New(rand.NewPCG(aqmSeed, 0))})
			if err != nil {
				return err.Error()
			}
			var now aqm.Time
			for i, op := range s {
				now = now.Add(op.Wait)
				switch op.Kind {
				case script.Arrive:
					f.Enqueue(now, i, aqm.Packet{Size: op.Size, ECN: op.ECN, Class: op.Class})
				case script.Depart:
					f.Dequeue(now)
				case script.Flush:
					f.Flush(nil)
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
		scripttest.Hostile(1000, time.Millisecond), gen.IntRange(1, 20), gen.Int64Range(0, 20_000), gen.UInt64()))
	properties.TestingRun(t)
}
