package loop

import (
	"math"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Step is the time step of Fluid.
const Step = 500 * time.Microsecond

// Fluid is the nonlinear model, with an algorithm in it:
//
//	dW/dt = 1/R(t) - W(t)/2 * W(t-R)/R(t-R) * p(t-R),  dq/dt = N*W/R - C,  R = Tp + q/C   [Misra et al.]
//
// where N*W/R is a stream of packets that the algorithm sees, with the queue rounded
// to packets, and p what it says its probability is.
type Fluid struct {
	Capacity    float64 // packets per second, C
	Base        float64 // seconds; round-trip time without queueing, Tp
	Flows       float64 // N; may change between two runs
	AQM         aqm.AQM
	Probability func() float64
	MeanPacket  uint32 // bytes; size of the packets

	Window, Queue float64 // packets; W and q: set them before the first run

	now     aqm.Time
	arrived float64   // packets, of which the algorithm has seen the whole ones
	history []float64 // W/R*p of each step
}

// Run lets d pass and returns the queue after each Step.
func (f *Fluid) Run(d time.Duration) []float64 {
	const dt = float64(Step) / 1e9
	var queue []float64
	for range d / Step {
		r := f.Base + f.Queue/f.Capacity
		rate := f.Flows * f.Window / r
		f.history = append(f.history, f.Window/r*f.Probability())
		past := f.history[max(0, len(f.history)-1-int(r/dt))]
		f.Window = max(1, f.Window+(1/r-f.Window/2*past)*dt)
		f.Queue = max(0, f.Queue+(rate-f.Capacity)*dt)

		f.now += aqm.Time(Step)
		f.arrived += rate * dt
		for ; f.arrived >= 1; f.arrived-- {
			n := int(math.Round(f.Queue))
			p := aqm.Packet{Size: f.MeanPacket, ECN: aqm.ECT0, Class: aqm.Data}
			f.AQM.Enqueue(f.now, p, aqm.Occupancy{Packets: n, Bytes: int64(n) * int64(f.MeanPacket)})
		}
		queue = append(queue, f.Queue)
	}
	return queue
}
