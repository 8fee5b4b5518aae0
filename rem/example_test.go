package rem_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/rem"
)

func Example() {
	// 100 Mb/s shared by 50 flows, with round-trip times of up to 100 ms: keep the
	// queue at 100 packets.
	c, err := rem.Design(100_000_000, 100*time.Millisecond, 50, 1500, 100, 5*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Rand = rand.NewPCG(1, 2)
	r, err := rem.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}
	for range 500 { // a burst, where the link carries 41.7 packets in an Interval
		r.Enqueue(0, p, aqm.Occupancy{})
	}
	v := r.Enqueue(5_000_000, p, aqm.Occupancy{Packets: 450, Bytes: 675_000})
	fmt.Printf("%v, price %.2f, p = %.4f\n", v, r.State().Price, r.Probability())
	// Output:
	// Pass, price 8.05, p = 0.0080
}

// A design that is out of the law's domain says so.
func ExampleDesign() {
	_, err := rem.Design(10_000_000, 100*time.Millisecond, 50, 1500, 10, 5*time.Millisecond)
	fmt.Println(err)
	// Output:
	// rem: flows = 50 flows, must be < 35.42, so that w_g*rtt = 2*flows/(rtt*C) = 1.2 is < 0.85 and leaves a phase margin; C = 833.3 packets/s: invalid configuration
}
