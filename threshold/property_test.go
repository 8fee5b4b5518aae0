package threshold

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
)

const seed = 1

// verdicts runs s under c and calls judged with every answer.
func verdicts(c Config, s script.Script, judged func(script.Judgement, aqm.Verdict)) bool {
	th, err := New(c)
	if err != nil {
		return false
	}
	m := script.Machine{LimitPackets: 60, Judged: func(j script.Judgement) error {
		judged(j, j.Verdicts[0])
		return nil
	}}
	return m.Run(s, th) == nil
}

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)
	marks := 0

	properties.Property("exact: a packet is signalled if and only if what is measured is above K", scripttest.ForAll(
		func(s script.Script, unit, k int, dropNotECT bool) bool {
			c := []Config{{Packets: k}, {Bytes: int64(k) * 700}, {Sojourn: time.Duration(k) * 100 * time.Microsecond}}[unit]
			c.DropNotECT = dropNotECT
			exact, clock := true, time.Duration(math.MinInt64) // the largest now
			ok := verdicts(c, s, func(j script.Judgement, v aqm.Verdict) {
				clock = max(clock, time.Duration(j.Now))
				above := !j.AtDequeue && (c.Packets != 0 && j.Occupancy.Packets > k || c.Bytes != 0 && j.Occupancy.Bytes > c.Bytes) ||
					j.AtDequeue && c.Sojourn != 0 && clock-time.Duration(j.Packet.EnqueuedAt) > c.Sojourn
				want := aqm.Verdict{}
				switch {
				case j.Occupancy.Full:
					want = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
				case above && j.Packet.ECN.Capable():
					want = aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
					marks++
				case above && dropNotECT:
					want = aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}
				}
				exact = exact && v == want
			})
			return ok && exact
		},
		scripttest.Hostile(500, 100*time.Microsecond), gen.IntRange(0, 2), gen.IntRange(1, 40), gen.Bool()))

	properties.Property("scale: multiplying K and sojourn alike changes no verdict", prop.ForAll(
		func(k, sojourn, factor int64) bool {
			mark := func(factor int64) bool {
				th, err := New(Config{Sojourn: time.Duration(k * factor)})
				return err == nil && th.Dequeue(aqm.Time(sojourn*factor), aqm.Packet{ECN: aqm.ECT0}, aqm.Occupancy{}).Action == aqm.Mark
			}
			return mark(1) == mark(factor)
		},
		gen.Int64Range(1, 1000), gen.Int64Range(0, 2000), gen.Int64Range(1, 1_000_000)))

	properties.Property("scale: multiplying K and all sizes, or all times, changes no verdict", scripttest.ForAll(
		func(s script.Script, k int, factor int64) bool {
			run := func(c Config, s script.Script) (all []aqm.Verdict) {
				verdicts(c, s, func(_ script.Judgement, v aqm.Verdict) { all = append(all, v) })
				return all
			}
			long, large := slices.Clone(s), slices.Clone(s)
			for i := range s {
				long[i].Wait *= time.Duration(factor)
				large[i].Size *= uint32(factor)
			}
			sojourn, bytes := time.Duration(k)*100*time.Microsecond, int64(k)*700
			return slices.Equal(run(Config{Sojourn: sojourn}, s), run(Config{Sojourn: sojourn * time.Duration(factor)}, long)) &&
				slices.Equal(run(Config{Bytes: bytes}, s), run(Config{Bytes: bytes * factor}, large))
		},
		scripttest.Random(500, 100*time.Microsecond), gen.IntRange(1, 40), gen.Int64Range(1, 1000)))

	properties.TestingRun(t)
	if marks == 0 {
		t.Error("no packet was marked")
	}
}
