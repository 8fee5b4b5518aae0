package threshold

import (
	"math"
	"testing"
	"time"

	"github.com/aqmkit/aqmkit/internal/oracle"
	"github.com/aqmkit/aqmkit/internal/script"
)

// configFrom makes any two bytes a valid Config.
func configFrom(a, b byte) Config {
	k := int(b%32) + 1
	if a%3 == 2 && b >= 248 { // the ends of what a Duration holds
		return Config{Sojourn: math.MaxInt64 - time.Duration(b&1), DropNotECT: a&0x80 != 0}
	}
	c := []Config{{Packets: k}, {Bytes: int64(k) * 500}, {Sojourn: time.Duration(k) * 100 * time.Microsecond}}[a%3]
	c.DropNotECT = a&0x80 != 0
	return c
}

// stretch returns the pause 2^20 times as long, or the longest there is.
func stretch(d time.Duration) time.Duration {
	if d >= math.MaxInt64>>20 {
		return math.MaxInt64
	}
	return d << 20
}

// FuzzThreshold runs a Threshold and its oracle in lockstep: equal verdicts.
func FuzzThreshold(f *testing.F) {
	f.Add([]byte{0, 3, 0x77, 0xb2, 0x77, 0xb0, 0x77, 0xb1, 0x77, 0xb3, 0x07, 0, 0x0f, 0, 0x0e, 0})
	f.Add([]byte{0x41, 0xff, 0x7e, 0xb2, 0x7e, 0xb2, 0x7e, 0xb2, 0x0e, 0, 0, 0, 0, 0}) // queued for longer than a Duration
	f.Add([]byte{0x41, 0xfe, 0x7e, 0xb2, 0x7e, 0xb2, 0x7e, 0xb2, 0x0e, 0, 0, 0, 0, 0})
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
		if data[0]&0x40 != 0 { // hours become centuries: longer than a Duration holds
			for i := range s {
				s[i].Wait = stretch(s[i].Wait)
			}
			m.Now = math.MinInt64
		}
		if err := m.Run(s, th, o); err != nil {
			t.Fatalf("config %+v: %v\n%v", c, err, s)
		}
	})
}
