package wire

import (
	"encoding/binary"
	"math"

	"github.com/aqmkit/aqmkit/aqm"
)

const (
	ethernetHeader = 14 // bytes: two addresses and the type [IEEE 802.3 3.1]
	vlanTag        = 4  // bytes [IEEE 802.1Q 9.3]

	typeIPv4 = 0x0800
	typeVLAN = 0x8100 // 802.1Q, the customer's tag
	typeIPv6 = 0x86dd
	typeQinQ = 0x88a8 // 802.1ad, the provider's tag

	// maxTags is how many VLAN tags are passed over. Two are usual.
	maxTags = 8
)

// ParseEthernet reads the Ethernet frame b, from the destination address and without
// frame check sequence, and passes over up to eight VLAN tags (802.1Q, 802.1ad). ip
// is the offset of the IP header, so that a mark is SetCE(b[ip:]). The packet's Size
// is ip plus the length of the IP packet; the padding of a short frame is not in it.
//
// A frame without an IP packet (ARP, 802.3 with LLC, MPLS, PPPoE, more tags) is no
// error: it has class Other, is NotECT, so that it is never marked, its Size is that
// of b, and ip is -1.
//
// The errors are those of ParseIP; ErrVersion also where the Ethernet type says
// another version than the IP header. The packet is then zero and ip is -1.
func ParseEthernet(b []byte) (p aqm.Packet, ip int, err error) {
	if len(b) < ethernetHeader {
		return aqm.Packet{}, -1, ErrTruncated
	}
	ip = ethernetHeader
	etherType := binary.BigEndian.Uint16(b[ip-2:])
	for n := 0; n < maxTags && (etherType == typeVLAN || etherType == typeQinQ); n++ {
		ip += vlanTag
		if ip > len(b) {
			return aqm.Packet{}, -1, ErrTruncated
		}
		etherType = binary.BigEndian.Uint16(b[ip-2:])
	}
	var version uint8
	switch etherType {
	case typeIPv4:
		version = 4
	case typeIPv6:
		version = 6
	default:
		return aqm.Packet{Size: size32(len(b)), Class: aqm.Other}, -1, nil
	}
	if len(b) > ip && b[ip]>>4 != version {
		return aqm.Packet{}, -1, ErrVersion
	}
	if p, err = ParseIP(b[ip:]); err != nil {
		return aqm.Packet{}, -1, err
	}
	p.Size += min(uint32(ip), math.MaxUint32-p.Size)
	return p, ip, nil
}
