package aqmtest_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/aqmtest"
	"github.com/aqmkit/aqmkit/codel"
)

// A CoDel holds its promise at 20 Mb/s, and a queue without AQM does not.
func ExampleCheckStability() {
	domain := aqmtest.Domain{
		Rate:        aqmtest.Range[uint64]{Low: 20_000_000, High: 20_000_000},
		RTT:         aqmtest.Range[time.Duration]{Low: 80 * time.Millisecond, High: 100 * time.Millisecond},
		Flows:       aqmtest.Range[int]{Low: 10, High: 20},
		Unit:        aqm.Delay,
		Target:      0.015,
		Band:        aqmtest.Range[float64]{Low: 0.5, High: 2},
		Swing:       1.2,
		Settle:      20 * time.Second,
		Utilisation: 0.95,
		Points:      2,
	}
	fmt.Println(aqmtest.CheckStability(func(rand.Source) aqm.AQM {
		a, err := codel.New(codel.DefaultConfig())
		if err != nil {
			panic(err)
		}
		return a
	}, domain))

	err := aqmtest.CheckStability(func(rand.Source) aqm.AQM { return aqm.TailDrop{} }, domain)
	for _, i := range aqmtest.Instabilities(err) {
		fmt.Println(i.Promise.Name, "at", i.Point)
	}
	// Output:
	// <nil>
	// settles at 20 Mb/s, RTT 100ms, 10 flows (point 0 of seed 1)
	// mean at 20 Mb/s, RTT 100ms, 10 flows (point 0 of seed 1)
}
