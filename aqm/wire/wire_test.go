package wire

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

func TestParseIP(t *testing.T) {
	for _, tc := range ipPackets(t) {
		t.Run(tc.name, func(t *testing.T) {
			before := slices.Clone(tc.bytes)
			p, err := ParseIP(tc.bytes)
			assert.Equal(t, tc.want(), p)
			assert.True(t, err == tc.err, "got error %v, want %v itself", err, tc.err) //nolint:errorlint // the value itself is promised
			assert.Equal(t, before, tc.bytes, "the packet is only read")
		})
	}
}

// TestFlags walks through all TCP flags, with and without payload, against the
// sentences of aqm.Class.
func TestFlags(t *testing.T) {
	for flags := range 256 {
		for _, payload := range []int{0, 1} {
			f := uint8(flags)
			fin, syn, rst, ack, ece := f&1 != 0, f&2 != 0, f&4 != 0, f&16 != 0, f&64 != 0 // RFC 9293 section 3.1
			var want aqm.Class
			for class, has := range map[aqm.Class]bool{
				aqm.PureACK: ack && payload == 0 && !syn && !fin && !rst,
				aqm.SYN:     syn && !ack,
				aqm.SYNACK:  syn && ack,
				aqm.FIN:     fin,
				aqm.RST:     rst,
				aqm.Data:    payload > 0,
			} {
				if has {
					want |= class
				}
			}
			if want == 0 {
				want = aqm.Other
			}
			if ece {
				want |= aqm.ECE
			}
			for _, b := range [][]byte{
				ipv4(0, protocolTCP, 0, 0, segment(f, 8, payload)),
				ipv6(0, protocolTCP, segment(f, 8, payload)),
				ipv6(0, protocolRouting, extension(protocolTCP, 0, segment(f, 8, payload))),
			} {
				p, err := ParseIP(b)
				require.NoError(t, err)
				require.Equal(t, want, p.Class, "flags %08b, payload %d", f, payload)
			}
		}
	}
}

func TestParseEthernet(t *testing.T) {
	for _, tc := range frames() {
		t.Run(tc.name, func(t *testing.T) {
			p, ip, err := ParseEthernet(tc.bytes)
			assert.Equal(t, tc.want(), p)
			assert.Equal(t, tc.ip, ip)
			assert.True(t, err == tc.err, "got error %v, want %v itself", err, tc.err) //nolint:errorlint // the value itself is promised
		})
	}
}

// TestTruncation cuts every packet and frame at every length. The octets that were cut
// off are still there, behind the slice, and must not be looked at.
func TestTruncation(t *testing.T) {
	cuts := func(size int) (at []int) {
		for n := 0; n < size; n += 1 + n/200 {
			at = append(at, n)
		}
		return append(at, size-1)
	}
	for _, tc := range ipPackets(t) {
		if tc.err != nil || saysNoLength(tc.bytes) {
			continue
		}
		for _, n := range cuts(tc.size) {
			p, err := ParseIP(tc.bytes[:n])
			require.ErrorIs(t, err, ErrTruncated, "%s, %d octets of %d", tc.name, n, tc.size)
			require.Zero(t, p)
		}
	}
	for _, tc := range frames() {
		if tc.ip < 0 || saysNoLength(tc.bytes[tc.ip:]) {
			continue
		}
		for _, n := range cuts(tc.size) {
			p, ip, err := ParseEthernet(tc.bytes[:n])
			require.ErrorIs(t, err, ErrTruncated, "%s, %d octets of %d", tc.name, n, tc.size)
			require.Zero(t, p)
			require.Equal(t, -1, ip)
		}
	}
}

// saysNoLength reports whether the length in the IP header is 0, so that a cut cannot
// be noticed, and there is no other.
func saysNoLength(b []byte) bool {
	if b[0]>>4 == 4 {
		return binary.BigEndian.Uint16(b[2:]) == 0
	}
	return binary.BigEndian.Uint16(b[4:]) == 0 && b[6] != protocolHopByHop
}

func TestSize32(t *testing.T) {
	assert.Equal(t, uint32(1500), size32(1500))
	if math.MaxInt > math.MaxUint32 { // where an int is wider than a Size
		assert.Equal(t, uint32(math.MaxUint32), size32(math.MaxInt-5))
	}
}

// TestAllocations measures one run over all packets and frames, right and wrong: the
// average over many runs would be truncated to 0.
func TestAllocations(t *testing.T) {
	packets, frames := ipPackets(t), frames()
	for i := range packets {
		packets[i].bytes = slices.Clone(packets[i].bytes)
	}
	errs, marks := 0, 0
	allocs := testing.AllocsPerRun(1, func() {
		for range 100 {
			for i := range packets {
				if _, err := ParseIP(packets[i].bytes); err != nil {
					errs++
				}
				if SetCE(packets[i].bytes) {
					marks++
				}
			}
			for i := range frames {
				if _, _, err := ParseEthernet(frames[i].bytes); err != nil {
					errs++
				}
			}
		}
	})
	assert.Zero(t, allocs)
	assert.Positive(t, errs)
	assert.Positive(t, marks)
}

// TestVectors holds what other implementations got wrong.
func TestVectors(t *testing.T) {
	t.Run("Q5", func(t *testing.T) {
		data := segment(flagACK, 12, 100)
		headers := extension(protocolRouting, 1, extension(protocolTCP, 2, data)) // Hop-by-Hop Options, then Routing
		for _, tc := range []struct {
			name  string
			ip    []byte
			ecn   aqm.ECN
			class aqm.Class
		}{
			{"IPv4 with options", ipv4(2, protocolTCP, 0, 24, data), aqm.ECT0, aqm.Data},
			{"second fragment", ipv4(1, protocolTCP, 185, 0, data), aqm.ECT1, aqm.Other},
			{"IPv6 with hop-by-hop and routing headers", ipv6(2, protocolHopByHop, headers), aqm.ECT0, aqm.Data},
		} {
			t.Run(tc.name, func(t *testing.T) {
				p, err := ParseIP(tc.ip)
				require.NoError(t, err)
				assert.Equal(t, aqm.Packet{Size: uint32(len(tc.ip)), ECN: tc.ecn, Class: tc.class}, p)

				frame := ethernet(map[uint8]uint16{4: typeIPv4, 6: typeIPv6}[tc.ip[0]>>4], []uint16{typeQinQ, typeVLAN}, tc.ip)
				p, ip, err := ParseEthernet(frame)
				require.NoError(t, err)
				assert.Equal(t, aqm.Packet{Size: uint32(len(frame)), ECN: tc.ecn, Class: tc.class}, p)
				assert.Equal(t, 22, ip)

				require.True(t, SetCE(frame[ip:]))
				marked, err := ParseIP(frame[ip:])
				require.NoError(t, err)
				assert.Equal(t, aqm.Packet{Size: uint32(len(tc.ip)), ECN: aqm.CE, Class: tc.class}, marked)
				if tc.ip[0]>>4 == 4 {
					assert.Equal(t, checksum(frame[ip:][:tc.ip[0]&0xf*4]), binary.BigEndian.Uint16(frame[ip+10:]))
				}

				_, err = ParseIP(tc.ip[:20])
				assert.ErrorIs(t, err, ErrTruncated)
				_, _, err = ParseEthernet(frame[:20])
				assert.ErrorIs(t, err, ErrTruncated)
			})
		}
	})
}
