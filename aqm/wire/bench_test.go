package wire

import (
	"encoding/binary"
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
)

// A mixture of what a datapath sees. The sizes make no difference: the payload is not
// read.
func BenchmarkParseIP(b *testing.B) {
	ack, data := segment(flagACK, 12, 0), segment(flagACK|flagPSH, 12, 1448)
	for _, bc := range []struct {
		name string
		ip   []byte
	}{
		{"v4/data", ipv4(2, protocolTCP, 0, 0, data)},
		{"v4/ack", ipv4(0, protocolTCP, 0, 0, ack)},
		{"v4/syn", ipv4(0, protocolTCP, 0, 0, segment(flagSYN, 20, 0))},
		{"v4/udp", ipv4(2, protocolUDP, 0, 0, make([]byte, 1480))},
		{"v4/gso", ipv4(2, protocolTCP, 0, 0, segment(flagACK, 12, 65_000))},
		{"v6/data", ipv6(2, protocolTCP, data)},
		{"v6/ack", ipv6(0, protocolTCP, ack)},
		{"v6/udp", ipv6(2, protocolUDP, make([]byte, 1400))},
		{"v6/two-extensions", ipv6(2, protocolHopByHop, extension(protocolRouting, 0, extension(protocolTCP, 2, data)))},
		{"error", ipv4(2, protocolTCP, 0, 0, data)[:20]},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			var class aqm.Class
			for b.Loop() {
				p, _ := ParseIP(bc.ip)
				class |= p.Class
			}
			sink = class
		})
	}
}

func BenchmarkParseEthernet(b *testing.B) {
	ip := ipv4(2, protocolTCP, 0, 0, segment(flagACK, 12, 1448))
	for _, bc := range []struct {
		name  string
		frame []byte
	}{
		{"untagged", ethernet(typeIPv4, nil, ip)},
		{"tagged", ethernet(typeIPv4, []uint16{typeVLAN}, ip)},
		{"stacked", ethernet(typeIPv4, []uint16{typeQinQ, typeVLAN}, ip)},
		{"arp", ethernet(0x0806, nil, make([]byte, 46))},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			var class aqm.Class
			for b.Loop() {
				p, _, _ := ParseEthernet(bc.frame)
				class |= p.Class
			}
			sink = class
		})
	}
}

func BenchmarkSetCE(b *testing.B) {
	for _, bc := range []struct {
		name string
		ip   []byte
		ect0 uint16 // its first two octets with ECT(0)
	}{
		{"v4", ipv4(2, protocolTCP, 0, 0, nil), 0x4502},
		{"v6", ipv6(2, protocolTCP, nil), 0x6020},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				binary.BigEndian.PutUint16(bc.ip, bc.ect0) // a mark a turn; the checksum drifts, and costs the same
				if !SetCE(bc.ip) {
					b.Fatal("not marked")
				}
			}
		})
	}
}

var sink aqm.Class
