package aqm

import (
	"fmt"
	"strings"
)

// ECN is a packet's Explicit Congestion Notification field (RFC 3168 section 5),
// with the values of the two bits on the wire.
type ECN uint8

// The four codepoints of RFC 3168 section 5.
const (
	NotECT ECN = 0b00 // not ECN-capable transport
	ECT1   ECN = 0b01 // ECN-capable transport, ECT(1)
	ECT0   ECN = 0b10 // ECN-capable transport, ECT(0)
	CE     ECN = 0b11 // congestion experienced
)

// ECNFromTOS returns the ECN field of an IPv4 TOS or an IPv6 Traffic Class octet.
func ECNFromTOS(tos uint8) ECN { return ECN(tos & 0b11) }

// Capable reports whether a packet with this codepoint may be marked instead of
// dropped: every codepoint but NotECT.
func (e ECN) Capable() bool { return e&0b11 != NotECT }

// String returns the codepoint's name as RFC 3168 writes it.
func (e ECN) String() string {
	switch e {
	case NotECT:
		return "NotECT"
	case ECT1:
		return "ECT(1)"
	case ECT0:
		return "ECT(0)"
	case CE:
		return "CE"
	}
	return fmt.Sprintf("ECN(%d)", uint8(e))
}

// Class is a set of bits that say what a packet is, as far as a policy may care.
// Every packet has at least one of PureACK, SYN, SYNACK, FIN, RST, Data and Other;
// ECE is set beside them. The zero Class is treated as Other.
type Class uint8

// What a packet can be.
const (
	PureACK Class = 1 << iota // TCP with ACK, without payload, SYN, FIN or RST
	SYN                       // TCP with SYN and without ACK
	SYNACK                    // TCP with SYN and ACK
	FIN                       // TCP with FIN
	RST                       // TCP with RST
	Data                      // TCP with payload
	Other                     // not TCP, or not parsable
	ECE                       // TCP with the ECN-Echo flag, beside one of the others
)

var classNames = [8]string{"PureACK", "SYN", "SYNACK", "FIN", "RST", "Data", "Other", "ECE"}

// Has reports whether c and set have a bit in common. A Class of 0, or of ECE
// alone, has Other.
func (c Class) Has(set Class) bool {
	if c&^ECE == 0 {
		c |= Other
	}
	return c&set != 0
}

// String returns the names of the bits that are set, joined by "|".
func (c Class) String() string {
	if c == 0 {
		return "Other"
	}
	var names []string
	for i, name := range classNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// Packet is what an AQM may know of a packet. It is passed by value: with the
// receiver, the time and an Occupancy it fills the nine integer registers of Go's
// calling convention on amd64.
type Packet struct {
	EnqueuedAt Time   // set by the queue on admission; meaningless in Enqueue
	Size       uint32 // bytes on the wire, headers included
	ECN        ECN
	Class      Class
}

// Unit is what a threshold, a reference or an average is measured in.
type Unit uint8

// The units of measurement.
const (
	Packets Unit = iota // packets
	Bytes               // bytes
	Delay               // seconds

	NumUnits = iota
)

// String returns the unit's name: packets, bytes or seconds.
func (u Unit) String() string {
	switch u {
	case Packets:
		return "packets"
	case Bytes:
		return "bytes"
	case Delay:
		return "seconds"
	}
	return fmt.Sprintf("Unit(%d)", uint8(u))
}

// Occupancy is the queue that one AQM instance governs, as it is without the
// packet being judged: before the insertion at Enqueue, after the removal at
// Dequeue.
type Occupancy struct {
	Packets int
	Bytes   int64
	Full    bool // Enqueue only: the queue cannot store this packet
}
