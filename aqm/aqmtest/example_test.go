package aqmtest_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/aqmtest"
)

// coin signals to one arrival in ten.
type coin struct{ src rand.Source }

func (c coin) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	if c.src.Uint64()%10 == 0 {
		return aqm.MarkOrDrop(p.ECN, aqm.Early)
	}
	return aqm.Verdict{}
}

func (coin) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return aqm.Verdict{} }

func Example() {
	err := aqmtest.Check(func(src rand.Source) aqm.AQM { return coin{src} })
	fmt.Println(err)
	// Output: <nil>
}

// marker is a coin that forgets that not every packet may be marked.
type marker struct{ coin }

func (m marker) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	v := m.coin.Enqueue(now, p, q)
	if v.Reason == aqm.Early {
		v.Action = aqm.Mark
	}
	return v
}

// A failure quotes the law and ends with a short run of calls that breaks it.
func ExampleCheck() {
	err := aqmtest.Check(func(src rand.Source) aqm.AQM { return marker{coin{src}} }, aqmtest.Only("not-ect", "overflow"))
	for _, v := range aqmtest.Violations(err) {
		fmt.Println(v.Law.Name, "-", v.Detail)
		fmt.Println(v.Calls[len(v.Calls)-1])
	}
	// Output:
	// not-ect - Mark/Early for a packet that is NotECT
	// Enqueue(0, aqm.Packet{Size: 1500}, aqm.Occupancy{})
}

func ExampleRepeat() {
	src := aqmtest.Repeat(1, 2)
	fmt.Println(src.Uint64(), src.Uint64(), src.Uint64())
	// Output: 1 2 1
}

func ExampleLaws() {
	for _, l := range aqmtest.Laws()[:2] {
		fmt.Printf("%s: %s\n", l.Name, l.Sentence)
	}
	// Output:
	// bounded-work: work per call that is bounded whatever the gap since the last one
	// no-allocation: No allocation, no blocking, no clock
}
