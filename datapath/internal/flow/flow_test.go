package flow

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func ip4(protocol byte, source uint16) []byte {
	b := make([]byte, 60)
	b[0], b[9], b[15], b[19] = 0x45, protocol, 1, 2
	binary.BigEndian.PutUint16(b[20:], source)
	return b
}

func ip6(protocol byte, source uint16) []byte {
	b := make([]byte, 80)
	b[0], b[6], b[23], b[39] = 0x60, protocol, 1, 2
	binary.BigEndian.PutUint16(b[40:], source)
	return b
}

func TestOf(t *testing.T) {
	h := New()
	for _, make := range []func(byte, uint16) []byte{ip4, ip6} {
		a := h.Of(make(6, 1))
		again := make(6, 1)
		again[1], again[len(again)-1] = 3, 7 // the TOS and the payload are not the flow's
		assert.Equal(t, a, h.Of(again))
		for name, b := range map[string][]byte{"port": make(6, 2), "protocol": make(17, 1)} {
			assert.NotEqual(t, a, h.Of(b), name)
		}
		other := make(6, 1)
		other[19]++ // part of an address in both versions
		assert.NotEqual(t, a, h.Of(other))
		assert.Equal(t, h.Of(make(1, 1)), h.Of(make(1, 2)), "ICMP has no ports")
		assert.NotEqual(t, a, New().Of(make(6, 1)), "another Hasher's is another")
	}
	first, second := ip4(17, 1), ip4(17, 99)
	binary.BigEndian.PutUint16(first[6:], 0x2000) // more fragments
	binary.BigEndian.PutUint16(second[6:], 10)    // offset
	assert.Equal(t, h.Of(first), h.Of(second), "fragments of a packet are together")
	assert.Equal(t, h.Of(nil), h.Of([]byte("? is not IP, but long enough for a header of IPv6")))
}

// TestAnything survives all bytes and lengths.
func TestAnything(t *testing.T) {
	h := New()
	r := rand.New(rand.NewPCG(1, 0))
	for range 20000 {
		b := make([]byte, r.IntN(100))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if len(b) > 0 {
			b[0] = byte(4+2*r.IntN(2))<<4 | b[0]&0x0f
		}
		h.Of(b)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() { h.Of(make([]byte, 80)) }))
}

// TestSpread puts flows about evenly into queues.
func TestSpread(t *testing.T) {
	h := New()
	var queues [16]int
	for port := range uint16(16000) {
		queues[uint64(h.Of(ip4(6, port)))*16>>32]++
	}
	for _, n := range queues {
		assert.InDelta(t, 1000, n, 250)
	}
}
