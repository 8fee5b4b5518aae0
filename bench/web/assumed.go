package web

import (
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/internal/tcp"
	"github.com/aqmkit/aqmkit/internal/web"
)

// What is fixed before the claims are looked at. Every entry of assumptions names its
// source; "assumed" is one that the paper may well have chosen differently.

// The link and what is around it.
const (
	linkRate   = 100_000_000   // bit/s
	fastRate   = 1_000_000_000 // bit/s; the link of the uncongested network
	accessRate = 1_000_000_000 // bit/s; that the servers share in front of it
	roomy      = 2400          // packets; the queue's room under an AQM
)

// meanPacket is a typical packet in bytes, for the algorithms that must know one. It is
// the mean on the uncongested link; see calibration.
const meanPacket = 1094

// loads in per cent of the link, and those above 90 % at which the claims that name no
// load are judged.
var (
	allLoads  = []int{80, 90, 98, 105}
	highLoads = []int{98, 105}
)

// settings of the queue, in packets: the target of an AQM, the room of drop-tail.
var settings = []int{24, 240}

// spreads of round-trip times, in milliseconds. All have a mean of 80.
var spreads = map[string]web.Dist{
	"narrow": web.Uniform{Min: 70, Max: 90},
	"base":   web.Uniform{Min: 10, Max: 150},
	"wide":   web.LogUniform{Min: 2, Max: 435},
	"rfc":    web.Uniform{Min: 10, Max: 150},
}

// times of a run: before, within and after the measurement.
type times struct {
	Warmup  time.Duration `json:"warmup_ns"`
	Measure time.Duration `json:"measure_ns"`
	Tail    time.Duration `json:"tail_ns"`
}

var (
	fullTimes        = times{30 * time.Second, 60 * time.Second, 10 * time.Second}
	quickTimes       = times{20 * time.Second, 20 * time.Second, 10 * time.Second}
	investigateTimes = times{25 * time.Second, 40 * time.Second, 5 * time.Second}
	rfcTimes         = times{10 * time.Second, 75 * time.Second, 5 * time.Second}
	rfcQuickTimes    = times{10 * time.Second, 20 * time.Second, 5 * time.Second}
)

// Seeds of the profiles.
const (
	fullSeeds        = 8
	quickSeeds       = 3
	investigateSeeds = 3
	rfcSeeds         = 5
	rfcOverSeeds     = 3 // at 125 and 150 %
)

// Margins of what counts as no difference, and the limits that the claims name.
const (
	meanMargin    = .01  // of the truncated mean: less is neither better nor worse
	overMargin    = .001 // of the share above 2 s
	clearMargin   = .05  // more responses within 500 ms or 1 s: clearly better
	closeMargin   = .05  // within so much at 500 ms and 1 s: close
	nearlyFull    = .95  // of the link: near saturation
	plateauMargin = .05  // RFC 5562: completions between 1 s and 3 s
)

// tcpConfig is how hosts of that time behave.
func tcpConfig() tcp.Config {
	return tcp.Config{
		Variant: tcp.NewReno, MSS: 1460, Header: 40, SACK: true,
		InitialWindow: 2, ReceiveWindow: 16384,
		InitialRTO: 3 * time.Second, MinRTO: time.Second, MaxRTO: 64 * time.Second, MaxSYN: 5,
		DelayedACK: 2, DelayedACKTime: 100 * time.Millisecond,
		Gain: 1. / 16,
	}
}

// rfcTCP is ns-2's FullTcp of the simulations in RFC 5562.
func rfcTCP() tcp.Config {
	c := tcpConfig()
	c.ReceiveWindow, c.MinRTO = 64*1460, 200*time.Millisecond
	return c
}

// assumption is a parameter with its source.
type assumption struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

const (
	ours      = "assumed"
	scenarios = "as the scenario prescribes; the paper's set-up could not be read"
)

func assumptions() []assumption {
	list := []assumption{
		{"link", "100 Mb/s, congested from the servers to the clients", "the paper's testbed, by a review of it"},
		{"way back", "100 Mb/s, drop-tail with room for all", scenarios},
		{"uncongested", "1 Gb/s in place of the link", scenarios},
		{"access", "all servers behind 1 Gb/s, clients without a queue", ours},
		{"RTT", "uniform 10 to 150 ms, a whole number for each connection", scenarios},
		{"RTT, narrow", "uniform 70 to 90 ms", ours},
		{"RTT, wide", "log-uniform 2 to 435 ms: the same mean of 80 ms", ours},
		{"loads", "80, 90, 98, 105 % of the link, by the number of users on the uncongested link", scenarios},
		{"drop-tail", "24, 240, 2400 packets", scenarios},
		{"room under an AQM", "2400 packets", ours + ": so large that it hardly ever fills"},
		{"PI", "a 1.822e-5, b 1.816e-5, 170 Hz, q_ref 24 and 240 packets", "Hollot et al. 2001, ns-2; references as the scenario prescribes"},
		{"REM", "gamma 0.001, alpha 0.1, phi 1.001, 2 ms, b* 24 and 240 packets, marks at enqueue", "ns-2 (Athuraliya et al. 2001); references as the scenario prescribes"},
		{"ARED", "min/max_th 12/36 and 120/360, gentle, w_q = 1-exp(-1/C), every 0.5 s", "Floyd et al. 2001; thresholds as the scenario prescribes"},
		{"ARED, max_p", "starts at 0.1, in 0.01 to 0.5", "Floyd et al. 2001; the start is assumed"},
		{"ARED, byte mode", "thresholds in bytes of mean packets, and p_b times size/mean", "Floyd and Jacobson 1993; assumed that both are in bytes"},
		{"guideline", "ECN-capable packets are dropped where the average is above max_th", "RFC 3168 section 7"},
		{"guideline reversed", "they are marked there, whatever the average", "the paper's abstract"},
		{"mean packet", fmt.Sprintf("%d bytes", meanPacket), "calibrated"},
		{"RED", "as ARED, with max_p 0.1 for good", "Floyd 1997: max_p; beyond the paper"},
		{"PIE, CoDel", "15 ms; 5 ms and 100 ms", "RFC 8033, RFC 8289; beyond the paper"},
		{"threshold", "24 and 240 packets; above, NotECT packets are dropped, or pass where protected", "RFC 8257 section 3.1; beyond the paper"},
		{"TCP", "NewReno, SACK, MSS 1460, no timestamps, no limited transmit", "RFC 2581, RFC 2018; MSS and the rest assumed"},
		{"initial window", "2 segments", "RFC 2581: at most 2"},
		{"receive window", "16 KB", scenarios},
		{"SYN timeout", "3 s, doubling, 5 transmissions", "RFC 2988; 75 s in BSD"},
		{"minimum RTO", "1 s", "RFC 2988"},
		{"delayed ACK", "every 2nd segment or 100 ms", "RFC 2581; time assumed, as in FreeBSD"},
		{"ECN", "RFC 3168: data alone is ECT", "RFC 3168"},
		{"queue of handshakes", "SYN-ACKs, ACKs and FINs of servers share the congested direction", scenarios},
	}
	for _, m := range []web.Model{web.CDMA2000(), web.SURGE()} {
		add := func(what, value string) {
			list = append(list, assumption{"model " + m.Name + ", " + what, value, m.Source})
		}
		add("think time", m.Think.String()+" s")
		add("embedded objects", m.Embedded.String())
		add("main object", m.Main.String()+" bytes")
		add("embedded object", m.Object.String()+" bytes")
		add("request", m.Request.String()+" bytes")
		add("parse time", m.Parse.String()+" s")
		list = append(list, assumption{
			"model " + m.Name + ", connections",
			fmt.Sprintf("%.0f %% of pages persistent over %d, the others %d at a time", 100*m.Persistent, m.Persisting, m.Parallel),
			ours + ", after RFC 2616 section 8.1.4 and browsers of that time",
		})
	}
	return append(list,
		assumption{"times", fmt.Sprintf("%v before, %v within, %v after the measurement", fullTimes.Warmup, fullTimes.Measure, fullTimes.Tail), ours},
		assumption{"better setting", "of 24 and 240: the smaller truncated mean over the loads judged", "the claims' definition"},
		assumption{"loads judged", "98 and 105 %, unless a claim names others", "the claims say above 90 %"},
		assumption{"no difference", fmt.Sprintf("less than %g %% of the truncated mean, or than %g points of the share above 2 s", 100*meanMargin, 100*overMargin), ours},
		assumption{"near saturation", fmt.Sprintf("%g %% of the link in use", 100*nearlyFull), ours},
		assumption{"RFC 5562", "RED 62.5/187.5, max_p 0.1, gentle, w_q 4e-5, 500 bytes: ns-2's automatic values; room for 1000 packets", "ns-2; the room is assumed"},
		assumption{"RFC 5562, load", "of the link, as carried by the uncongested one", ours},
		assumption{"RFC 5562, flows", web.PackMime().Main.String() + " bytes, Poisson arrivals, RTT as above", "RFC 5562 appendix A: 3 KB; the rest assumed"},
	)
}
