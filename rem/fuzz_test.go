package rem

import (
	"testing"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
)

// FuzzREM runs a REM and its oracle in lockstep: equal verdicts and updates, p within
// 1e-9.
func FuzzREM(f *testing.F) {
	f.Add([]byte{0, 3, 10, 0x7b, 0xb2, 0x7b, 0xb0, 0x77, 0xb1, 0x7b, 0xb3, 0x0b, 0, 0x0f, 0, 0x0e, 0})
	f.Add([]byte{0x41, 20, 90, 0x77, 0xb2, 0x7b, 0xb0, 0x77, 0xb1, 0x0b, 0xb3, 0x0b, 0, 0x60, 0, 0x7d, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 3 {
			return
		}
		// Gains that take p close to 1 within a few updates.
		c := Config{
			Unit:        aqm.Packets,
			Gamma:       0.25,
			Alpha:       0.05 + float64(data[0]>>2&7)/8,
			Phi:         1.1 + float64(data[0]>>5&1),
			Target:      float64(data[1]%32) + 0.5,
			Interval:    (time.Duration(data[2]) + 1) * 10 * time.Millisecond,
			Rate:        800_000,
			MeanPacket:  1000,
			ScaleBySize: data[0]&0x80 != 0,
		}
		if data[0]&0x40 != 0 {
			c.MaxECN = 0.4987654321 // no sum of gains and distances, which rounding would put on either side
		}
		if data[0]&1 != 0 {
			c = c.InBytes()
		}
		a, b, differ := pair(t, c)
		m := script.Machine{LimitPackets: 60, Judged: script.Agree(differ)}
		s := script.Decode(data[3:], 1024) // the timer has a million ticks in each silence
		if err := m.Run(s, a, b); err != nil {
			t.Fatalf("config %+v: %v\n%v", c, err, s)
		}
	})
}
