package threshold

import (
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/aqmkit/aqmkit/aqm"
)

const seed = 1

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)

	properties.Property("exact: an ECN-capable packet is marked if and only if the backlog is above K", prop.ForAll(
		func(k, backlog int, e uint8) bool {
			th, err := New(Config{Packets: k})
			if err != nil {
				return false
			}
			p := aqm.Packet{Size: 1500, ECN: aqm.ECN(e)}
			v := th.Enqueue(0, p, aqm.Occupancy{Packets: backlog})
			return (v.Action == aqm.Mark) == (backlog > k && p.ECN.Capable()) && v.Action != aqm.Drop
		},
		gen.IntRange(1, 200), gen.IntRange(0, 400), gen.UInt8Range(0, 3)))

	properties.Property("scale: multiplying K and sojourn alike changes no verdict", prop.ForAll(
		func(k, sojourn, factor int64) bool {
			mark := func(factor int64) bool {
				th, err := New(Config{Sojourn: time.Duration(k * factor)})
				return err == nil && th.Dequeue(aqm.Time(sojourn*factor), aqm.Packet{ECN: aqm.ECT0}, aqm.Occupancy{}).Action == aqm.Mark
			}
			return mark(1) == mark(factor)
		},
		gen.Int64Range(1, 1000), gen.Int64Range(0, 2000), gen.Int64Range(1, 1_000_000)))

	properties.TestingRun(t)
}
