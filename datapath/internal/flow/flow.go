// Package flow tells flows apart.
package flow

import (
	"encoding/binary"
	"hash/maphash"
)

// Hasher hashes the flow of a packet. Hashers made by New differ, so that nobody can
// choose addresses that fall together.
type Hasher struct{ seed maphash.Seed }

// New returns a Hasher.
func New() Hasher { return Hasher{maphash.MakeSeed()} }

// Of returns the hash of addresses, protocol and, where they stand directly behind
// the IP header, the ports of TCP, UDP, DCCP, SCTP and UDP-Lite. The fragments of a
// packet, which have no ports but in the first, are one flow by their addresses and
// protocol. ip begins with the IP header and may end anywhere; the hash of what is
// not IP is that of no flow.
func (h Hasher) Of(ip []byte) uint32 {
	var key [37]byte // the largest: two IPv6 addresses, protocol, ports
	n := 0
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		n = copy(key[:], ip[12:20])
		key[n] = ip[9]
		n++
		const fragment = 0x3fff // offset, and more fragments [RFC 791 3.1]
		if header := int(ip[0]&0x0f) * 4; binary.BigEndian.Uint16(ip[6:])&fragment == 0 && hasPorts(ip[9]) && len(ip) >= header+4 {
			n += copy(key[n:], ip[header:header+4])
		}
	case len(ip) >= 40 && ip[0]>>4 == 6:
		n = copy(key[:], ip[8:40])
		key[n] = ip[6]
		n++
		if hasPorts(ip[6]) && len(ip) >= 44 {
			n += copy(key[n:], ip[40:44])
		}
	}
	s := maphash.Bytes(h.seed, key[:n])
	return uint32(s>>32) ^ uint32(s)
}

// hasPorts reports whether a protocol's header begins with two ports of 16 bits.
func hasPorts(protocol byte) bool {
	switch protocol {
	case 6, 17, 33, 132, 136: // TCP, UDP, DCCP, SCTP, UDP-Lite
		return true
	}
	return false
}
