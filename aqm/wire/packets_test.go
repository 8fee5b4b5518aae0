package wire

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// What the parser has no name for.
const (
	flagPSH = 0x08

	protocolUDP   = 17
	protocolESP   = 50
	protocolEmpty = 59
)

// segment returns a TCP segment with some bytes of options, a multiple of 4.
func segment(flags uint8, options, payload int) []byte {
	b := make([]byte, tcpHeader+options+payload)
	binary.BigEndian.PutUint16(b, 443)
	binary.BigEndian.PutUint16(b[2:], 50000)
	b[12] = uint8((tcpHeader+options)/4) << 4
	b[13] = flags
	for i := tcpHeader; i < tcpHeader+options; i++ {
		b[i] = 1 // no operation
	}
	return b
}

// ipv4 returns an IPv4 packet with a right checksum and some bytes of options, a
// multiple of 4.
func ipv4(tos, protocol uint8, fragment uint16, options int, payload []byte) []byte {
	b := make([]byte, ipv4Header+options, ipv4Header+options+len(payload))
	b[0] = 4<<4 | uint8(len(b)/4)
	b[1] = tos
	if size := len(b) + len(payload); size <= math.MaxUint16 {
		binary.BigEndian.PutUint16(b[2:], uint16(size))
	}
	binary.BigEndian.PutUint16(b[6:], fragment)
	b[8], b[9] = 64, protocol
	copy(b[12:], []byte{192, 0, 2, 1, 198, 51, 100, 7})
	for i := ipv4Header; i < len(b); i++ {
		b[i] = 1 // no operation
	}
	binary.BigEndian.PutUint16(b[10:], checksum(b))
	return append(b, payload...)
}

// ipv6 returns an IPv6 packet. With more payload than its length field can say, the
// field is 0.
func ipv6(trafficClass, next uint8, payload []byte) []byte {
	b := make([]byte, ipv6Header, ipv6Header+len(payload))
	b[0] = 6<<4 | trafficClass>>4
	b[1] = trafficClass<<4 | 0xa // and a flow label
	if len(payload) <= math.MaxUint16 {
		binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
	}
	b[6], b[7] = next, 64
	b[8], b[24] = 0x20, 0x20
	return append(b, payload...)
}

// extension returns an extension header of 8*(units+1) bytes before the payload.
func extension(next, units uint8, payload []byte) []byte {
	b := make([]byte, 8+8*int(units))
	b[0], b[1] = next, units
	b[2], b[3] = 1, uint8(len(b)-4) // PadN
	return append(b, payload...)
}

// fragment6 returns a Fragment header before the payload.
func fragment6(next uint8, offset uint16, more bool, payload []byte) []byte {
	b := []byte{next, 0, 0, 0, 0, 0, 0, 7}
	binary.BigEndian.PutUint16(b[2:], offset)
	if more {
		b[3] |= 1
	}
	return append(b, payload...)
}

// authentication returns an Authentication Header of 12 bytes and the integrity check
// value, a multiple of 4, before the payload.
func authentication(next uint8, icv int, payload []byte) []byte {
	b := make([]byte, 12+icv)
	b[0], b[1] = next, uint8(len(b)/4-2)
	return append(b, payload...)
}

// jumbo returns a Hop-by-Hop Options header with the Jumbo Payload option before the
// payload.
func jumbo(next uint8, length uint32, payload []byte) []byte {
	b := []byte{next, 0, 0xc2, 4, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[4:], length)
	return append(b, payload...)
}

// ethernet returns a frame with tags of the given types.
func ethernet(etherType uint16, tags []uint16, payload []byte) []byte {
	b := make([]byte, 12, ethernetHeader+len(tags)*vlanTag+len(payload))
	b[0], b[6] = 2, 2
	for i, tag := range tags {
		b = binary.BigEndian.AppendUint16(b, tag)
		b = binary.BigEndian.AppendUint16(b, uint16(0x6000+i))
	}
	return append(binary.BigEndian.AppendUint16(b, etherType), payload...)
}

// checksum computes the checksum of an IPv4 header from scratch, as RFC 1071 section 1
// says: the complement of the one's complement sum of its words, its own being 0.
func checksum(header []byte) uint16 {
	sum := 0
	for i := 0; i < len(header); i += 2 {
		if i == 10 {
			continue
		}
		sum += int(header[i])<<8 + int(header[i+1])
		if sum > 0xffff {
			sum -= 0xffff
		}
	}
	return uint16(0xffff - sum)
}

// packet is a packet or a frame, and what the parser should say of it.
type packet struct {
	name  string
	bytes []byte
	size  int
	ecn   aqm.ECN
	class aqm.Class
	err   error
}

func (p packet) want() aqm.Packet {
	if p.err != nil {
		return aqm.Packet{}
	}
	return aqm.Packet{Size: uint32(p.size), ECN: p.ecn, Class: p.class}
}

func bytesOf(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

// ipPackets are the packets that ParseIP has to tell apart.
func ipPackets(t testing.TB) []packet {
	const tcp, big = protocolTCP, 200_000
	ack, data := segment(flagACK, 0, 0), segment(flagACK|flagPSH, 12, 100)
	edit := func(b []byte, at int, v uint8) []byte {
		b = slices.Clone(b)
		b[at] = v
		return b
	}
	chain := func(n int) []byte {
		b, next := ack, uint8(tcp)
		for range n {
			b, next = extension(next, 0, b), protocolDestination
		}
		return ipv6(1, next, b)
	}
	return []packet{
		// Written out by hand, octet by octet.
		{"an ACK, in hex", bytesOf(t, "45 02 0028 1234 4000 40 06 0000 c0000201 c6336407"+
			"01bb c350 00000001 00000002 50 10 ffff 0000 0000"), 40, aqm.ECT0, aqm.PureACK, nil},
		{"an IPv6 SYN-ACK, in hex", bytesOf(t, "60 1 abcde 0018 06 40 20010db8000000000000000000000001 20010db8000000000000000000000002"+
			"01bb c350 00000001 00000002 60 12 ffff 0000 0000 020405b4"), 64, aqm.ECT1, aqm.SYNACK, nil},

		{"v4 data", ipv4(0, tcp, 0, 0, data), 152, aqm.NotECT, aqm.Data, nil},
		{"v4 every option", ipv4(1, tcp, 0, 40, data), 192, aqm.ECT1, aqm.Data, nil},
		{"v4 option, ACK", ipv4(2, tcp, 0, 4, ack), 44, aqm.ECT0, aqm.PureACK, nil},
		{"v4 DSCP", ipv4(0xfc|3, tcp, 0, 0, ack), 40, aqm.CE, aqm.PureACK, nil},
		{"v4 UDP", ipv4(1, protocolUDP, 0, 0, make([]byte, 30)), 50, aqm.ECT1, aqm.Other, nil},
		{"v4 header only", ipv4(2, tcp, 0, 0, nil), 20, aqm.ECT0, aqm.Other, nil},
		{"v4 ESP", ipv4(2, protocolESP, 0, 0, data), 152, aqm.ECT0, aqm.Other, nil},
		{"v4 AH", ipv4(2, protocolAH, 0, 4, authentication(tcp, 16, data)), 184, aqm.ECT0, aqm.Data, nil},
		{"v4 protocol number of an IPv6 header", ipv4(2, protocolDestination, 0, 0, extension(tcp, 0, ack)), 48, aqm.ECT0, aqm.Other, nil},
		{"v4 in v4", ipv4(2, 4, 0, 0, ipv4(3, tcp, 0, 0, ack)), 60, aqm.ECT0, aqm.Other, nil},
		{"v4 padded to 46 bytes", append(ipv4(2, tcp, 0, 0, ack), 0, 0, 0, 0, 0, 0), 40, aqm.ECT0, aqm.PureACK, nil},
		{"v4 do not fragment", ipv4(2, tcp, 0x4000, 0, ack), 40, aqm.ECT0, aqm.PureACK, nil},
		{"v4 first fragment", ipv4(2, tcp, moreFragments, 0, data), 152, aqm.ECT0, aqm.Data, nil},
		{"v4 first fragment, payload in the next", ipv4(2, tcp, moreFragments, 0, ack), 40, aqm.ECT0, aqm.Data, nil},
		{"v4 first fragment, short", ipv4(2, tcp, moreFragments, 0, data[:16]), 36, aqm.ECT0, aqm.Other, nil},
		{"v4 first fragment, short of options", ipv4(2, tcp, moreFragments, 0, data[:24]), 44, aqm.ECT0, aqm.Other, nil},
		{"v4 second fragment", ipv4(3, tcp, 1|moreFragments, 0, data), 152, aqm.CE, aqm.Other, nil},
		{"v4 last fragment", ipv4(1, tcp, 185, 0, ack), 40, aqm.ECT1, aqm.Other, nil},
		{"v4 last fragment at a large offset", ipv4(1, tcp, 0x1000, 0, ack), 40, aqm.ECT1, aqm.Other, nil},
		{"v4 TCP offset 4", ipv4(2, tcp, 0, 0, edit(ack, 12, 4<<4)), 40, aqm.ECT0, aqm.Other, nil},
		{"v4 TCP offset beyond the packet", ipv4(2, tcp, 0, 0, edit(ack, 12, 6<<4)), 40, aqm.ECT0, aqm.Other, nil},
		{"v4 TCP offset beyond the packet, into padding", append(ipv4(2, tcp, 0, 0, edit(ack, 12, 6<<4)), 0, 0, 0, 0), 40, aqm.ECT0, aqm.Other, nil},
		{"v4 of 65535 bytes", ipv4(2, tcp, 0, 0, segment(flagACK, 0, math.MaxUint16-40)), math.MaxUint16, aqm.ECT0, aqm.Data, nil},
		{"v4 GSO beyond 64 KiB", ipv4(2, tcp, 0, 0, segment(flagACK, 0, big)), big + 40, aqm.ECT0, aqm.Data, nil},
		{"v4 length 0", edit(edit(ipv4(2, tcp, 0, 0, data), 2, 0), 3, 0), 152, aqm.ECT0, aqm.Data, nil},

		{"v6 data", ipv6(0, tcp, data), 172, aqm.NotECT, aqm.Data, nil},
		{"v6 traffic class", ipv6(0xb8|1, tcp, ack), 60, aqm.ECT1, aqm.PureACK, nil},
		{"v6 traffic class of ones", ipv6(0xff, tcp, ack), 60, aqm.CE, aqm.PureACK, nil},
		{"v6 traffic class of ones but ECN", ipv6(0xfc, tcp, ack), 60, aqm.NotECT, aqm.PureACK, nil},
		{"v6 UDP", ipv6(2, protocolUDP, make([]byte, 8)), 48, aqm.ECT0, aqm.Other, nil},
		{"v6 no next header", ipv6(2, protocolEmpty, nil), 40, aqm.ECT0, aqm.Other, nil},
		{"v6 no next header, padded", append(ipv6(2, protocolEmpty, nil), 0, 0, 0, 0, 0, 0), 40, aqm.ECT0, aqm.Other, nil},
		{"v6 TCP without a segment", ipv6(2, tcp, nil), 40, aqm.ECT0, aqm.Other, nil},
		{"v6 ESP", ipv6(2, protocolESP, data), 172, aqm.ECT0, aqm.Other, nil},
		{"v6 padded", append(ipv6(2, tcp, ack), 0, 0, 0, 0), 60, aqm.ECT0, aqm.PureACK, nil},
		{"v6 hop-by-hop", ipv6(2, protocolHopByHop, extension(tcp, 0, ack)), 68, aqm.ECT0, aqm.PureACK, nil},
		{"v6 routing", ipv6(2, protocolRouting, extension(tcp, 2, ack)), 84, aqm.ECT0, aqm.PureACK, nil},
		{"v6 destination options of 2048 bytes", ipv6(2, protocolDestination, extension(tcp, 255, data)), 2220, aqm.ECT0, aqm.Data, nil},
		{"v6 mobility", ipv6(2, protocolMobility, extension(tcp, 0, ack)), 68, aqm.ECT0, aqm.PureACK, nil},
		{"v6 HIP", ipv6(2, protocolHIP, extension(tcp, 4, ack)), 100, aqm.ECT0, aqm.PureACK, nil},
		{"v6 Shim6", ipv6(2, protocolShim6, extension(tcp, 0, ack)), 68, aqm.ECT0, aqm.PureACK, nil},
		{"v6 AH", ipv6(2, protocolAH, authentication(tcp, 12, ack)), 84, aqm.ECT0, aqm.PureACK, nil},
		{"v6 AH of 8 bytes", ipv6(2, protocolAH, append([]byte{tcp, 0, 0, 0, 0, 0, 0, 0}, ack...)), 68, aqm.ECT0, aqm.Other, nil},
		{"v6 atomic fragment", ipv6(2, protocolFragment, fragment6(tcp, 0, false, ack)), 68, aqm.ECT0, aqm.PureACK, nil},
		{"v6 fragment, length octet reserved", ipv6(2, protocolFragment, edit(fragment6(tcp, 0, false, ack), 1, 9)), 68, aqm.ECT0, aqm.PureACK, nil},
		{"v6 first fragment", ipv6(2, protocolFragment, fragment6(tcp, 0, true, data)), 180, aqm.ECT0, aqm.Data, nil},
		{"v6 first fragment, payload in the next", ipv6(2, protocolFragment, fragment6(tcp, 0, true, ack)), 68, aqm.ECT0, aqm.Data, nil},
		{"v6 first fragment, payload in the next, header between", ipv6(2, protocolFragment, fragment6(protocolDestination, 0, true, extension(tcp, 0, ack))), 76, aqm.ECT0, aqm.Data, nil},
		{"v6 second fragment", ipv6(1, protocolFragment, fragment6(tcp, 8, true, ack)), 68, aqm.ECT1, aqm.Other, nil},
		{"v6 last fragment", ipv6(1, protocolFragment, fragment6(tcp, 0xfff8, false, ack)), 68, aqm.ECT1, aqm.Other, nil},
		{"v6 extension beyond the packet", ipv6(2, protocolRouting, edit(extension(tcp, 0, ack), 1, 3)), 68, aqm.ECT0, aqm.Other, nil},
		{"v6 extension beyond the packet, into padding", append(ipv6(2, protocolRouting, edit(extension(tcp, 0, nil), 1, 1)), make([]byte, 40)...), 48, aqm.ECT0, aqm.Other, nil},
		{"v6 extension cut short", ipv6(2, protocolDestination, extension(tcp, 0, nil)[:7]), 47, aqm.ECT0, aqm.Other, nil},
		{"v6 fragment header cut short", ipv6(2, protocolFragment, fragment6(tcp, 0, false, nil)[:3]), 43, aqm.ECT0, aqm.Other, nil},
		{"v6 experimental header", ipv6(2, 253, extension(tcp, 0, ack)), 68, aqm.ECT0, aqm.Other, nil},
		{"v6 8 extension headers", chain(8), 124, aqm.ECT1, aqm.PureACK, nil},
		{"v6 9 extension headers", chain(9), 132, aqm.ECT1, aqm.Other, nil},
		{"v6 of 65575 bytes", ipv6(2, tcp, segment(flagACK, 0, math.MaxUint16-20)), math.MaxUint16 + 40, aqm.ECT0, aqm.Data, nil},
		{"v6 GSO beyond 64 KiB", ipv6(2, tcp, segment(flagACK, 0, big)), big + 60, aqm.ECT0, aqm.Data, nil},
		{"v6 header in the largest buffer that has a length", append(ipv6(2, tcp, nil), make([]byte, math.MaxUint16)...), 40, aqm.ECT0, aqm.Other, nil},
		{"v6 GSO of one byte more than the field can say", ipv6(2, tcp, segment(flagACK, 0, math.MaxUint16-19)), math.MaxUint16 + 41, aqm.ECT0, aqm.Data, nil},
		{"v6 jumbogram", ipv6(2, protocolHopByHop, jumbo(tcp, big+28, segment(flagACK, 0, big))), big + 68, aqm.ECT0, aqm.Data, nil},
		{"v6 jumbogram, padded", append(ipv6(2, protocolHopByHop, jumbo(tcp, big+28, segment(flagACK, 0, big))), 0, 0), big + 68, aqm.ECT0, aqm.Data, nil},
		{"v6 jumbogram, truncated", ipv6(2, protocolHopByHop, jumbo(tcp, big+29, segment(flagACK, 0, big))), 0, 0, 0, ErrTruncated},
		{"v6 jumbogram, truncated to the IPv6 header", edit(ipv6(2, protocolHopByHop, jumbo(tcp, 1<<20, nil)), 5, 0)[:40], 0, 0, 0, ErrTruncated},
		{"v6 hop-by-hop without a jumbo option, length 0", edit(ipv6(2, protocolHopByHop, extension(tcp, 0, ack)), 5, 0), 40, aqm.ECT0, aqm.Other, nil},
		{"v6 jumbogram, truncated to nothing", edit(ipv6(2, protocolHopByHop, jumbo(tcp, 1<<20, nil)), 5, 0), 0, 0, 0, ErrTruncated},
		{"v6 jumbogram of 2^32-1 bytes", edit(ipv6(2, protocolHopByHop, jumbo(tcp, math.MaxUint32, ack)), 5, 0), 0, 0, 0, ErrTruncated},
		{"v6 jumbogram of 65535 bytes", edit(ipv6(2, protocolHopByHop, jumbo(tcp, math.MaxUint16, ack)), 5, 0), 0, 0, 0, ErrHeader},

		{"nothing", nil, 0, 0, 0, ErrTruncated},
		{"v4 one octet", []byte{0x45}, 0, 0, 0, ErrTruncated},
		{"v4 19 octets", ipv4(2, tcp, 0, 0, nil)[:19], 0, 0, 0, ErrTruncated},
		{"v4 20 octets of 40", ipv4(2, tcp, 0, 0, ack)[:20], 0, 0, 0, ErrTruncated},
		{"v4 one octet short", ipv4(2, tcp, 0, 0, ack)[:39], 0, 0, 0, ErrTruncated},
		{"v4 options cut off", ipv4(2, tcp, 0, 8, ack)[:24], 0, 0, 0, ErrTruncated},
		{"v4 options cut off, length 0", edit(ipv4(2, tcp, 0, 8, nil), 3, 0)[:24], 0, 0, 0, ErrTruncated},
		{"v4 header length 16", edit(ipv4(2, tcp, 0, 0, ack), 0, 0x44), 0, 0, 0, ErrHeader},
		{"v4 header length 0", edit(ipv4(2, tcp, 0, 0, ack), 0, 0x40), 0, 0, 0, ErrHeader},
		{"v4 total length below the header's", edit(ipv4(2, tcp, 0, 4, ack), 3, 23), 0, 0, 0, ErrHeader},
		{"v4 total length below the header's, and truncated", edit(ipv4(2, tcp, 0, 40, ack), 3, 59)[:30], 0, 0, 0, ErrHeader},
		{"v4 total length 1", edit(ipv4(2, tcp, 0, 0, ack), 3, 1), 0, 0, 0, ErrHeader},
		{"v6 one octet", []byte{0x60}, 0, 0, 0, ErrTruncated},
		{"v6 39 octets", ipv6(2, tcp, nil)[:39], 0, 0, 0, ErrTruncated},
		{"v6 one octet short", ipv6(2, tcp, ack)[:59], 0, 0, 0, ErrTruncated},
		{"version 0", make([]byte, 60), 0, 0, 0, ErrVersion},
		{"version 5", edit(ipv4(2, tcp, 0, 0, ack), 0, 0x55), 0, 0, 0, ErrVersion},
		{"version 15", []byte{0xf0}, 0, 0, 0, ErrVersion},
	}
}

// frame is a packet in an Ethernet frame. ip is the offset of its IP header.
type frame struct {
	packet
	ip int
}

// frames are the frames that ParseEthernet has to tell apart.
func frames() []frame {
	const q, ad = typeVLAN, typeQinQ
	ack := segment(flagACK, 0, 0)
	v4, v6 := ipv4(2, protocolTCP, 0, 0, ack), ipv6(1, protocolTCP, ack)
	tags := func(n int) []uint16 { return slices.Repeat([]uint16{q}, n) }
	other := func(name string, b []byte) frame {
		return frame{packet{name, b, len(b), aqm.NotECT, aqm.Other, nil}, -1}
	}
	return []frame{
		{packet{"v4", ethernet(typeIPv4, nil, v4), 54, aqm.ECT0, aqm.PureACK, nil}, 14},
		{packet{"v6", ethernet(typeIPv6, nil, v6), 74, aqm.ECT1, aqm.PureACK, nil}, 14},
		{packet{"v4, padded to 60", ethernet(typeIPv4, nil, append(slices.Clone(v4), make([]byte, 6)...)), 54, aqm.ECT0, aqm.PureACK, nil}, 14},
		{packet{"v4, one tag", ethernet(typeIPv4, []uint16{q}, v4), 58, aqm.ECT0, aqm.PureACK, nil}, 18},
		{packet{"v6, one provider tag", ethernet(typeIPv6, []uint16{ad}, v6), 78, aqm.ECT1, aqm.PureACK, nil}, 18},
		{packet{"v6, stacked", ethernet(typeIPv6, []uint16{ad, q}, v6), 82, aqm.ECT1, aqm.PureACK, nil}, 22},
		{packet{"v4, 8 tags", ethernet(typeIPv4, tags(8), v4), 86, aqm.ECT0, aqm.PureACK, nil}, 46},
		{packet{"v4 GSO", ethernet(typeIPv4, []uint16{q}, ipv4(3, protocolTCP, 0, 0, segment(flagACK, 0, 100_000))), 100_058, aqm.CE, aqm.Data, nil}, 18},
		other("v4, 9 tags", ethernet(typeIPv4, tags(9), v4)),
		other("ARP", ethernet(0x0806, nil, make([]byte, 46))),
		other("ARP, tagged", ethernet(0x0806, tags(1), make([]byte, 46))),
		other("802.3 with LLC", ethernet(38, nil, make([]byte, 46))),
		other("MPLS", ethernet(0x8847, nil, v4)),
		other("link header only", ethernet(0x88cc, nil, nil)),
		{packet{"nothing", nil, 0, 0, 0, ErrTruncated}, -1},
		{packet{"13 octets", ethernet(typeIPv4, nil, nil)[:13], 0, 0, 0, ErrTruncated}, -1},
		{packet{"no packet", ethernet(typeIPv4, nil, nil), 0, 0, 0, ErrTruncated}, -1},
		{packet{"tag cut off", ethernet(typeIPv4, tags(1), nil)[:17], 0, 0, 0, ErrTruncated}, -1},
		{packet{"v4 truncated", ethernet(typeIPv4, tags(1), v4[:20]), 0, 0, 0, ErrTruncated}, -1},
		{packet{"v4 type before v6", ethernet(typeIPv4, nil, v6), 0, 0, 0, ErrVersion}, -1},
		{packet{"v6 type before v4", ethernet(typeIPv6, nil, v4), 0, 0, 0, ErrVersion}, -1},
		{packet{"v4 header length 16", ethernet(typeIPv4, nil, append([]byte{0x44}, v4[1:]...)), 0, 0, 0, ErrHeader}, -1},
	}
}
