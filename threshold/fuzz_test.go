package threshold

import (
	"testing"
	"time"

	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
)

// FuzzThreshold runs a Threshold and its oracle in lockstep: equal verdicts.
func FuzzThreshold(f *testing.F) {
	f.Add([]byte{0, 3, 0x77, 0xb2, 0x77, 0xb0, 0x77, 0xb1, 0x77, 0xb3, 0x07, 0, 0x0f, 0, 0x0e, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return
		}
		k := int(data[1]%32) + 1
		c := []Config{{Packets: k}, {Bytes: int64(k) * 500}, {Sojourn: time.Duration(k) * 100 * time.Microsecond}}[data[0]%3]
		c.DropNotECT = data[0]&0x80 != 0
		th, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		o := &oracle.Threshold{Packets: c.Packets, Bytes: c.Bytes, Sojourn: c.Sojourn, DropNotECT: c.DropNotECT}
		m := script.Machine{LimitPackets: 40, Judged: script.Agree(nil)}
		s := script.Decode(data[2:], 4096)
		if err := m.Run(s, th, o); err != nil {
			t.Fatalf("config %+v: %v\n%v", c, err, s)
		}
	})
}
