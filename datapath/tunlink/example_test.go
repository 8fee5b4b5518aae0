package tunlink_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/datapath/tunlink"
)

// Join two network namespaces, which ip netns add has made, by a link of 50 Mb/s and
// 20 ms, with CoDel in one direction, until Ctrl-C.
func Example() {
	a, err := codel.New(codel.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	const delay = 10 * time.Millisecond
	l, err := tunlink.Open(tunlink.Config{
		A:    tunlink.Direction{Rate: 50e6, Delay: delay, LimitPackets: 500, AQM: a},
		B:    tunlink.Direction{Rate: 50e6, Delay: delay, LimitPackets: 500, AQM: aqm.TailDrop{}},
		EndA: tunlink.End{Namespace: "left", Address: netip.MustParsePrefix("10.0.0.1/30")},
		EndB: tunlink.End{Namespace: "right", Address: netip.MustParsePrefix("10.0.0.2/30")},
		MTU:  tunlink.DefaultMTU,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := l.Run(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("marked:", l.Stats().A.Queue.Marked.Packets)
}
