package wire

import (
	"math"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/aqmkit/aqmkit/aqm"
)

// reference is what gopacket, a parser of other hands, makes of a packet. Where it is
// stricter than this package, or knows less, a field is unknown.
type reference struct {
	err            bool // the packet cannot be parsed
	packet         aqm.Packet
	size, ecn, tcp bool // known: Size, ECN, Class
}

// feedback tells whether gopacket found the packet truncated.
type feedback struct{ truncated bool }

func (f *feedback) SetTruncated() { f.truncated = true }

// referenceIP parses an IP packet with gopacket.
func referenceIP(b []byte) reference {
	if len(b) == 0 {
		return reference{err: true}
	}
	switch b[0] >> 4 {
	case 4:
		return referenceIPv4(b)
	case 6:
		return referenceIPv6(b)
	}
	return reference{err: true}
}

func referenceIPv4(b []byte) (r reference) {
	var ip layers.IPv4
	var f feedback
	err := ip.DecodeFromBytes(b, &f)
	if ip.Contents == nil || f.truncated && int(ip.Length) > len(b) {
		return reference{err: true} // the lengths are impossible, or it is truncated
	}
	r.size = len(b) <= math.MaxUint16
	r.packet.Size = uint32(ip.Length)
	if err != nil {
		return r // an option's length is wrong, which gopacket finds before it reads on
	}
	r.ecn, r.packet.ECN = true, aqm.ECN(ip.TOS&3)
	next := ip.NextLayerType()
	if ip.FragOffset == 0 {
		next = ip.Protocol.LayerType() // also for the first of several fragments
	}
	if layers.LayerClassIPv6Extension.Contains(next) {
		next = gopacket.LayerTypePayload // no part of IPv4
	}
	r.packet.Class, r.tcp = referenceClass(next, ip.Payload, ip.Flags&layers.IPv4MoreFragments != 0, 0)
	return r
}

func referenceIPv6(b []byte) (r reference) {
	var ip layers.IPv6
	var f feedback
	err := ip.DecodeFromBytes(b, &f)
	if len(b) < 40 || ip.Length != 0 && int(ip.Length) > len(b)-40 {
		return reference{err: true}
	}
	r.ecn, r.packet.ECN = true, aqm.ECN(ip.TrafficClass&3)
	r.size, r.packet.Size = ip.Length != 0, 40+uint32(ip.Length)
	if err != nil {
		return r // a wrong option, or a payload length of 0 without a jumbogram
	}
	headers := 0
	if ip.HopByHop != nil {
		headers = 1
	}
	if ip.Length == 0 {
		if b[42] != layers.IPv6HopByHopOptionJumbogram {
			return r // gopacket finds the option elsewhere
		}
		if f.truncated {
			return reference{err: true}
		}
		r.size, r.packet.Size = true, uint32(40+ip.HopByHop.ActualLength+len(ip.Payload))
	}
	r.packet.Class, r.tcp = referenceClass(ip.NextLayerType(), ip.Payload, false, headers)
	return r
}

// referenceClass follows the chain of headers from a layer of type next with the bytes
// b, after some headers. known is false where gopacket does not know the header.
func referenceClass(next gopacket.LayerType, b []byte, more bool, headers int) (c aqm.Class, known bool) {
	var f feedback
	for ; next != layers.LayerTypeTCP; headers++ {
		if headers >= 8 {
			return aqm.Other, true
		}
		switch next {
		case layers.LayerTypeIPv6HopByHop, layers.LayerTypeIPv6Routing, layers.LayerTypeIPv6Destination:
			var l layers.IPv6ExtensionSkipper
			if l.DecodeFromBytes(b, &f) != nil {
				return aqm.Other, true
			}
			next, b = l.NextLayerType(), l.Payload
		case layers.LayerTypeIPv6Fragment:
			var l layers.IPv6Fragment
			if l.DecodeFromBytes(b, &f) != nil || l.FragmentOffset != 0 {
				return aqm.Other, true
			}
			next, b, more = l.NextHeader.LayerType(), l.Payload, more || l.MoreFragments
		case layers.LayerTypeIPSecAH:
			var l layers.IPSecAH
			if l.DecodeFromBytes(b, &f) != nil {
				return aqm.Other, true
			}
			next, b = l.NextLayerType(), l.Payload
		case gopacket.LayerTypeZero:
			return 0, false // Mobility among others
		default:
			return aqm.Other, true
		}
	}
	var tcp layers.TCP
	if tcp.DecodeFromBytes(b, &f) != nil {
		return aqm.Other, true
	}
	payload := len(tcp.Payload) > 0 || more
	control := tcp.SYN || tcp.FIN || tcp.RST
	for _, bit := range []struct {
		class aqm.Class
		is    bool
	}{
		{aqm.PureACK, tcp.ACK && !payload && !control},
		{aqm.SYN, tcp.SYN && !tcp.ACK},
		{aqm.SYNACK, tcp.SYN && tcp.ACK},
		{aqm.FIN, tcp.FIN},
		{aqm.RST, tcp.RST},
		{aqm.Data, payload},
		{aqm.Other, !tcp.ACK && !payload && !control},
		{aqm.ECE, tcp.ECE},
	} {
		if bit.is {
			c |= bit.class
		}
	}
	return c, true
}

// referenceEthernet takes the link header off with gopacket. ip is -1 where there is no
// IP packet; ok is false where the frame cannot be parsed.
func referenceEthernet(b []byte) (ip int, ok bool) {
	var f feedback
	var eth layers.Ethernet
	if eth.DecodeFromBytes(b, &f) != nil {
		return -1, false
	}
	ip = len(eth.Contents)
	etherType := eth.EthernetType
	for n := 0; etherType == layers.EthernetTypeDot1Q || etherType == layers.EthernetTypeQinQ; n++ {
		if n == 8 {
			return -1, true
		}
		var tag layers.Dot1Q
		if tag.DecodeFromBytes(b[ip:], &f) != nil {
			return -1, false
		}
		ip += len(tag.Contents)
		etherType = tag.Type
	}
	switch {
	case etherType != layers.EthernetTypeIPv4 && etherType != layers.EthernetTypeIPv6:
		return -1, true
	case ip == len(b) || (b[ip]>>4 == 4) != (etherType == layers.EthernetTypeIPv4):
		return -1, false
	}
	return ip, true
}
