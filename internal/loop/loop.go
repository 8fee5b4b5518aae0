// Package loop has the control loop that PI and REM are designed for: long-lived TCP
// flows through one queue, as a linear model to design with and a nonlinear one to
// test in.
//
// Sources: V. Misra, W. Gong, D. Towsley, "Fluid-based analysis of a network of AQM
// routers supporting TCP flows with an application to RED", SIGCOMM 2000, for the
// nonlinear model; C. Hollot, V. Misra, D. Towsley, W. Gong, "On designing improved
// controllers for AQM routers supporting TCP flows", INFOCOM 2001, for the linear
// one and the controller.
package loop

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/internal/check"
)

// The ends of what Design accepts, beyond those of the law itself.
const (
	maxRate   = 1e15    // bit/s
	maxPacket = 1 << 24 // bytes
	maxPeriod = time.Hour

	// MaxPhase bounds w_g*R. Hollot et al. choose the crossover w_g below 0.85/R,
	// where the phase margin ends: 90 degrees - w_g*R - atan(w_g*R) is 0 at 0.86.
	MaxPhase = 0.85

	// samples is the least number of updates in a period of the crossover frequency,
	// so that the lag of half an interval costs 18 degrees at most. Ours; the paper
	// samples far more often.
	samples = 10
)

// TCP is a number of long-lived flows that share one link.
type TCP struct {
	C float64 // packets per second; the link's rate
	R float64 // seconds; round-trip time, queueing included
	N float64 // flows
}

// Window returns the window of a flow in equilibrium, W0 = R*C/N, in packets.
func (t TCP) Window() float64 { return t.R * t.C / t.N }

// Probability returns the probability of a signal in equilibrium: W0^2 * p0 = 2.
func (t TCP) Probability() float64 { w := t.Window(); return 2 / float64(w*w) }

// Pole returns the pole of the windows' dynamics, 2N/(R^2*C), in rad/s.
func (t TCP) Pole() float64 { return 2 * t.N / (t.R * t.R * t.C) }

// Gain returns the K with which K(s/z + 1)/s, z = Pole, has its crossover at w rad/s:
//
//	K = w |j w R + 1| (2N)^2 / (R C)^3   [Hollot et al.]
func (t TCP) Gain(w float64) float64 {
	wr := w * t.R
	pipe := t.R * t.C
	return w * math.Sqrt(float64(wr*wr)+1) * (2 * t.N / pipe) * (2 * t.N / pipe) / pipe
}

// PI returns the gains of the discrete controller p = p + a(q - q_ref) - b(q_old - q_ref)
// with an update every interval of T seconds, from K(s/z + 1)/s by the bilinear
// transform and with w_g = z:
//
//	a = K/z + K*T/2,  b = K/z - K*T/2
func (t TCP) PI(interval time.Duration) (a, b float64) {
	z := t.Pole()
	k := t.Gain(z)
	half := k * interval.Seconds() / 2
	return k/z + half, k/z - half
}

// Design returns the loop through a link of rate bit/s, and adds to l what is wrong
// or out of the linear model's domain. target is called name there.
func Design(l *check.List, rate uint64, rtt time.Duration, flows int, meanPacket uint32, name string, target float64, interval time.Duration) TCP {
	ok := true
	require := func(holds bool, field string, value any, unit, bound string, args ...any) {
		ok = ok && holds
		l.Require(holds, field, value, unit, bound, args...)
	}
	require(rate > 0 && rate <= maxRate, "rate", rate, "bit/s", "in [1, %v]", maxRate)
	require(rtt > 0 && rtt <= maxPeriod, "rtt", rtt, "", "in (0s, %v]", maxPeriod)
	require(flows > 0, "flows", flows, "flows", "> 0")
	require(meanPacket > 0 && meanPacket <= maxPacket, "meanPacket", meanPacket, "bytes", "in [1, %d]", maxPacket)
	require(target > 0, name, target, "packets", "> 0")
	require(interval > 0 && interval <= maxPeriod, "interval", interval, "", "in (0s, %v]", maxPeriod)
	if !ok {
		return TCP{}
	}
	t := TCP{C: float64(rate) / (8 * float64(meanPacket)), R: rtt.Seconds(), N: float64(flows)}
	pipe := t.R * t.C
	// w_g*R = 2N/(R*C) = 2/W0: with fewer than 2/0.85 packets in a flow's window the
	// delay leaves no phase margin.
	require(t.Pole()*t.R < MaxPhase, "flows", flows, "flows",
		"< %.4g, so that w_g*rtt = 2*flows/(rtt*C) = %.3g is < %v and leaves a phase margin; C = %.4g packets/s", MaxPhase/2*pipe, t.Pole()*t.R, MaxPhase, t.C)
	require(target < pipe, name, target, "packets", "< rtt*C = %.4g packets: rtt includes the queueing delay of the target", pipe)
	longest := time.Duration(math.Min(2*math.Pi/(samples*t.Pole())*1e9, float64(maxPeriod)))
	require(interval <= longest, "interval", interval, "", "<= %v, %d updates in a period of the crossover frequency w_g = %.3g rad/s", longest, samples, t.Pole())
	return t
}
