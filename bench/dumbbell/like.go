package dumbbell

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/pi"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/rem"
	"github.com/aqmkit/aqmkit/threshold"
)

// NS2Names are the algorithms that ns-2 has too; pi-ref is PI with a reference of a
// fifth of the BDP instead of ns-2's 50 packets.
func NS2Names() []string { return []string{"droptail", "red", "ared", "pi", "pi-ref", "rem"} }

// likeNS2 returns ns-2's queue of that name: the settings of ns2.tcl.
func likeNS2(s Scenario, src rand.Source) (aqm.AQM, error) {
	// ns-2 2.35, red.cc: with use_mark_p_ and mark_p_ as they come, an ECN-capable
	// packet is marked only while p_b < 0.1, and dropped from there on.
	const markP = .1
	switch bdp := float64(BDP(s.Rate, s.RTTMax)); s.Algorithm {
	case "droptail":
		return aqm.TailDrop{}, nil
	case "red":
		c := red.DefaultConfig()
		c.MinTh = max(5, .1*bdp)
		c.Unit, c.MaxTh, c.Weight, c.MaxP = aqm.Packets, 3*c.MinTh, .002, .1
		c.Gentle, c.Wait, c.MaxECN = true, true, markP
		c.MeanPacket, c.Rate, c.Rand = 1500, s.Rate, src
		return red.New(c)
	case "ared":
		c, err := red.Design(s.Rate, 10*time.Millisecond, 1500)
		if err != nil {
			return nil, err
		}
		c.Wait, c.MaxECN, c.Rand = true, markP, src
		return red.New(c)
	case "pi", "pi-ref":
		c := pi.Published()
		if s.Algorithm == "pi-ref" {
			c.QRef = float64(int(2 * max(5, .1*bdp)))
		}
		c.MeanPacket, c.Rand = 1500, src
		return pi.New(c)
	case "rem":
		c := rem.DefaultConfig()
		c.Rate, c.MeanPacket, c.Rand = s.Rate, 1500, src
		return rem.New(c)
	}
	return nil, fmt.Errorf("unknown algorithm %q; with ns-2's settings there are %v", s.Algorithm, NS2Names())
}

// likeNS3 returns ns-3's queue of that name, with the attributes that ns-3 gives it:
// PIE with a reference of 15 ms and an update every 15 ms, CoDel with 5 ms in 100 ms,
// DCTCP's step at 0.17 BDP.
func likeNS3(s Scenario, src rand.Source) (aqm.AQM, error) {
	switch s.Algorithm {
	case "droptail", "red", "ared":
		return likeNS2(s, src)
	case "pie":
		c := pie.DefaultConfig()
		c.Target, c.Update, c.Rand = 15*time.Millisecond, 15*time.Millisecond, src
		return pie.New(c)
	case "codel":
		return codel.New(codel.DefaultConfig())
	case "dctcp":
		return threshold.New(threshold.Config{Packets: int(.17 * float64(BDP(s.Rate, s.RTTMax)))})
	}
	return nil, fmt.Errorf("unknown algorithm %q; with ns-3's settings there are droptail, red, ared, pie, codel, dctcp", s.Algorithm)
}
