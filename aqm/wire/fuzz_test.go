package wire

import (
	"slices"
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
)

// FuzzWire parses any bytes as an IP packet, as an Ethernet frame and as an IP packet
// in a frame, and compares with gopacket where gopacket can tell; then it sets CE and
// compares with a full computation.
func FuzzWire(f *testing.F) {
	for _, p := range ipPackets(f) {
		if len(p.bytes) < 256 {
			f.Add(p.bytes, uint8(len(p.bytes)))
		}
	}
	for _, p := range frames() {
		if len(p.bytes) < 256 {
			f.Add(p.bytes, uint8(0))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, tags uint8) {
		agreeIP(t, data)
		agreeEthernet(t, data)
		for _, etherType := range []uint16{typeIPv4, typeIPv6} {
			stack := append(slices.Repeat([]uint16{typeQinQ}, int(tags)%4), slices.Repeat([]uint16{typeVLAN}, int(tags)/4%8)...)
			agreeEthernet(t, ethernet(etherType, stack, data))
		}
		checkSetCE(t, data)
		checkSetCE(t, withChecksum(data))
	})
}

// agree compares an answer of the parser with gopacket's.
func agree(t *testing.T, p aqm.Packet, err error, n int, want reference) {
	t.Helper()
	if !lawful(p, err, n) {
		t.Fatalf("%+v, %v of %d octets", p, err, n)
	}
	if want.err != (err != nil) && (want.err || want.size && want.ecn && want.tcp) {
		t.Fatalf("%+v, error %v; gopacket: error %t, %+v", p, err, want.err, want.packet)
	}
	if err != nil {
		return
	}
	if want.size && p.Size != want.packet.Size || want.ecn && p.ECN != want.packet.ECN || want.tcp && p.Class != want.packet.Class {
		t.Fatalf("%+v; gopacket: %+v, known: size %t, ECN %t, class %t", p, want.packet, want.size, want.ecn, want.tcp)
	}
}

func agreeIP(t *testing.T, b []byte) {
	t.Helper()
	p, err := ParseIP(b)
	agree(t, p, err, len(b), referenceIP(b))
}

func agreeEthernet(t *testing.T, b []byte) {
	t.Helper()
	p, ip, err := ParseEthernet(b)
	wantIP, ok := referenceEthernet(b)
	switch {
	case !ok:
		agree(t, p, err, len(b), reference{err: true})
	case wantIP < 0:
		agree(t, p, err, len(b), reference{packet: aqm.Packet{Size: uint32(len(b)), Class: aqm.Other}, size: true, ecn: true, tcp: true})
	default:
		want := referenceIP(b[wantIP:])
		want.packet.Size += uint32(wantIP)
		agree(t, p, err, len(b), want)
	}
	if err != nil {
		wantIP = -1
	}
	if ip != wantIP {
		t.Fatalf("IP header at %d; gopacket: at %d", ip, wantIP)
	}
}

// TestReference sees that gopacket has an opinion about the packets of the other tests,
// and the same one: else the comparison would be of little worth.
func TestReference(t *testing.T) {
	known, all := 0, ipPackets(t)
	for _, p := range all {
		agreeIP(t, p.bytes)
		r := referenceIP(p.bytes)
		if r.err || r.size && r.ecn && r.tcp {
			known++
		}
	}
	if known < len(all)*8/10 {
		t.Errorf("gopacket knows size, ECN and class of %d packets of %d", known, len(all))
	}
	t.Logf("gopacket knows size, ECN and class of %d packets of %d", known, len(all))
	for _, p := range frames() {
		agreeEthernet(t, p.bytes)
	}
}
