package aqm_test

import (
	"fmt"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/threshold"
)

func ExampleFIFO() {
	mark, err := threshold.New(threshold.Config{Packets: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := aqm.NewFIFO(aqm.FIFOConfig[string]{LimitPackets: 3}, mark)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := aqm.Time(0) // the caller's clock
	for _, name := range []string{"a", "b", "c", "d"} {
		v := q.Enqueue(now, name, aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data})
		fmt.Println(name, v)
	}
	for {
		name, p, ok := q.Dequeue(now)
		if !ok {
			break
		}
		fmt.Println(name, p.ECN)
	}
	// Output:
	// a Pass
	// b Pass
	// c Mark/Early
	// d Drop/Overflow
	// a ECT(0)
	// b ECT(0)
	// c CE
}
