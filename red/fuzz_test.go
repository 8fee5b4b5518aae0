package red

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
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
		seed = append(seed, 0x1d, 0, 0x7e, 0xb1, 0x6f, 0, 0x7f, 0xb3)
		f.Add(seed)
		seed = slices.Clone(seed)
		seed[0] += (1 + i%6) * byte(len(configs())) // the same from another start
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return
		}
		s := script.Decode(data[2:], 1024).Awake()
		for _, start := range script.Starts(data[0] / byte(len(configs()))) {
			if err := lockstep(t, int(data[0]), uint64(data[1]), start, s); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestOracle runs long random scripts, disturbed, with reconfigurations from every
// configuration to every other.
func TestOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 1993))
	for i := range configs() {
		s := script.Random(r, 4000, 3*ms)
		script.Disturb(r, s, 50)
		seed := r.Uint64()
		for _, start := range script.Starts(byte(i)) {
			require.NoError(t, lockstep(t, i, seed, start, s))
		}
	}
}

// lockstep runs s from start on under the configuration of that number and returns the
// first difference, with a short script that shows one.
func lockstep(t *testing.T, number int, seed uint64, start aqm.Time, s script.Script) error {
	all := configs()
	c := all[number%len(all)]
	err := scripttest.Check(s, func(s script.Script) error {
		a, b, differ := pair(t, c, seed, 1e-12)
		at := number
		m := script.Machine{Now: start, LimitPackets: 40, Judged: script.Agree(differ), Reconfigure: func(n int) error {
			at += n + 1
			c := all[at%len(all)]
			c.Rate <<= n % 3
			c.AdaptInterval >>= n % 5
			b.Reconfigure(naive(c, 0))
			return a.Reconfigure(c)
		}}
		return m.Run(s, a, b)
	})
	if err != nil {
		return fmt.Errorf("config %+v, seed %d, start %d: %w", c, seed, start, err)
	}
	return nil
}
