package wireguard

import (
	"encoding/binary"
	"net/netip"

	"github.com/aqmkit/aqmkit/aqm"
)

var (
	addrA = netip.MustParseAddr("10.0.0.1")
	addrB = netip.MustParseAddr("10.0.0.2")
	ip6A  = netip.MustParseAddr("fd00::1")
	ip6B  = netip.MustParseAddr("fd00::2")
)

const (
	flagSYN = 0x02
	flagACK = 0x10
)

// ipPacket returns a TCP packet of size bytes, IPv6 if the addresses are, whose payload is
// number, and then the low byte of it.
func ipPacket(src, dst netip.Addr, size int, ecn aqm.ECN, flags byte, number uint32) []byte {
	b := make([]byte, size)
	tcp := b[20:]
	if src.Is4() {
		b[0], b[1], b[8], b[9] = 0x45, byte(ecn), 64, 6
		binary.BigEndian.PutUint16(b[2:], uint16(size))
		copy(b[12:], src.AsSlice())
		copy(b[16:], dst.AsSlice())
		binary.BigEndian.PutUint16(b[10:], ^headerSum(b))
	} else {
		b[0], b[1], b[6], b[7] = 0x60, byte(ecn)<<4, 6, 64
		binary.BigEndian.PutUint16(b[4:], uint16(size-40))
		copy(b[8:], src.AsSlice())
		copy(b[24:], dst.AsSlice())
		tcp = b[40:]
	}
	binary.BigEndian.PutUint16(tcp, 1000)
	binary.BigEndian.PutUint16(tcp[2:], 80)
	tcp[12], tcp[13] = 5<<4, flags
	if payload := tcp[20:]; len(payload) >= 4 {
		for i := range payload {
			payload[i] = byte(number)
		}
		binary.BigEndian.PutUint32(payload, number)
	}
	return b
}

// numberOf returns the number in a packet, and whether the payload behind is whole.
func numberOf(b []byte) (number uint32, whole bool) {
	payload := b[40:]
	if b[0]>>4 == 6 {
		payload = b[60:]
	}
	number = binary.BigEndian.Uint32(payload)
	for _, x := range payload[4:] {
		if x != byte(number) {
			return number, false
		}
	}
	return number, true
}

func ecnOf(b []byte) aqm.ECN {
	if b[0]>>4 == 6 {
		return aqm.ECNFromTOS(b[1] >> 4)
	}
	return aqm.ECNFromTOS(b[1])
}

// headerSum is the one's complement sum of an IPv4 header: 0xffff if its checksum is
// right.
func headerSum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
