package wire

import "encoding/binary"

// SetCE sets the codepoint CE on the packet whose IPv4 or IPv6 header is at the
// start of ip, and reports whether the packet carries CE now.
//
// A packet that carries CE already is left as it is, which makes a second call
// harmless. The result is false, and no byte is changed, where a mark would be wrong
// or impossible: on a NotECT packet, whose sender would not understand it (RFC 3168
// section 5), and on bytes that do not begin with the fixed part of an IP header.
//
// The checksum of an IPv4 header is updated incrementally: a right one becomes the one
// that a full computation gives, and a wrong one stays wrong, so that the damage is
// still found at the next hop. IPv6 has none, and neither version's ECN field is in
// the checksum of TCP or UDP.
func SetCE(ip []byte) bool {
	switch {
	case len(ip) >= ipv4Header && ip[0]>>4 == 4 && ip[0]&0x0f >= ipv4Header/4:
		switch ip[1] & 0b11 {
		case 0b00:
			return false
		case 0b11:
			return true
		}
		old := binary.BigEndian.Uint16(ip)
		ip[1] |= 0b11
		sum := updateChecksum(binary.BigEndian.Uint16(ip[10:]), old, old|0b11)
		binary.BigEndian.PutUint16(ip[10:], sum)
		return true
	case len(ip) >= ipv6Header && ip[0]>>4 == 6:
		// The Traffic Class spans the low half of octet 0 and the high half of octet 1.
		if ip[1]>>4&0b11 == 0b00 {
			return false
		}
		ip[1] |= 0b11 << 4
		return true
	}
	return false
}

// updateChecksum returns the header checksum that was sum before a 16-bit word of the
// header changed from old to new:
//
//	HC' = ~(~HC + ~m + m')    [RFC 1624 eqn. 3]
//
// in one's complement arithmetic, where a carry is added to the low end. Unlike eqn. 2
// it never gives 0xffff in place of 0, because a sum of terms that are not all 0 is
// not 0.
func updateChecksum(sum, old, new uint16) uint16 {
	s := uint32(^sum) + uint32(^old) + uint32(new)
	s = s>>16 + s&0xffff
	s += s >> 16
	return ^uint16(s)
}
