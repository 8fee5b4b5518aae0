package wire

import (
	"encoding/binary"

	"github.com/aqmkit/aqmkit/aqm"
)

// Protocol numbers of IANA's registry: TCP, and the IPv6 extension headers whose
// length can be told.
const (
	protocolHopByHop    = 0   // RFC 8200 4.3
	protocolTCP         = 6   // RFC 9293
	protocolRouting     = 43  // RFC 8200 4.4
	protocolFragment    = 44  // RFC 8200 4.5
	protocolAH          = 51  // RFC 4302
	protocolDestination = 60  // RFC 8200 4.6
	protocolMobility    = 135 // RFC 6275 6.1
	protocolHIP         = 139 // RFC 7401 5.1
	protocolShim6       = 140 // RFC 5533 5.1
)

// maxHeaders is how many extension headers are followed. RFC 8200 4.1 lists six that
// may stand before TCP, with Destination Options twice.
const maxHeaders = 8

const (
	tcpHeader = 20 // bytes, without options [RFC 9293 3.1]

	// The flags [RFC 9293 3.1; ECE: RFC 3168 6.1].
	flagFIN = 0x01
	flagSYN = 0x02
	flagRST = 0x04
	flagACK = 0x10
	flagECE = 0x40
)

// classBehind returns the class of a packet whose payload b begins with the header
// next, which may be one of a chain. more says that this is the first of several
// fragments.
func classBehind(next uint8, b []byte, more bool) aqm.Class {
	for n := 0; next != protocolTCP; n++ {
		if n == maxHeaders || len(b) < 8 {
			return aqm.Other
		}
		size := 8 + 8*int(b[1]) // RFC 8200 4.3
		switch next {
		case protocolHopByHop, protocolRouting, protocolDestination, protocolMobility, protocolHIP, protocolShim6:
		case protocolFragment:
			fragment := binary.BigEndian.Uint16(b[2:]) // RFC 8200 4.5
			if fragment&^0b111 != 0 {
				return aqm.Other
			}
			more = more || fragment&1 != 0
			size = 8
		case protocolAH:
			size = 8 + 4*int(b[1]) // RFC 4302 2.2
			if size < 12 {
				return aqm.Other
			}
		default:
			return aqm.Other
		}
		if size > len(b) {
			return aqm.Other
		}
		next, b = b[0], b[size:]
	}
	return classOfTCP(b, more)
}

// classOfTCP returns the class of a packet that is the TCP segment b, or its first
// fragment if there are more.
func classOfTCP(b []byte, more bool) aqm.Class {
	if len(b) < tcpHeader {
		return aqm.Other
	}
	header := int(b[12]>>4) * 4
	if header < tcpHeader || header > len(b) {
		return aqm.Other
	}
	flags := b[13]
	var c aqm.Class
	if len(b) > header || more {
		c = aqm.Data
	}
	if flags&(flagSYN|flagFIN|flagRST) != 0 {
		c |= classOfFlags(flags)
	} else if c == 0 {
		c = aqm.Other
		if flags&flagACK != 0 {
			c = aqm.PureACK
		}
	}
	if flags&flagECE != 0 {
		c |= aqm.ECE
	}
	return c
}

// classOfFlags returns the bits of a segment that opens or ends a connection.
func classOfFlags(flags uint8) (c aqm.Class) {
	switch flags & (flagSYN | flagACK) {
	case flagSYN:
		c = aqm.SYN
	case flagSYN | flagACK:
		c = aqm.SYNACK
	}
	if flags&flagFIN != 0 {
		c |= aqm.FIN
	}
	if flags&flagRST != 0 {
		c |= aqm.RST
	}
	return c
}
