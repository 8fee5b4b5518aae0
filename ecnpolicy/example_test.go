package ecnpolicy_test

import (
	"fmt"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/threshold"
)

func Example() {
	th, err := threshold.New(threshold.Config{Packets: 20, DropNotECT: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := ecnpolicy.DefaultConfig()
	c.Carry = true
	c.BudgetRate, c.BudgetBurst = 1_000_000, 15_000 // senders are not trusted
	p, err := ecnpolicy.New(th, c)
	if err != nil {
		fmt.Println(err)
		return
	}

	ack := aqm.Packet{Size: 40, ECN: aqm.NotECT, Class: aqm.PureACK}
	data := aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}
	long, short := aqm.Occupancy{Packets: 21}, aqm.Occupancy{Packets: 5}
	fmt.Println("ACK in a long queue, bare: ", th.Enqueue(0, ack, long))
	fmt.Println("ACK in a long queue:       ", p.Enqueue(0, ack, long))
	fmt.Println("data in a short queue:     ", p.Enqueue(0, data, short)) // carries the ACK's signal
	fmt.Println("data in a short queue:     ", p.Enqueue(0, data, short))
	// Output:
	// ACK in a long queue, bare:  Drop/Early
	// ACK in a long queue:        Pass
	// data in a short queue:      Mark/Early
	// data in a short queue:      Pass
}
