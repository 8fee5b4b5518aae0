package cost

import "golang.org/x/exp/stats"

// packets is how many packets one sample times: about a millisecond, so that an
// interrupt spoils one sample and not the median.
const packets = 1 << 17

// Figure is a cost in nanoseconds per packet: the median of the samples, and the
// quartiles around it.
type Figure struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`  // 25 %
	High   float64 `json:"high"` // 75 %
}

// figure returns the quartiles of ns.
func figure(ns []float64) Figure {
	if len(ns) == 0 {
		return Figure{}
	}
	q := stats.Quantiles(ns, 0.25, 0.5, 0.75)
	return Figure{Median: q[1], Low: q[0], High: q[2]}
}

// timed returns the cost per packet of run, which passes n packets, in the time of
// the thread; see thread.
func timed(n int, run func()) float64 {
	start := cpuTime()
	run()
	return float64(cpuTime()-start) / float64(n)
}

// sample returns the cost per packet of each run, which passes packets of them, over
// rounds samples after one to warm up. The runs take turns, so that what disturbs the
// machine disturbs all of them.
func sample(rounds int, runs ...func()) []Figure {
	defer thread()()
	for _, run := range runs {
		run()
	}
	ns := make([][]float64, len(runs))
	for range rounds {
		for i, run := range runs {
			ns[i] = append(ns[i], timed(packets, run))
		}
	}
	figures := make([]Figure, len(runs))
	for i := range runs {
		figures[i] = figure(ns[i])
	}
	return figures
}

// samples returns rounds samples of run after one to warm up.
func samples(rounds int, run func()) []float64 {
	defer thread()()
	run()
	ns := make([]float64, rounds)
	for i := range ns {
		ns[i] = timed(packets, run)
	}
	return ns
}
