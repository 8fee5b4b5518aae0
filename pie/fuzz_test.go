package pie

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
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
		seed = append(seed, 0x1d, 0, 0x7e, 0xb1, 0x6f, 0, 0x7f, 0xb3)
		f.Add(seed)
		seed = slices.Clone(seed)
		seed[0] += (1 + i%7) * byte(len(configs())) // the same from another start
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return
		}
		s := script.Decode(data[2:], 512)
		for _, start := range script.Starts(data[0] / byte(len(configs()))) {
			if _, err := lockstep(int(data[0]), uint64(data[1]), start, s); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestOracle runs long random scripts, disturbed, with reconfigurations from every
// configuration to every other.
func TestOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8033))
	reached := map[int]bool{}
	for i, c := range configs() {
		for range 4 {
			s := script.Random(r, 4000, c.Target/10)
			script.Disturb(r, s, 50)
			numbers, err := lockstep(i, r.Uint64(), script.Start(byte(r.Uint32())), s)
			require.NoError(t, err)
			for _, n := range numbers {
				reached[n] = true
			}
		}
	}
	assert.Len(t, reached, 2*len(configs()), "what the scripts' numbers reach, shrunk configurations too")
}

// lockstep runs s from start on under the configuration of that number, and returns
// the numbers of those that it was reconfigured to, and the first difference, with a
// short script that shows one.
func lockstep(number int, seed uint64, start aqm.Time, s script.Script) (numbers []int, err error) {
	all := configs()
	c := all[number%len(all)]
	err = scripttest.Check(s, func(s script.Script) error {
		c.Rand = rand.NewPCG(seed, 1)
		a, err := New(c)
		if err != nil {
			return err
		}
		c.Rand = rand.NewPCG(seed, 1)
		o := naive(c)
		changes := 0
		m := script.Machine{
			Now:          start,
			LimitPackets: 100,
			Judged:       script.Agree(func() error { return differ(a, o) }),
			// A script's numbers end at 15, before these configurations do: each further
			// change begins to count 6 further on.
			Reconfigure: func(n int) error {
				at := (n + 6*changes) % (2 * len(all))
				changes++
				numbers = append(numbers, at)
				c := all[at%len(all)]
				if at >= len(all) {
					c.Update, c.MaxBurst, c.MeanPacket = c.Update/3, c.MaxBurst/2, 500
				}
				o.Reconfigure(naive(c))
				return a.Reconfigure(c)
			},
		}
		return m.Run(s, a, o)
	})
	if err != nil {
		return nil, fmt.Errorf("config %+v, seed %d, start %d: %w", c, seed, start, err)
	}
	return numbers, nil
}
