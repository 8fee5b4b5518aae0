package pi

import (
	"testing"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
)

// FuzzPI runs a PI and its oracle in lockstep: equal verdicts and updates, p within
// 1e-9.
func FuzzPI(f *testing.F) {
	f.Add([]byte{0, 3, 10, 0x7b, 0xb2, 0x7b, 0xb0, 0x77, 0xb1, 0x7b, 0xb3, 0x0b, 0, 0x0f, 0, 0x0e, 0})
	f.Add([]byte{0x42, 20, 90, 0x77, 0xb2, 0x7b, 0xb0, 0x77, 0xb1, 0x0b, 0xb3, 0x0b, 0, 0x60, 0, 0x7d, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 3 {
			return
		}
		// Gains that take p from 0 to 1 within a few updates.
		c := Config{
			Unit:        aqm.Packets,
			QRef:        float64(data[1]%32) + 0.5,
			Interval:    (time.Duration(data[2]) + 1) * 100 * time.Microsecond,
			MeanPacket:  1000,
			ScaleBySize: data[0]&0x80 != 0,
		}
		c.A = 0.5 / c.QRef
		c.B = c.A * (0.5 + float64(data[0]>>4&3)/8)
		if data[0]&0x40 != 0 {
			c.MaxECN = 0.4987654321 // no sum of gains and distances, which rounding would put on either side
		}
		switch data[0] & 3 {
		case 1:
			c = c.InBytes()
		case 2, 3:
			c = c.InDelay(8_000_000)
			c.Squared = data[0]&3 == 3
		}
		a, b, differ := pair(t, c)
		m := script.Machine{LimitPackets: 60, Judged: script.Agree(differ)}
		s := script.Decode(data[3:], 4096)
		if err := m.Run(s, a, b); err != nil {
			t.Fatalf("config %+v: %v\n%v", c, err, s)
		}
	})
}
