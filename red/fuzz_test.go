package red

import (
	"testing"

	"github.com/aqmkit/aqmkit/internal/script"
)

// configs are what the fuzz target and the properties run: every option, thresholds
// within reach of a queue of 40 packets, and averages from slow to none.
func configs() []Config {
	c := DefaultConfig()
	c.MaxP = 0.1
	var all []Config
	for _, weight := range []float64{0.002, 0.1, 1} {
		c.Weight = weight
		for _, c.Gentle = range []bool{false, true} {
			for _, c.Wait = range []bool{false, true} {
				all = append(all, c)
			}
		}
	}
	for i := range all {
		c := all[i].InBytes()
		c.ScaleBySize = i%2 == 0
		c.MaxECN = []float64{0, 0.05, 0.1, 0.5, 1}[i%5]
		c.Adaptive = i%3 != 0
		all = append(all, c)
		c = all[i]
		c.Adaptive = true
		c.Rate = 1_000_000_000
		all = append(all, c)
	}
	return all
}

// FuzzRED runs a RED and its oracle in lockstep: equal verdicts, equal ticks, equal
// max_p and p_b.
func FuzzRED(f *testing.F) {
	for i := range byte(len(configs())) {
		seed := []byte{i, i}
		for range 30 { // a queue builds up and stands
			seed = append(seed, 0x77, 0xb2, 0x76, 0xb0)
		}
		for range 30 {
			seed = append(seed, 0x78, 0xb2, 0x18, 0)
		}
		for range 30 { // is left alone, and drained
			seed = append(seed, 0x7c, 0xb2, 0x1a, 0, 0x17, 0, 0x17, 0)
		}
		f.Add(append(seed, 0x1d, 0, 0x7e, 0xb1, 0x6f, 0, 0x7f, 0xb3))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return
		}
		all := configs()
		c := all[int(data[0])%len(all)]
		a, b, differ := pair(t, c, uint64(data[1]), 1e-12)
		m := script.Machine{LimitPackets: 40, Judged: script.Agree(differ)}
		s := script.Decode(data[2:], 1024)
		if err := m.Run(s, a, b); err != nil {
			t.Fatalf("config %+v: %v\n%v", c, err, s)
		}
	})
}
