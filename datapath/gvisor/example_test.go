package gvisor_test

import (
	"context"
	"fmt"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/datapath/gvisor"
)

// A NIC whose packets leave at 50 Mb/s, in 16 queues under CoDel.
func Example() {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	defer s.Destroy() // which also closes the discipline

	var queues []aqm.AQM
	for range 16 {
		a, err := codel.New(codel.DefaultConfig())
		if err != nil {
			fmt.Println(err)
			return
		}
		queues = append(queues, a)
	}
	link := channel.New(256, 1500, "") // any stack.LinkEndpoint
	qdisc, err := gvisor.New(link, gvisor.Config{
		Clock:        s.Clock(),
		Rate:         50_000_000,
		LimitPackets: 1000,
		AQMs:         queues,
		Batch:        gvisor.DefaultBatch,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.CreateNICWithOptions(1, link, stack.NICOptions{QDisc: qdisc}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("queues:", len(qdisc.Stats().Queues))
	// Output: queues: 16
}

// A link with room for 8 packets, which takes no more than that: what is beyond waits
// under the algorithm, and not in a long buffer of the link's. Whoever empties the link
// says so with Ready.
func ExampleDiscipline_Ready() {
	a, err := codel.New(codel.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	link := channel.New(8, 1500, "")
	qdisc, err := gvisor.New(link, gvisor.Config{
		Clock:        tcpip.NewStdClock(),
		LimitPackets: 1000,
		AQMs:         []aqm.AQM{a},
		Batch:        8,
		RetryAfter:   10 * time.Millisecond, // for the case that nobody calls Ready
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer qdisc.Close()
	for range 100 { // netstack does this
		pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(make([]byte, 1000))})
		pkt.NetworkProtocolNumber = header.ARPProtocolNumber
		if err := qdisc.WritePacket(pkt); err != nil {
			fmt.Println(err)
		}
		pkt.DecRef()
	}
	for range 100 {
		pkt := link.ReadContext(context.Background())
		qdisc.Ready()
		pkt.DecRef()
	}
	fmt.Println("lost:", qdisc.Stats().Lost)
	// Output: lost: 0
}

// The capacity has changed: so does the rate, and the algorithm's idea of a packet's time.
// Packets that are queued stay.
func ExampleDiscipline_SetRate() {
	c, err := codel.Design(50_000_000, 100*time.Millisecond, 1500)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := codel.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	qdisc, err := gvisor.New(channel.New(8, 1500, ""), gvisor.Config{
		Clock:        tcpip.NewStdClock(),
		Rate:         50_000_000,
		LimitPackets: 1000,
		AQMs:         []aqm.AQM{a},
		Batch:        gvisor.DefaultBatch,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer qdisc.Close()

	if c, err = codel.Design(1_000_000, 100*time.Millisecond, 1500); err != nil {
		fmt.Println(err)
		return
	}
	qdisc.SetRate(1_000_000)
	qdisc.Do(func() { err = a.Reconfigure(c) })
	fmt.Println(c.Target, err)
	// Output: 12ms <nil>
}
