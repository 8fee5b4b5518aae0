package gvisor

import (
	"encoding/binary"
	"math"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/wire"
)

// headBytes is how much of a packet is looked at from the IP header on: an IPv6 header,
// a TCP header with all its options, and 92 bytes of extension headers.
const headBytes = 192

// look returns what an AQM may know of pkt, and the hash of its flow. It writes nothing
// into the packet and keeps its memory shared.
func (d *Discipline) look(pkt *stack.PacketBuffer) (p aqm.Packet, hash uint32, isIP bool) {
	p = aqm.Packet{Size: uint32(min(uint64(pkt.Size()), math.MaxUint32)), Class: aqm.Other}
	hash = pkt.Hash
	if n := pkt.NetworkProtocolNumber; n != header.IPv4ProtocolNumber && n != header.IPv6ProtocolNumber {
		return p, hash, false
	}
	var b [headBytes]byte
	link := len(pkt.LinkHeader().Slice())
	head := b[:copyHead(b[:], pkt, link)]
	if hash == 0 && len(d.config.AQMs) > 1 {
		hash = d.flows.Of(head)
	}
	shorten(head, pkt.Size()-link)
	q, err := wire.ParseIP(head)
	if err != nil {
		return p, hash, false
	}
	p.ECN, p.Class = q.ECN, q.Class
	return p, hash, true
}

// copyHead copies the bytes of pkt behind its link header to b, as many as fit.
func copyHead(b []byte, pkt *stack.PacketBuffer, link int) (n int) {
	views, skip := pkt.AsViewList()
	skip += link
	for v := views.Front(); v != nil && n < len(b); v = v.Next() {
		s := v.AsSlice()
		if skip >= len(s) {
			skip -= len(s)
			continue
		}
		n += copy(b[n:], s[skip:])
		skip = 0
	}
	return n
}

// shorten makes head, the beginning of an IP packet of size bytes, a packet by itself,
// with the same headers and the rest of the payload cut off: package wire wants a
// packet to be in one piece. A length that is wrong stays wrong.
func shorten(head []byte, size int) {
	if len(head) >= size || len(head) < headBytes {
		return
	}
	switch head[0] >> 4 {
	case 4:
		if length := int(binary.BigEndian.Uint16(head[2:])); length > len(head) && length <= size {
			binary.BigEndian.PutUint16(head[2:], uint16(len(head)))
		}
	case 6:
		length := header.IPv6MinimumSize + int(binary.BigEndian.Uint16(head[4:]))
		tooLarge := length == header.IPv6MinimumSize && size > length+math.MaxUint16 // for the field, which is 0
		if length > len(head) && length <= size || tooLarge {
			binary.BigEndian.PutUint16(head[4:], uint16(len(head)-header.IPv6MinimumSize))
		}
	}
}

// setCE sets CE in the IP header of pkt, which nobody else writes to. What makes the
// header one slice of bytes also copies it if its memory is shared.
func setCE(pkt *stack.PacketBuffer) bool {
	if h := pkt.NetworkHeader().Slice(); len(h) > 0 {
		return wire.SetCE(h)
	}
	// A packet of a packet socket has no network header yet.
	b, ok := pkt.Data().PullUp(min(pkt.Data().Size(), header.IPv6MinimumSize))
	return ok && wire.SetCE(b)
}
