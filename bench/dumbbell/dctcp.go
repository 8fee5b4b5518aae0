package dumbbell

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
	"github.com/aqmkit/aqmkit/threshold"
)

// DCTCP is a run of a few synchronised DCTCP flows through a marking threshold,
// beside the closed forms of Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010,
// section 3.3.
type DCTCP struct {
	Rate  uint64        `json:"rate_bit_per_s"`
	RTT   time.Duration `json:"rtt_ns"` // of the empty network, a packet's transmissions included
	K     int           `json:"threshold_packets"`
	Flows int           `json:"flows"`

	Alpha       Pair    `json:"alpha"`             // mean over time and flows
	Amplitude   Pair    `json:"amplitude_packets"` // mean over the cycles of peak less trough
	QueueMax    Pair    `json:"queue_max_packets"` // mean over the cycles
	Utilisation float64 `json:"utilisation"`
}

// Pair is what was measured and what it should be.
type Pair struct {
	Measured float64 `json:"measured"`
	Expected float64 `json:"expected"`
}

// Off returns by how much the measured value differs, as a share of the expected one.
func (p Pair) Off() float64 { return p.Measured/p.Expected - 1 }

// closedForms returns what the analysis says for flows with the window W* =
// (C RTT + K)/N at which marking begins.
func closedForms(cRTT float64, k, n int) (alpha, amplitude, queueMax float64) {
	// alpha^2 (1 - alpha/4) = (2W* + 1)/(W* + 1)^2: the packets of the one round trip in
	// a cycle that are marked [equation 6].
	w := (cRTT + float64(k)) / float64(n)
	share := (2*w + 1) / ((w + 1) * (w + 1))
	low, high := 0., 1.
	for range 60 {
		alpha = (low + high) / 2
		if alpha*alpha*(1-alpha/4) < share {
			low = alpha
		} else {
			high = alpha
		}
	}
	// A = N D, where each of the windows is cut by D = (W* + 1) alpha/2 [equation 7];
	// for small alpha it is sqrt(2N(C RTT + K))/2 [equation 8].
	amplitude = float64(n) * (w + 1) * alpha / 2
	// Qmax = N (W* + 1) - C RTT = K + N [equation 10].
	return alpha, amplitude, float64(k + n)
}

// RunDCTCP simulates flows that start together and have equal round-trip times of rtt.
func RunDCTCP(rate uint64, rtt time.Duration, k, flows int, seconds float64) (*DCTCP, error) {
	a, err := threshold.New(threshold.Config{Packets: k})
	if err != nil {
		return nil, err
	}
	net := netmodel.New()
	d, err := net.Dumbbell(netmodel.DumbbellConfig{
		Bottleneck: netmodel.QueueConfig{Rate: rate, Delay: rtt / 4, Limit: 100_000, AQM: a},
		Access:     10 * rate,
		Left:       netmodel.Spread(flows, rtt/8, rtt/8),
		Right:      []time.Duration{rtt / 8},
	})
	if err != nil {
		return nil, err
	}
	c := tcp.DefaultConfig()
	// The analysis has a window grow by one segment in a round trip, and an ACK for
	// every packet.
	c.Variant, c.DelayedACK, c.MinRTO = tcp.DCTCP, 1, 10*time.Millisecond
	pool, err := tcp.NewPool(net, c)
	if err != nil {
		return nil, err
	}
	conns := make([]*tcp.Conn, flows)
	for i, r := range d.Routes {
		net.Sim().At(0, func(now aqm.Time) { conns[i] = pool.Dial(now, r, i, &long{}, nil) })
	}
	base := d.Routes[0].Forward.Delay(1500) + d.Routes[0].Reverse.Delay(40)
	r := &DCTCP{Rate: rate, RTT: base, K: k, Flows: flows}
	end := aqm.Time(seconds * 1e9)
	net.Run(end / 4)
	d.Bottleneck.Measure()

	// A cycle is from one time that the queue rises through the middle between its peak
	// and its trough, as the analysis has them, to the next.
	every := aqm.Time(base / 50)
	n, alpha := 0., 0.
	var queue []float64
	for t := end / 4; t < end; t += every {
		net.Run(t)
		queue = append(queue, float64(d.Bottleneck.Len()))
		for _, c := range conns {
			alpha += c.Client.Alpha()
			n++
		}
	}
	net.Run(end)
	st := d.Bottleneck.Stats()
	r.Utilisation = st.Utilisation()
	cRTT := float64(rate) * base.Seconds() / 8 / 1500
	r.Alpha.Expected, r.Amplitude.Expected, r.QueueMax.Expected = closedForms(cRTT, k, flows)
	r.Alpha.Measured = alpha / n
	r.QueueMax.Measured, r.Amplitude.Measured = cycles(queue, r.QueueMax.Expected-r.Amplitude.Expected/2)
	return r, nil
}

// cycles returns the mean of the peaks, and of the differences of peak and trough, of
// what rises through a level again and again; zeros if it does not.
func cycles(queue []float64, level float64) (peak, amplitude float64) {
	n, below, started := 0., false, false
	low, high := math.Inf(1), math.Inf(-1)
	for _, q := range queue {
		if q < level-1 {
			below = true
		} else if q > level+1 && below {
			if started {
				peak, amplitude, n = peak+high, amplitude+high-low, n+1
			}
			started, below = true, false
			low, high = math.Inf(1), math.Inf(-1)
		}
		low, high = min(low, q), max(high, q)
	}
	if n == 0 {
		return 0, 0
	}
	return peak / n, amplitude / n
}
