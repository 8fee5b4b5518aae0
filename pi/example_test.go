package pi_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/pi"
)

func Example() {
	// 100 Mb/s shared by 50 flows, with round-trip times of up to 100 ms: keep the
	// queue at 100 packets.
	c, err := pi.Design(100_000_000, 100*time.Millisecond, 50, 1500, 100, 5*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Rand = rand.NewPCG(1, 2)
	a, err := pi.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}
	a.Enqueue(0, p, aqm.Occupancy{})
	// Two seconds later there are 500 packets in the queue.
	now := aqm.Time(2 * time.Second)
	v := a.Enqueue(now, p, aqm.Occupancy{Packets: 500, Bytes: 750_000})
	fmt.Printf("%v, %d updates, p = %.3f\n", v, a.State().Updates, a.Probability())
	// Output:
	// Pass, 400 updates, p = 0.025
}

// A design that is out of the law's domain says so.
func ExampleDesign() {
	_, err := pi.Design(10_000_000, 100*time.Millisecond, 50, 1500, 10, 5*time.Millisecond)
	fmt.Println(err)
	// Output:
	// pi: flows = 50 flows, must be < 35.42, so that w_g*rtt = 2*flows/(rtt*C) = 1.2 is < 0.85 and leaves a phase margin; C = 833.3 packets/s: invalid configuration
}
