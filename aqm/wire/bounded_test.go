//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package wire

import (
	"math"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// TestBoundedWork parses packets that are full of extension headers or VLAN tags, of
// which those behind the first too many lie in memory that nobody may read: they cost
// nothing, since a parser that walked through them would fault. No time is measured,
// which on a busy machine says little.
func TestBoundedWork(t *testing.T) {
	chain := func(protocol uint8, header []byte, n int) []byte {
		return ipv6(1, protocol, slices.Repeat(header, n))
	}
	tags := func(n int) []byte { return ethernet(typeIPv4, slices.Repeat([]uint16{typeVLAN}, n), nil) }
	const many = math.MaxUint16 / 12
	options, fragment, ah := extension(protocolDestination, 0, nil), fragment6(protocolFragment, 0, true, nil), authentication(protocolAH, 0, nil)
	ip := func(b []byte) (aqm.Packet, error) { return ParseIP(b) }
	frame := func(b []byte) (aqm.Packet, error) { p, _, err := ParseEthernet(b); return p, err }
	for name, tc := range map[string]struct {
		all   []byte
		read  int // bytes that may be read: up to the header that is one too many
		parse func([]byte) (aqm.Packet, error)
	}{
		"Destination Options": {chain(protocolDestination, options, many), ipv6Header + (maxHeaders+1)*len(options), ip},
		"Fragment":            {chain(protocolFragment, fragment, many), ipv6Header + (maxHeaders+1)*len(fragment), ip},
		"AH":                  {chain(protocolAH, ah, many), ipv6Header + (maxHeaders+1)*len(ah), ip},
		"VLAN":                {tags(many), ethernetHeader + (maxTags+1)*vlanTag, frame},
	} {
		t.Run(name, func(t *testing.T) {
			b := guarded(t, tc.all, tc.read)
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			require.Panics(t, func() { _ = string(b[tc.read:]) == string(tc.all[tc.read:]) }, "the guard")
			require.NotPanics(t, func() {
				p, err := tc.parse(b)
				assert.NoError(t, err)
				assert.Equal(t, aqm.Other, p.Class)
			}, "one of %d headers behind the first too many is read", many)
		})
	}
}

// guarded returns a copy of b of which only the first n bytes can be read.
func guarded(t *testing.T, b []byte, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	pages := func(n int) int { return (n + page - 1) / page * page }
	open := pages(n)
	memory, err := syscall.Mmap(-1, 0, open+pages(len(b)-n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Munmap(memory)) })
	guarded := memory[open-n:][:len(b):len(b)]
	copy(guarded, b)
	require.NoError(t, syscall.Mprotect(memory[open:], syscall.PROT_NONE))
	return guarded
}
