package wire_test

import (
	"encoding/hex"
	"fmt"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/wire"
)

// always is an AQM that signals congestion for every arrival.
type always struct{ aqm.TailDrop }

func (always) Enqueue(_ aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	return aqm.MarkOrDrop(p.ECN, aqm.Early)
}

// A packet comes from a TUN device, passes the queue and is marked on its way out.
func Example() {
	queue, err := aqm.NewFIFO[[]byte](aqm.FIFOConfig[[]byte]{LimitPackets: 100}, always{})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, _ := hex.DecodeString("450200280000400040064e92c0000201c6336407" + "c35001bb0000000100000002" + "5010ffff00000000")

	p, err := wire.ParseIP(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Size, p.ECN, p.Class)
	fmt.Println(queue.Enqueue(0, in, p))

	out, p, ok := queue.Dequeue(0)
	if ok && p.ECN == aqm.CE {
		fmt.Println(wire.SetCE(out))
	}
	fmt.Printf("% x\n", out[:20])
	// Output:
	// 40 ECT(0) PureACK
	// Mark/Early
	// true
	// 45 03 00 28 00 00 40 00 40 06 4e 91 c0 00 02 01 c6 33 64 07
}

// An Ethernet frame with a VLAN tag and an IPv6 SYN in it: the mark goes to the IP
// header.
func ExampleParseEthernet() {
	frame, _ := hex.DecodeString("020000000001" + "020000000002" + "81000064" + "86dd" +
		"6020000000140640" + "20010db8000000000000000000000001" + "20010db8000000000000000000000002" +
		"c35001bb0000000100000000" + "5002ffff00000000")

	p, ip, err := wire.ParseEthernet(frame)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Size, p.ECN, p.Class, ip)
	if ip >= 0 {
		fmt.Println(wire.SetCE(frame[ip:]))
	}
	// Output:
	// 78 ECT(0) SYN 18
	// true
}
