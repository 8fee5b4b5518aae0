package pie_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/pie"
)

// A queue of 30 packets is served at one packet a millisecond, so that packets are
// queued for twice the target.
func Example() {
	c := pie.DefaultConfig()
	c.Rand = rand.NewPCG(1, 2)
	p, err := pie.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	q := aqm.Occupancy{Packets: 30, Bytes: 45_000}
	for now := aqm.Time(0); ; now = now.Add(time.Millisecond) {
		p.Dequeue(now, aqm.Packet{EnqueuedAt: now.Add(-30 * time.Millisecond), Size: 1500}, q)
		if v := p.Enqueue(now, aqm.Packet{Size: 1500, ECN: aqm.ECT0}, q); v.Action != aqm.Pass {
			fmt.Println(v)
			fmt.Println("after the burst allowance:", now >= aqm.Time(c.MaxBurst))
			fmt.Println("p is below 0.1:", p.Probability() < c.MaxECN)
			return
		}
	}
	// Output:
	// Mark/Early
	// after the burst allowance: true
	// p is below 0.1: true
}

func ExampleDesign() {
	c, err := pie.Design(10_000_000_000, 150*time.Microsecond, 1500)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Target, c.Update, c.MaxBurst, c.Alpha, c.Beta)
	// Output:
	// 150µs 150µs 1.5ms 12.5 125
}
