package aqmtest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

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

// TestCoin is the test of a stranger's AQM: there is a subtest for each law.
func TestCoin(t *testing.T) {
	aqmtest.TestAQM(t, func(src rand.Source) aqm.AQM {
		return coin{src}
	})
}

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
	// no-blocking: no blocking
	// bounded-work: work per call that is bounded whatever the gap since the last one
}

// An AQM that treats ECT(1) otherwise, as RFC 9331 wants it, skips a law and says why.
func ExampleSkip() {
	err := aqmtest.Check(func(src rand.Source) aqm.AQM { return classic{coin{src}} },
		aqmtest.Skip("ect", "ECT(1) is for another queue, as RFC 9331 says"))
	fmt.Println(err)
	// Output: <nil>
}

// classic is a coin that leaves ECT(1) alone.
type classic struct{ coin }

func (c classic) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	v := c.coin.Enqueue(now, p, q)
	if v.Action == aqm.Mark && p.ECN == aqm.ECT1 {
		return aqm.Verdict{}
	}
	return v
}

// A long run of two laws.
func ExampleLong() {
	err := aqmtest.Check(func(src rand.Source) aqm.AQM { return coin{src} },
		aqmtest.Long(), aqmtest.Packets(500), aqmtest.Only("overflow", "not-ect"))
	fmt.Println(err)
	// Output: <nil>
}

// A violation has all the calls that lead to it, as Go code.
func ExampleViolation_Program() {
	err := aqmtest.Check(func(src rand.Source) aqm.AQM { return forgetful{coin{src}} }, aqmtest.Only("overflow"))
	fmt.Println(aqmtest.Violations(err)[0].Program())
	// Output:
	// a := mk(rand.NewPCG(1, 500))
	// a.Enqueue(0, aqm.Packet{Size: 1500}, aqm.Occupancy{Full: true}) // Pass
}

// forgetful is a coin that forgets that a queue may be full.
type forgetful struct{ coin }

func (f forgetful) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	q.Full = false
	return f.coin.Enqueue(now, p, q)
}
