package codel_test

import (
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
)

// A burst of 200 packets drains at 10 Mb/s. After 100 ms above Target CoDel drops
// from the head, and again after 100 ms; the next drop would be 71 ms later.
func Example() {
	c, err := codel.New(codel.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	var now aqm.Time
	q, err := aqm.NewFIFO(aqm.FIFOConfig[int]{
		LimitPackets: 1000,
		OnDrop:       func(id int, _ aqm.Packet, v aqm.Verdict) { fmt.Println(id, v, time.Duration(now)) },
	}, c)
	if err != nil {
		fmt.Println(err)
		return
	}
	for id := range 200 {
		q.Enqueue(now, id, aqm.Packet{Size: 1500, Class: aqm.Data})
	}
	const perPacket = 1200 * time.Microsecond
	for now = now.Add(10 * time.Millisecond); q.Len() > 0; now = now.Add(perPacket) {
		q.Dequeue(now)
	}
	fmt.Println("dropping:", c.State().Dropping)
	// Output:
	// 84 Drop/Early 110.8ms
	// 169 Drop/Early 211.6ms
	// dropping: false
}

func ExampleDesign() {
	c, err := codel.Design(1_000_000, 200*time.Millisecond, 1500)
	fmt.Println(c.Target, c.Interval, c.MTU, err)
	_, err = codel.Design(1_000_000, 10*time.Millisecond, 1500)
	fmt.Println(err)
	// Output:
	// 12ms 200ms 1500 <nil>
	// codel: Target = 12ms, must be <= Interval = rtt = 10ms; at 1000000 bit/s it is the time of one packet of 1500 bytes: raise rtt, which includes that time, or lower mtu: invalid configuration
}
