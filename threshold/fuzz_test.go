package threshold

import (
	"testing"
	"time"

	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
)

// configFrom makes any two bytes a valid Config.
func configFrom(a, b byte) Config {
	k := int(b%32) + 1
	c := []Config{{Packets: k}, {Bytes: int64(k) * 500}, {Sojourn: time.Duration(k) * 100 * time.Microsecond}}[a%3]
	c.DropNotECT = a&0x80 != 0
	return c
}

// FuzzThreshold runs a Threshold and its oracle in lockstep: equal verdicts.
func FuzzThreshold(f *testing.F) {
	f.Add([]byte{0, 3, 0x77, 0xb2, 0x77, 0xb0, 0x77, 0xb1, 0x77, 0xb3, 0x07, 0, 0x0f, 0, 0x0e, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return
		}
		c := configFrom(data[0], data[1])
		th, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		o := &oracle.Threshold{}
		set := func(c Config) {
			o.Packets, o.Bytes, o.Sojourn, o.DropNotECT = c.Packets, c.Bytes, c.Sojourn, c.DropNotECT
		}
		set(c)
		m := script.Machine{LimitPackets: 40, Judged: script.Agree(nil), Reconfigure: func(n int) error {
			c := configFrom(data[0]+byte(n)<<5, data[1]+byte(n))
			set(c)
			return th.Reconfigure(c)
		}}
		s := script.Decode(data[2:], 4096)
		if err := m.Run(s, th, o); err != nil {
			t.Fatalf("config %+v: %v\n%v", c, err, s)
		}
	})
}
