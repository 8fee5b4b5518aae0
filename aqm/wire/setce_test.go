package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// checkSetCE marks a copy of ip and compares it with a mark by the book: the two bits
// change, and a checksum that was right is the one that is computed from scratch.
func checkSetCE(t *testing.T, ip []byte) {
	t.Helper()
	want, got := slices.Clone(ip), slices.Clone(ip)
	markable, header := false, 0
	switch {
	case len(ip) >= 20 && ip[0] >= 0x45 && ip[0] <= 0x4f:
		markable = ip[1]%4 != 0
		if markable && ip[1]%4 != 3 {
			header = int(ip[0]%16) * 4
			want[1] += 3 - ip[1]%4
		}
	case len(ip) >= 40 && ip[0]/16 == 6:
		markable = ip[1]/16%4 != 0
		if markable {
			want[1] = ip[1]%16 + ip[1]/64*64 + 3*16
		}
	}
	if SetCE(got) != markable {
		t.Fatalf("% x: SetCE returns %t", ip, !markable)
	}
	if header > 0 {
		copy(want[10:12], got[10:12])
	}
	if !bytes.Equal(want, got) {
		t.Fatalf("% x: got % x, want % x", ip, got, want)
	}
	if header == 0 || header > len(ip) {
		return
	}
	right := verifies(ip[:header])
	if verifies(got[:header]) != right || right && checksum(got[:header]) != binary.BigEndian.Uint16(got[10:]) {
		t.Fatalf("% x: got % x, want checksum %#04x; right before: %t", ip[:header], got[:header], checksum(got[:header]), right)
	}
}

// withChecksum returns a copy of ip with a right checksum, if it is an IPv4 packet.
func withChecksum(ip []byte) []byte {
	b := slices.Clone(ip)
	if len(b) >= 20 && b[0]/16 == 4 {
		if header := int(b[0]%16) * 4; header >= 20 && header <= len(b) {
			binary.BigEndian.PutUint16(b[10:], checksum(b[:header]))
		}
	}
	return b
}

// verifies makes the receiver's test: the one's complement sum of the header with its
// checksum is -0 (RFC 1071 section 1).
func verifies(header []byte) bool {
	sum := binary.BigEndian.Uint16(header[10:])
	return sum == checksum(header) || sum == 0xffff && checksum(header) == 0
}

// TestSetCE walks through all octets of TOS and Traffic Class, over random headers.
func TestSetCE(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	t.Log("PCG seed 1, 2")
	for tos := range 256 {
		for range 200 {
			b := ipv4(uint8(tos), uint8(r.Uint32()), uint16(r.Uint32()), 4*r.IntN(11), make([]byte, r.IntN(8)))
			header := b[:b[0]%16*4]
			for i := 2; i < len(header); i++ {
				header[i] = uint8(r.Uint32())
			}
			checkSetCE(t, b)
			checkSetCE(t, withChecksum(b))
			b = ipv6(uint8(tos), uint8(r.Uint32()), make([]byte, r.IntN(8)))
			b[1] ^= uint8(r.IntN(16)) // flow label
			checkSetCE(t, b)
		}
	}
	for _, tc := range ipPackets(t) {
		checkSetCE(t, tc.bytes)
	}
}

// TestSetCEEveryChecksum marks a header with every value that a right checksum has.
// 0x0000 and 0xffff are the two zeros of one's complement arithmetic: a computed
// checksum is never 0xffff (RFC 1624 section 3).
func TestSetCEEveryChecksum(t *testing.T) {
	for _, tos := range []uint8{0x01, 0x02, 0xfd, 0xfe} {
		b := ipv4(tos, protocolTCP, 0, 0, nil)
		before, after := map[uint16]bool{}, map[uint16]bool{}
		for id := range 1 << 16 {
			b[1] = tos
			binary.BigEndian.PutUint16(b[4:], uint16(id))
			sum := checksum(b)
			binary.BigEndian.PutUint16(b[10:], sum)
			if !SetCE(b) || b[1] != tos|3 || binary.BigEndian.Uint16(b[10:]) != checksum(b) {
				t.Fatalf("TOS %#02x, id %#04x: % x, want checksum %#04x", tos, id, b, checksum(b))
			}
			before[sum], after[binary.BigEndian.Uint16(b[10:])] = true, true
		}
		for _, seen := range []map[uint16]bool{before, after} {
			assert.Len(t, seen, 0xffff)
			assert.True(t, seen[0x0000])
			assert.False(t, seen[0xffff])
		}
	}
}

// TestSetCEKeepsDamage marks a header with every checksum there is: what the receiver
// finds must be as before.
func TestSetCEKeepsDamage(t *testing.T) {
	right := 0
	for id := range 2 { // checksums that are 0 and that are not
		for sum := range 1 << 16 {
			b := ipv4(0x01, protocolTCP, 0, 4, nil)
			if id == 0 {
				binary.BigEndian.PutUint16(b[4:], checksum(b)) // takes the sum of the other words to -0
			}
			binary.BigEndian.PutUint16(b[10:], uint16(sum))
			before := verifies(b)
			if before {
				right++
			}
			if !SetCE(b) || verifies(b) != before {
				t.Fatalf("checksum %#04x: % x verifies: %t, want %t", sum, b, verifies(b), before)
			}
		}
	}
	assert.Equal(t, 3, right, "one right checksum where it is not 0, two representations where it is")
}

func TestUpdateChecksum(t *testing.T) {
	for _, tc := range []struct {
		name                string
		sum, old, new, want uint16
	}{
		// RFC 1624 section 4, where eqn. 2 gives 0xffff.
		{"the RFC's example", 0xdd2f, 0x5555, 0x3285, 0x0000},
		{"the RFC's example, backwards", 0x0000, 0x3285, 0x5555, 0xdd2f},
		// Erratum 4782 claims 0xffff, erratum 5864 shows that it forgets a carry.
		{"no change at checksum 0", 0x0000, 0x5555, 0x5555, 0x0000},
		{"from the other zero", 0xffff, 0x5555, 0x3285, ^uint16(0x3285 - 0x5555 + 0xffff)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, updateChecksum(tc.sum, tc.old, tc.new))
		})
	}
}

// TestChecksum holds the tests' own computation against an example that is not ours:
// "Header checksum" in Wikipedia's article on the Internet checksum.
func TestChecksum(t *testing.T) {
	header := bytesOf(t, "4500 0073 0000 4000 4011 b861 c0a80001 c0a800c7")
	assert.Equal(t, uint16(0xb861), checksum(header))
}

func TestSetCERefuses(t *testing.T) {
	ack := segment(flagACK, 0, 0)
	v4, v6 := ipv4(2, protocolTCP, 0, 0, ack), ipv6(2, protocolTCP, ack)
	for name, b := range map[string][]byte{
		"NotECT v4":        ipv4(0xfc, protocolTCP, 0, 0, ack),
		"NotECT v6":        ipv6(0xfc, protocolTCP, ack),
		"nothing":          nil,
		"one octet":        v4[:1],
		"v4 cut off":       v4[:19],
		"v6 cut off":       v6[:39],
		"v4 header length": append([]byte{0x44}, v4[1:]...),
		"version 0":        append([]byte{0x05}, v4[1:]...),
		"version 5":        append([]byte{0x55}, v4[1:]...),
		"version 7":        append([]byte{0x75}, v6[1:]...),
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(b)
			assert.False(t, SetCE(b))
			assert.Equal(t, before, b)
		})
	}
}
