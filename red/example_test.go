package red_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/red"
)

func Example() {
	// Adaptive RED for 100 Mb/s and a queueing delay of about 10 ms.
	c, err := red.Design(100_000_000, 10*time.Millisecond, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Rand = rand.NewPCG(1, 2) // for the same output every time
	r, err := red.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("thresholds %.1f and %.1f packets\n", c.MinTh, c.MaxTh)

	// A queue of 125 packets stands for some time.
	now, marked := aqm.Time(0), 0
	p := aqm.Packet{Size: 1000, ECN: aqm.ECT0, Class: aqm.Data}
	for range 100_000 {
		now = now.Add(80 * time.Microsecond)
		if r.Enqueue(now, p, aqm.Occupancy{Packets: 125, Bytes: 125_000}).Action == aqm.Mark {
			marked++
		}
	}
	s := r.State()
	fmt.Printf("average %.1f packets, max_p %.2f, p_b %.3f\n", s.Avg, s.MaxP, s.Prob)
	fmt.Println("some packets were marked:", marked > 0)
	// Output:
	// thresholds 62.5 and 187.5 packets
	// average 125.0 packets, max_p 0.07, p_b 0.033
	// some packets were marked: true
}
