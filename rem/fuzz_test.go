package rem

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
	"github.com/aqmkit/aqmkit/internal/script/scripttest"
)

// FuzzREM runs a REM and its oracle in lockstep: equal verdicts and updates, p within
// 1e-9.
func FuzzREM(f *testing.F) {
	f.Add([]byte{0, 3, 10, 0x7b, 0xb2, 0x7b, 0xb0, 0x77, 0xb1, 0x7b, 0xb3, 0x0b, 0, 0x0f, 0, 0x0e, 0})
	f.Add([]byte{0x41, 20, 90, 0x77, 0xb2, 0x7b, 0xb0, 0x77, 0xb1, 0x0b, 0xb3, 0x0b, 0, 0x60, 0, 0x7d, 0})
	for start := range byte(8) { // a queue builds up, stands, is left alone and drained
		seed := []byte{0x40, 3 | start<<5, 10}
		for range 20 {
			seed = append(seed, 0x77, 0xb2, 0x79, 0xb0, 0x07, 0)
		}
		f.Add(append(seed, 0x0b, 0, 0x7c, 0xb2, 0x0d, 0, 0x61, 0x53, 0x7b, 0xb2, 0x0b, 0, 0x0e, 0, 0x7f, 0xb2, 0x0b, 0))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 3 {
			return
		}
		s := script.Decode(data[3:], 1024).Awake()
		for _, start := range script.Starts(data[1] >> 5) { // which configFrom leaves
			if err := lockstep(t, [3]byte(data), start, s); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestOracle runs long random scripts, disturbed, with reconfigurations.
func TestOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 2001))
	for range 50 {
		s := script.Random(r, 2000, 20*time.Millisecond)
		script.Disturb(r, s, 50)
		require.NoError(t, lockstep(t, [3]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}, script.Start(byte(r.Uint32())), s))
	}
}

// configFrom makes any three bytes a valid Config with gains that take p close to 1
// within a few updates.
func configFrom(b [3]byte) Config {
	c := Config{
		Unit:        aqm.Packets,
		Gamma:       0.25,
		Alpha:       0.05 + float64(b[0]>>2&7)/8,
		Phi:         1.1 + float64(b[0]>>5&1),
		Target:      float64(b[1]%32) + 0.5,
		Interval:    (time.Duration(b[2]) + 1) * 10 * time.Millisecond,
		Rate:        800_000,
		MeanPacket:  1000,
		ScaleBySize: b[0]&0x80 != 0,
	}
	if b[0]&0x40 != 0 {
		c.MaxECN = 0.4987654321 // no sum of gains and distances, which rounding would put on either side
	}
	if b[0]&1 != 0 {
		c = c.InBytes()
	}
	return c
}

// lockstep runs s from start on under the configuration that b is, and returns the
// first difference, with a short script that shows one.
func lockstep(t *testing.T, b [3]byte, start aqm.Time, s script.Script) error {
	c := configFrom(b)
	err := scripttest.Check(s, func(s script.Script) error {
		b, c := b, c
		fast, slow, differ := pair(t, c)
		m := script.Machine{Now: start, LimitPackets: 60, Judged: script.Agree(differ), Reconfigure: func(n int) error {
			b = [3]byte{b[0] + byte(17*n+1), b[1] + byte(n), b[2] ^ byte(n<<4)}
			c = configFrom(b)
			slow.(numbered).AQM.(*oracle.REM).Reconfigure(naive(c))
			return fast.(numbered).AQM.(*REM).Reconfigure(c)
		}}
		return m.Run(s, fast, slow)
	})
	if err != nil {
		return fmt.Errorf("config %+v, start %d: %w", c, start, err)
	}
	return nil
}
