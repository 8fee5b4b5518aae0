package threshold_test

import (
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/threshold"
)

func Example() {
	c, err := threshold.Design(threshold.DCTCP, 10_000_000_000, 100*time.Microsecond, 2, 1500, 65)
	if err != nil {
		fmt.Println(err)
		return
	}
	th, err := threshold.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}
	fmt.Println("K =", c.Packets)
	fmt.Println(th.Enqueue(0, p, aqm.Occupancy{Packets: 65, Bytes: 97500}))
	fmt.Println(th.Enqueue(0, p, aqm.Occupancy{Packets: 66, Bytes: 99000}))
	// Output:
	// K = 65
	// Pass
	// Mark/Early
}
