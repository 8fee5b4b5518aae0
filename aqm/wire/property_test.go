package wire

import (
	"slices"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/aqmkit/aqmkit/aqm"
)

const seed = 1

const kinds = aqm.PureACK | aqm.SYN | aqm.SYNACK | aqm.FIN | aqm.RST | aqm.Data | aqm.Other

// lawful reports whether p and err can be the parser's answer to n octets.
func lawful(p aqm.Packet, err error, n int) bool {
	if err != nil {
		return p == (aqm.Packet{}) && slices.Contains([]error{ErrTruncated, ErrVersion, ErrHeader}, err)
	}
	return p.Class&kinds != 0 && p.Class&aqm.Other&^p.Class == 0 && p.ECN <= aqm.CE &&
		p.Size > 0 && int64(p.Size) <= int64(n) && p.EnqueuedAt == 0
}

func TestProperties(t *testing.T) {
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	parameters.MinSuccessfulTests = 1000
	t.Logf("gopter seed %d", seed)
	properties := gopter.NewProperties(parameters)
	all := ipPackets(t)
	packets := slices.DeleteFunc(slices.Clone(all), func(p packet) bool { return p.err != nil || len(p.bytes) > 4096 })
	anyPacket := gen.IntRange(0, len(packets)-1).Map(func(i int) packet { return packets[i] })

	properties.Property("total: whatever the bytes, a packet with a class and a size within them, or one of three errors", prop.ForAll(
		func(b []byte) bool {
			p, err := ParseIP(b)
			f, ip, ferr := ParseEthernet(b)
			SetCE(slices.Clone(b))
			return lawful(p, err, len(b)) && lawful(f, ferr, len(b)) && ip < len(b) && (ip > 0 || ip == -1)
		},
		gen.SliceOf(gen.UInt8())))

	properties.Property("total: nor where a good packet has octets changed and is cut", prop.ForAll(
		func(i int, at, to []uint8, cut int) bool {
			b := slices.Clone(all[i].bytes)
			b = b[:min(len(b), 200)]
			for j := range min(len(at), len(to), len(b)) {
				b[int(at[j])%len(b)] = to[j]
			}
			b = b[:min(len(b), cut)]
			p, err := ParseIP(b)
			return lawful(p, err, len(b))
		},
		gen.IntRange(0, len(all)-1), gen.SliceOfN(3, gen.UInt8Range(0, 80)), gen.SliceOfN(3, gen.UInt8()), gen.IntRange(0, 250)))

	properties.Property("mark: SetCE turns the codepoint to CE and nothing else the parser sees, once", prop.ForAll(
		func(pk packet) bool {
			b := slices.Clone(pk.bytes)
			ok := SetCE(b)
			once := slices.Clone(b)
			p, err := ParseIP(b)
			want := pk.want()
			if want.ECN.Capable() {
				want.ECN = aqm.CE
			}
			return err == nil && p == want && ok == pk.ecn.Capable() && SetCE(b) == ok && slices.Equal(b, once)
		},
		anyPacket))

	properties.Property("link: an Ethernet frame says what the IP packet in it says, and is larger by its header", prop.ForAll(
		func(pk packet, provider, customer int) bool {
			etherType := uint16(typeIPv4)
			if pk.bytes[0]>>4 == 6 {
				etherType = typeIPv6
			}
			tags := append(slices.Repeat([]uint16{typeQinQ}, provider), slices.Repeat([]uint16{typeVLAN}, customer)...)
			p, ip, err := ParseEthernet(ethernet(etherType, tags, pk.bytes))
			want := pk.want()
			want.Size += uint32(14 + 4*len(tags))
			return err == nil && ip == 14+4*len(tags) && p == want
		},
		anyPacket, gen.IntRange(0, 4), gen.IntRange(0, 4)))

	properties.Property("content: ECN and class do not depend on the payload's octets, nor the size", prop.ForAll(
		func(tos uint8, flags uint8, payload []byte, v6 bool) bool {
			zero, filled := segment(flags, 4, len(payload)), segment(flags, 4, len(payload))
			copy(filled[24:], payload)
			a, b := ipv4(tos, protocolTCP, 0, 0, zero), ipv4(tos, protocolTCP, 0, 0, filled)
			if v6 {
				a, b = ipv6(tos, protocolTCP, zero), ipv6(tos, protocolTCP, filled)
			}
			p, err := ParseIP(a)
			q, errq := ParseIP(b)
			return err == nil && errq == nil && p == q && p.ECN == aqm.ECN(tos%4) && int(p.Size) == len(a)
		},
		gen.UInt8(), gen.UInt8(), gen.SliceOf(gen.UInt8()), gen.Bool()))

	properties.Property("trailer: octets behind the packet change nothing", prop.ForAll(
		func(pk packet, n int) bool {
			if saysNoLength(pk.bytes) {
				return true
			}
			p, err := ParseIP(append(slices.Clone(pk.bytes), make([]byte, n)...))
			return err == nil && p == pk.want()
		},
		anyPacket, gen.IntRange(0, 64)))

	properties.TestingRun(t)
}
