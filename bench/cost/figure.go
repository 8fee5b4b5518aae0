package cost

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/exp/stats"

	"github.com/aqmkit/aqmkit/internal/regime"
)

// packets is how many packets one sample times.
const packets = regime.Sample

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

// run is what samples time.
type run struct {
	prepare func() // untimed, before each sample: makes anew what pass needs
	pass    func() // passes packets, from where prepare left it

	samples            int
	signals, delivered float64 // shares of the packets, added up over the samples
}

// passed takes down what became of the packets of a sample.
func (r *run) passed(signals, delivered float64) {
	r.samples++
	r.signals += signals
	r.delivered += delivered
}

// meanSignals returns the share of the packets that were signalled to, over all
// samples.
func (r *run) meanSignals() float64 { return r.signals / float64(r.samples) }

// sample returns the cost per packet of each run, over rounds samples. Each starts
// from what prepare makes anew, so that none has moved what the next one times. The
// runs take turns, so that what disturbs the machine disturbs all of them.
func sample(rounds int, runs ...*run) [][]float64 {
	defer thread()()
	defer quiet()()
	ns := make([][]float64, len(runs))
	for range rounds {
		for i, r := range runs {
			if r.prepare != nil {
				r.prepare()
			}
			ns[i] = append(ns[i], timed(packets, r.pass))
		}
	}
	return ns
}

// samples returns rounds samples of pass after one to warm up, for what no sample
// moves.
func samples(rounds int, pass func()) []float64 {
	pass()
	return sample(rounds, &run{pass: pass})[0]
}

// quiet keeps the garbage collector away until the function that it returns is
// called.
func quiet() (release func()) {
	runtime.GC()
	was := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(was) }
}
