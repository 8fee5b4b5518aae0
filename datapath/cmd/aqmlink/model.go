package main

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/threshold"
)

// payloadShare is what a packet of 1500 bytes carries for the application, less IPv4
// and TCP headers with time stamps.
const payloadShare = 1448.0 / 1500

// targetDelay returns the queueing delay that an instance of the catalog aims at on a
// link. Drop-tail aims at none: its buffer decides.
func targetDelay(algorithm string, rate uint64, rtt time.Duration, buffer int) time.Duration {
	perSecond := float64(rate) / 8 / catalog.MeanPacket
	queue := func(packets float64) time.Duration { return time.Duration(packets / perSecond * 1e9) }
	switch algorithm {
	case "threshold":
		c, err := threshold.Design(threshold.TCPECN, rate, rtt, 1, catalog.MeanPacket, 0)
		if err == nil {
			return queue(float64(c.Packets))
		}
	case "red": // half-way between the thresholds [Adaptive RED 4.3]
		c, err := red.Design(rate, rtt/4, catalog.MeanPacket)
		if err == nil {
			return queue((c.MinTh + c.MaxTh) / 2)
		}
	case "pi", "rem":
		return queue(max(4, perSecond*rtt.Seconds()/2))
	case "pie":
		c, err := pie.Design(rate, rtt, catalog.MeanPacket)
		if err == nil {
			return c.Target
		}
	case "codel":
		c, err := codel.Design(rate, 5*rtt, catalog.MeanPacket)
		if err == nil {
			return c.Target
		}
	}
	return queue(float64(buffer))
}

// The window laws: what is left of a window after a signal, and CUBIC's constant in
// packets/s^3.
const (
	renoBeta  = 0.5 // [RFC 5681 3.2; RFC 3168 6.1.2]
	cubicBeta = 0.7 // [RFC 9438 4.6]
	cubicC    = 0.4 // [RFC 9438 5]
)

// modelUtilisation returns the share of a link that long flows use according to the
// window law of the fluid model,
//
//	dW/dt = 1/R - W/2 * W/R * p,  R = Tp + q/C   [V. Misra et al., SIGCOMM 2000]
//
// which is the law of a window that grows by 1/R and is halved by each signal, with the
// signals smoothed into a rate. In the limit of many flows its equilibrium uses the
// whole link. Here the signals of one flow are given back their instants: a signal
// comes when the windows fill the pipe and the target delay,
//
//	N*W = C*(Tp + target)
//
// and then one window is multiplied by beta, or all are where synchronised says so. What
// is sent until the next, min(N*W/Tp, C), is integrated over the cycle. For CUBIC the
// growth is that of RFC 9438, in place of 1/R, where it is the faster.
func modelUtilisation(cc string, rate uint64, rtt, target time.Duration, flows int, synchronised bool) float64 {
	beta, grow := renoBeta, func(_, _, elapsed, _ float64) float64 { return elapsed }
	if cc == "cubic" {
		beta = cubicBeta
		grow = func(window, peak, elapsed, seconds float64) float64 { // RFC 9438 4.2, 4.3
			k := math.Cbrt(peak * (1 - cubicBeta) / cubicC)
			cubic := cubicC*(seconds-k)*(seconds-k)*(seconds-k) + peak - window
			return max(cubic, 3*(1-cubicBeta)/(1+cubicBeta)*elapsed)
		}
	}
	capacity := float64(rate) / 8 / catalog.MeanPacket // packets/s
	pipe := capacity * rtt.Seconds()
	full := pipe + capacity*target.Seconds()
	n := float64(flows)
	peak, others := full/n, full-full/n // of the flow that is signalled, and of the rest
	if synchronised {
		others = 0
	} else {
		n = 1 // one window moves, and the rest grows in its stead where it is the smaller
	}
	start := beta * peak
	step := rtt.Seconds() / 200
	sent, seconds, elapsed := 0.0, 0.0, 0.0 // elapsed counts round trips
	for window := start; window < peak; {
		total := n*window + others
		sent += min(total/rtt.Seconds(), capacity) * step
		seconds += step
		elapsed += step / max(rtt.Seconds(), total/capacity)
		grown := start + grow(start, peak, elapsed, seconds)
		if !synchronised {
			grown = start + grow(start, peak, elapsed*float64(flows), seconds)
		}
		window = max(window, grown)
		if seconds > 3600 {
			break
		}
	}
	if seconds == 0 {
		return 1
	}
	return min(1, sent/seconds/capacity)
}

// isSynchronised reports whether an algorithm signals to all flows at once: a threshold
// marks all that is sent while the queue is above it, and a full buffer drops likewise.
func isSynchronised(algorithm string) bool {
	return algorithm == "threshold" || algorithm == "droptail"
}
