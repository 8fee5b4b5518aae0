package wire

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/aqmkit/aqmkit/aqm"
)

// The errors of this package. A packet that gives one is not a packet that IP could
// forward. A datapath that passes it on nevertheless has to take it for
// aqm.Packet{Size: uint32(len(b)), Class: aqm.Other}.
var (
	ErrTruncated = errors.New("wire: packet is truncated")
	ErrVersion   = errors.New("wire: IP version is not 4 or 6, or not the Ethernet type's")
	ErrHeader    = errors.New("wire: length in the IP header is impossible")
)

const (
	ipv4Header = 20 // bytes, without options [RFC 791 3.1]
	ipv6Header = 40 // bytes [RFC 8200 3]

	moreFragments  = 0x2000 // flag beside the fragment offset [RFC 791 3.1]
	fragmentOffset = 0x1fff // mask [RFC 791 3.1]
)

// ParseIP reads the IPv4 or IPv6 packet at the start of b. The packet's Size is its
// length according to the IP header, or, where that says 0, what the package
// documentation says; its EnqueuedAt is 0. The error is ErrTruncated, ErrVersion or
// ErrHeader itself, and the packet is then zero.
func ParseIP(b []byte) (aqm.Packet, error) {
	if len(b) == 0 {
		return aqm.Packet{}, ErrTruncated
	}
	switch b[0] >> 4 {
	case 4:
		return parseIPv4(b)
	case 6:
		return parseIPv6(b)
	}
	return aqm.Packet{}, ErrVersion
}

// parseIPv4 reads an IPv4 packet [RFC 791 3.1].
func parseIPv4(b []byte) (aqm.Packet, error) {
	if len(b) < ipv4Header {
		return aqm.Packet{}, ErrTruncated
	}
	header, size := int(b[0]&0x0f)*4, int(binary.BigEndian.Uint16(b[2:]))
	if size == 0 {
		size = len(b)
	}
	if header < ipv4Header || header > size || size > len(b) {
		return aqm.Packet{}, ipv4Error(b, header)
	}
	class := aqm.Other
	if fragment := binary.BigEndian.Uint16(b[6:]); fragment&fragmentOffset == 0 {
		switch payload, more := b[header:size], fragment&moreFragments != 0; b[9] {
		case protocolTCP:
			class = classOfTCP(payload, more)
		case protocolAH:
			class = classBehind(protocolAH, payload, more)
		}
	}
	return aqm.Packet{Size: size32(size), ECN: aqm.ECNFromTOS(b[1]), Class: class}, nil
}

// ipv4Error returns what is wrong with the lengths of an IPv4 header: ErrHeader if
// more bytes behind b could not make it right.
func ipv4Error(b []byte, header int) error {
	size := int(binary.BigEndian.Uint16(b[2:]))
	if header < ipv4Header || size != 0 && header > size {
		return ErrHeader
	}
	return ErrTruncated
}

// parseIPv6 reads an IPv6 packet [RFC 8200 3].
func parseIPv6(b []byte) (aqm.Packet, error) {
	if len(b) < ipv6Header {
		return aqm.Packet{}, ErrTruncated
	}
	size := ipv6Header + int(binary.BigEndian.Uint16(b[4:]))
	if size == ipv6Header {
		var err error
		if size, err = sizeWithoutLength(b); err != nil {
			return aqm.Packet{}, err
		}
	}
	if size > len(b) {
		return aqm.Packet{}, ErrTruncated
	}
	var class aqm.Class
	if b[6] == protocolTCP {
		class = classOfTCP(b[ipv6Header:size], false)
	} else {
		class = classBehind(b[6], b[ipv6Header:size], false)
	}
	return aqm.Packet{Size: size32(size), ECN: aqm.ECNFromTOS(b[1] >> 4), Class: class}, nil
}

// sizeWithoutLength returns the size of an IPv6 packet whose payload length is 0.
func sizeWithoutLength(b []byte) (int, error) {
	const jumboOption = 0xc204 // type and length of the Jumbo Payload option [RFC 2675 2]
	if b[6] == protocolHopByHop {
		if len(b) < ipv6Header+8 {
			return 0, ErrTruncated // there is a payload, of 8 octets at least
		}
		// The option needs an alignment of 4n + 2 [RFC 2675 2], which is where the
		// first option stands.
		if binary.BigEndian.Uint16(b[ipv6Header+2:]) == jumboOption {
			payload := int64(binary.BigEndian.Uint32(b[ipv6Header+4:]))
			if payload <= math.MaxUint16 { // RFC 2675 3
				return 0, ErrHeader
			}
			if payload > int64(len(b)-ipv6Header) {
				return 0, ErrTruncated
			}
			return ipv6Header + int(payload), nil
		}
	}
	if len(b) > ipv6Header+math.MaxUint16 {
		return len(b), nil
	}
	return ipv6Header, nil
}

// size32 returns n as a Size. It saturates: no packet is that large, some buffer may
// be.
func size32(n int) uint32 { return uint32(min(uint64(n), math.MaxUint32)) }
