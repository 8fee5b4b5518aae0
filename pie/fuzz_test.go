package pie

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

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
		if err := lockstep(int(data[0]), uint64(data[1]), script.Decode(data[2:], 512)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOracle runs long random scripts, disturbed, with reconfigurations from every
// configuration to every other.
func TestOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8033))
	for i, c := range configs() {
		for range 4 {
			s := script.Random(r, 4000, c.Target/10)
			script.Disturb(r, s, 50)
			for i := range s {
				if s[i].Kind == script.Reconfigure {
					s[i].N = r.IntN(2 * len(configs()))
				}
			}
			require.NoError(t, lockstep(i, r.Uint64(), s))
		}
	}
}

// lockstep runs s under the configuration of that number and returns the first
// difference.
func lockstep(number int, seed uint64, s script.Script) error {
	all := configs()
	c := all[number%len(all)]
	c.Rand = rand.NewPCG(seed, 1)
	a, err := New(c)
	if err != nil {
		return err
	}
	c.Rand = rand.NewPCG(seed, 1)
	o := naive(c)
	m := script.Machine{
		LimitPackets: 100,
		Judged:       script.Agree(func() error { return differ(a, o) }),
		Reconfigure: func(n int) error {
			c := all[n%len(all)]
			if n >= len(all) {
				c.Update, c.MaxBurst, c.MeanPacket = c.Update/3, c.MaxBurst/2, 500
			}
			o.Reconfigure(naive(c))
			return a.Reconfigure(c)
		},
	}
	if err := m.Run(s, a, o); err != nil {
		return fmt.Errorf("config %+v: %w\n%v", c, err, s)
	}
	return nil
}
