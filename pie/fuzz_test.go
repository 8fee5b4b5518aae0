package pie

import (
	"math/rand/v2"
	"testing"

	"github.com/aqmkit/aqmkit/internal/script"
)

// FuzzPIE runs a PIE and its oracle in lockstep: equal verdicts, equal ticks, and p
// and the accumulator equal to the last bit.
func FuzzPIE(f *testing.F) {
	for i := range byte(len(configs())) {
		seed := []byte{i, i}
		for range 40 { // a queue builds up, stands, and is left alone
			seed = append(seed, 0x77, 0xb2, 0x77, 0xb0, 0x17, 0)
		}
		for range 20 {
			seed = append(seed, 0x7a, 0xb2, 0x1a, 0, 0x7b, 0x22, 0x1c, 0)
		}
		f.Add(append(seed, 0x1d, 0, 0x7e, 0xb1, 0x6f, 0, 0x7f, 0xb3))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return
		}
		all := configs()
		c := all[int(data[0])%len(all)]
		c.Rand = rand.NewPCG(uint64(data[1]), 1)
		a, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		c.Rand = rand.NewPCG(uint64(data[1]), 1)
		o := naive(c)
		m := script.Machine{LimitPackets: 100, Judged: script.Agree(func() error { return differ(a, o) })}
		s := script.Decode(data[2:], 512)
		if err := m.Run(s, a, o); err != nil {
			t.Fatalf("config %+v: %v\n%v", c, err, s)
		}
	})
}
