package tcp

import (
	"github.com/aqmkit/aqmkit/aqm"
)

// The constants of RFC 9438 section 5.
const (
	cubicC    = 0.4
	cubicBeta = 0.7
)

// cubic is the state of RFC 9438, in segments and seconds.
type cubic struct {
	wmax  float64
	prior float64 // cwnd_prior
	k     float64
	west  float64 // W_est
	epoch aqm.Time
}

// reduce returns the window after a congestion event: section 4.6, with fast
// convergence, section 4.7.
func (c *cubic) reduce(e *End) float64 {
	w := e.cwnd / e.p.fmss
	c.prior = w
	if w < c.wmax {
		c.wmax = w * (1 + cubicBeta) / 2
	} else {
		c.wmax = w
	}
	c.epoch = 0
	return w * cubicBeta * e.p.fmss
}

// grow opens the window in congestion avoidance: sections 4.2 to 4.5.
func (c *cubic) grow(e *End, now aqm.Time, acked int64) {
	w := e.cwnd / e.p.fmss
	segments := float64(acked) / e.p.fmss
	if c.epoch == 0 {
		c.epoch = now
		c.west = w
		c.k = 0
		if w < c.wmax {
			c.k = cbrt((c.wmax - w) / cubicC) // equation 2
		} else {
			c.wmax = w
		}
	}
	t := float64(now-c.epoch) * 1e-9
	rtt := float64(e.srtt) * 1e-9
	alpha := 3 * (1 - cubicBeta) / (1 + cubicBeta)
	if c.west >= c.prior {
		alpha = 1
	}
	c.west += float64(alpha*segments) / w // equation 4
	if c.at(t) < c.west {
		e.cwnd = c.west * e.p.fmss // section 4.3
		return
	}
	target := min(max(c.at(t+rtt), w), 1.5*w) // section 4.2
	e.cwnd = (w + float64((target-w)*segments)/w) * e.p.fmss
}

// at is W_cubic, equation 1.
func (c *cubic) at(t float64) float64 {
	d := t - c.k
	return float64(cubicC*float64(d*float64(d*d))) + c.wmax
}

// cbrt returns the cube root of x >= 0, the same bits on every machine: Newton's
// steps from a first guess by halving the exponent.
func cbrt(x float64) float64 {
	if x <= 0 {
		return 0
	}
	y := 1.0
	for float64(y*y)*y < x {
		y *= 2
	}
	for range 60 {
		z := (float64(2*y) + x/float64(y*y)) / 3
		if z >= y {
			break
		}
		y = z
	}
	return y
}
