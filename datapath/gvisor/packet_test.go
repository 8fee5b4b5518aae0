package gvisor

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/wire"
)

// ipv4Bytes returns a packet of size bytes with TCP flags, whose payload is id in every
// byte.
func ipv4Bytes(size int, ecn aqm.ECN, flags header.TCPFlags, id byte) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = id
	}
	header.IPv4(b).Encode(&header.IPv4Fields{
		TOS: uint8(ecn), TotalLength: uint16(size), ID: uint16(id), TTL: 64, Protocol: uint8(header.TCPProtocolNumber),
		SrcAddr: tcpip.AddrFrom4([4]byte{10, 0, 0, 1}), DstAddr: tcpip.AddrFrom4([4]byte{10, 0, 0, 2}),
	})
	header.IPv4(b).SetChecksum(^header.IPv4(b).CalculateChecksum())
	header.TCP(b[header.IPv4MinimumSize:]).Encode(&header.TCPFields{SrcPort: 1000, DstPort: 80, DataOffset: header.TCPMinimumSize, Flags: flags})
	return b
}

func ipv6Bytes(size int, ecn aqm.ECN, flags header.TCPFlags, id byte) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = id
	}
	header.IPv6(b).Encode(&header.IPv6Fields{
		TrafficClass: uint8(ecn), PayloadLength: uint16(size - header.IPv6MinimumSize), TransportProtocol: header.TCPProtocolNumber, HopLimit: 64,
		SrcAddr: tcpip.AddrFrom16([16]byte{0xfd, 15: 1}), DstAddr: tcpip.AddrFrom16([16]byte{0xfd, 15: 2}),
	})
	header.TCP(b[header.IPv6MinimumSize:]).Encode(&header.TCPFields{SrcPort: 1000, DstPort: 80, DataOffset: header.TCPMinimumSize, Flags: flags})
	return b
}

// outgoing makes of an IP packet what netstack sends: link, network and transport header
// in one piece of memory and the payload in others.
func outgoing(ip []byte, link int, pieces ...int) *stack.PacketBuffer {
	network := header.IPv4MinimumSize
	protocol := header.IPv4ProtocolNumber
	if ip[0]>>4 == 6 {
		network, protocol = header.IPv6MinimumSize, header.IPv6ProtocolNumber
	}
	headers := network + header.TCPMinimumSize
	payload := buffer.Buffer{}
	rest := ip[headers:]
	for _, n := range pieces {
		n = min(n, len(rest))
		if n > 0 {
			payload.Append(buffer.NewViewWithData(rest[:n]))
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		payload.Append(buffer.NewViewWithData(rest))
	}
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{ReserveHeaderBytes: 64 + headers, Payload: payload})
	copy(pkt.TransportHeader().Push(header.TCPMinimumSize), ip[network:])
	copy(pkt.NetworkHeader().Push(network), ip)
	pkt.NetworkProtocolNumber = protocol
	pkt.TransportProtocolNumber = header.TCPProtocolNumber
	if link > 0 {
		pkt.LinkHeader().Push(link)
	}
	return pkt
}

// raw is a packet of a packet socket: all of it is data behind the link header.
func raw(ip []byte, link int, protocol tcpip.NetworkProtocolNumber) *stack.PacketBuffer {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(append(make([]byte, link), ip...))})
	if link > 0 {
		pkt.LinkHeader().Consume(link)
	}
	pkt.NetworkProtocolNumber = protocol
	return pkt
}

// ipOf returns a copy of a packet's bytes behind the link header.
func ipOf(pkt *stack.PacketBuffer) []byte {
	v := pkt.ToView()
	defer v.Release()
	return v.ToSlice()[len(pkt.LinkHeader().Slice()):]
}

// TestLook compares what is seen of a packet in pieces with what package wire sees of
// the same packet in one.
func TestLook(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	d := &Discipline{config: Config{AQMs: []aqm.AQM{aqm.TailDrop{}}}}
	for range 2000 {
		size := 60 + r.IntN(300)
		if r.IntN(20) == 0 {
			size = 65000 + r.IntN(500) // a super-packet
		}
		ecn, flags := aqm.ECN(r.IntN(4)), header.TCPFlags(r.IntN(256))
		b := ipv4Bytes(size, ecn, flags, 0)
		if r.IntN(2) == 0 {
			b = ipv6Bytes(size, ecn, flags, 0)
		}
		switch r.IntN(8) {
		case 0:
			b[r.IntN(60)] = byte(r.IntN(256)) // may be malformed
		case 1:
			binary.BigEndian.PutUint16(b[2:], uint16(r.IntN(1<<16))) // a length that is wrong
		}
		link := 14 * r.IntN(2)
		pkt := outgoing(b, link, r.IntN(40), r.IntN(200))
		if r.IntN(3) == 0 {
			pkt.DecRef()
			protocol := header.IPv4ProtocolNumber
			if b[0]>>4 == 6 {
				protocol = header.IPv6ProtocolNumber
			}
			pkt = raw(b, link, protocol)
		}
		want, err := wire.ParseIP(b)
		got, _, isIP := d.look(pkt)
		if err != nil {
			want = aqm.Packet{Class: aqm.Other}
		}
		want.Size = uint32(size + link)
		if isIP != (err == nil) || got != want {
			t.Fatalf("%+v (%v), want %+v (%v): %x", got, isIP, want, err, b[:60])
		}
		if !bytes.Equal(b, ipOf(pkt)) {
			t.Fatalf("looking has changed %x", b[:60])
		}
		pkt.DecRef()
	}
}

func TestLookNotIP(t *testing.T) {
	d := &Discipline{config: Config{AQMs: []aqm.AQM{aqm.TailDrop{}}}}
	arp := raw(make([]byte, 28), 14, header.ARPProtocolNumber)
	defer arp.DecRef()
	p, _, isIP := d.look(arp)
	assert.False(t, isIP)
	assert.Equal(t, aqm.Packet{Size: 42, Class: aqm.Other}, p)
	empty := stack.NewPacketBuffer(stack.PacketBufferOptions{})
	defer empty.DecRef()
	empty.NetworkProtocolNumber = header.IPv6ProtocolNumber
	p, _, isIP = d.look(empty)
	assert.False(t, isIP)
	assert.Equal(t, aqm.Packet{Class: aqm.Other}, p)
}

// TestSetCE marks packets of all shapes, and leaves the memory alone that they share
// with others.
func TestSetCE(t *testing.T) {
	for name, make := range map[string]func(b []byte) *stack.PacketBuffer{
		"outgoing":        func(b []byte) *stack.PacketBuffer { return outgoing(b, 0, 10) },
		"with Ethernet":   func(b []byte) *stack.PacketBuffer { return outgoing(b, 14) },
		"a packet socket": func(b []byte) *stack.PacketBuffer { return raw(b, 14, 0) },
	} {
		for _, b := range [][]byte{ipv4Bytes(200, aqm.ECT0, header.TCPFlagAck, 1), ipv6Bytes(200, aqm.ECT1, header.TCPFlagAck, 1)} {
			pkt := make(b)
			other := pkt.Clone()
			assert.True(t, setCE(pkt), name)
			want := append([]byte(nil), b...)
			require.True(t, wire.SetCE(want))
			assert.Equal(t, want, ipOf(pkt), name)
			assert.Equal(t, b, ipOf(other), "%s: a clone shares the memory", name)
			if b[0]>>4 == 4 {
				assert.Equal(t, uint16(0xffff), checksum.Checksum(ipOf(pkt)[:20], 0))
			}
			pkt.DecRef()
			other.DecRef()
		}
	}
	pkt := outgoing(ipv4Bytes(100, aqm.NotECT, header.TCPFlagAck, 1), 0)
	assert.False(t, setCE(pkt))
	pkt.DecRef()
	pkt = stack.NewPacketBuffer(stack.PacketBufferOptions{})
	assert.False(t, setCE(pkt))
	pkt.DecRef()
}

func checksum16(b []byte) uint16 { return checksum.Checksum(b, 0) }
