package loop

import (
	"math"
	"math/cmplx"
	"time"
)

// Margin returns the crossover frequency in rad/s and the phase margin in degrees of
// the loop that controller closes, the response in p to a queue of e^{jwt}, sampled
// every interval and held in between. It is for tests: no verdict hangs on it.
func (t TCP) Margin(controller func(w float64) complex128, interval time.Duration) (w, degrees float64) {
	open := func(w float64) complex128 {
		s := complex(0, w)
		hold := complex(1, 0)
		if T := complex(interval.Seconds(), 0); T != 0 {
			hold = (1 - cmplx.Exp(-s*T)) / (s * T)
		}
		plant := complex(t.C*t.C/(2*t.N), 0) * cmplx.Exp(-s*complex(t.R, 0)) / ((s + complex(t.Pole(), 0)) * (s + complex(1/t.R, 0)))
		return controller(w) * hold * plant
	}
	// The gain falls with the frequency: halve the interval in which it passes 1.
	low, high := 1e-6/t.R, 100/t.R
	for range 100 {
		w = math.Sqrt(low * high)
		if cmplx.Abs(open(w)) > 1 {
			low = w
		} else {
			high = w
		}
	}
	return w, 180 + cmplx.Phase(open(w))*180/math.Pi
}
