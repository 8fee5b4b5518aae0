package gvisor

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

const mtu = 1500

// host is a network stack of one NIC.
type host struct {
	*stack.Stack
	addr, addr6 tcpip.Address
}

// network is two hosts. What a sends to b passes through a discipline, and then takes a
// delay; what b sends to a arrives at once.
type network struct {
	a, b  host
	qdisc *Discipline
}

func join(t testing.TB, c Config, delay time.Duration) *network {
	t.Helper()
	endA, endB := pipe.New("\x02\x00\x00\x00\x00\x0a", "\x02\x00\x00\x00\x00\x0b", mtu)
	var lower stack.LinkWriter = endA
	var line *delayLine
	if delay > 0 {
		line = &delayLine{next: endA, delay: delay, clock: c.Clock}
		lower = line
	}
	n := &network{}
	var err error
	n.qdisc, err = New(lower, c)
	require.NoError(t, err)
	n.a = newHost(t, c.Clock, endA, n.qdisc, 1)
	n.b = newHost(t, c.Clock, endB, nil, 2)
	t.Cleanup(func() {
		n.a.Destroy()
		if line != nil {
			line.close()
		}
		n.b.Destroy()
	})
	return n
}

func newHost(t testing.TB, clock tcpip.Clock, link stack.LinkEndpoint, qdisc stack.QueueingDiscipline, number byte) host {
	t.Helper()
	h := host{
		Stack: stack.New(stack.Options{
			Clock:              clock,
			NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
			TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
		}),
		addr:  tcpip.AddrFrom4([4]byte{10, 0, 0, number}),
		addr6: tcpip.AddrFrom16([16]byte{0xfd, 15: number}),
	}
	sack := tcpip.TCPSACKEnabled(true)
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 1, Default: 1 << 20, Max: 4 << 20}
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: 1 << 20, Max: 4 << 20}
	require.Nil(t, h.SetTransportProtocolOption(tcp.ProtocolNumber, &sack))
	// With RACK netstack's TCP may go from timeout to timeout for seconds once slow start has
	// overshot, whatever the queue: that would be measured here, and not the algorithms.
	recovery := tcpip.TCPRecovery(0)
	require.Nil(t, h.SetTransportProtocolOption(tcp.ProtocolNumber, &recovery))
	require.Nil(t, h.SetTransportProtocolOption(tcp.ProtocolNumber, &send))
	require.Nil(t, h.SetTransportProtocolOption(tcp.ProtocolNumber, &receive))
	require.Nil(t, h.CreateNICWithOptions(1, link, stack.NICOptions{QDisc: qdisc}))
	for protocol, addr := range map[tcpip.NetworkProtocolNumber]tcpip.Address{ipv4.ProtocolNumber: h.addr, ipv6.ProtocolNumber: h.addr6} {
		require.Nil(t, h.AddProtocolAddress(1, tcpip.ProtocolAddress{Protocol: protocol, AddressWithPrefix: addr.WithPrefix()}, stack.AddressProperties{}))
	}
	h.SetRouteTable([]tcpip.Route{
		{Destination: header.IPv4EmptySubnet, NIC: 1},
		{Destination: header.IPv6EmptySubnet, NIC: 1},
	})
	return h
}

// delayLine is a link on which everything arrives some time later.
type delayLine struct {
	next  stack.LinkWriter
	delay time.Duration
	clock tcpip.Clock

	mu     sync.Mutex
	flight []*stack.PacketBuffer
	closed bool
}

func (l *delayLine) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, pkt := range list.AsSlice() {
		l.flight = append(l.flight, pkt.IncRef())
		l.clock.AfterFunc(l.delay, l.arrive)
	}
	return list.Len(), nil
}

// arrive delivers the first packet: all take the same time.
func (l *delayLine) arrive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	var list stack.PacketBufferList
	list.PushBack(l.flight[0])
	l.flight = l.flight[1:]
	_, _ = l.next.WritePackets(list)
	list.Reset()
}

func (l *delayLine) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, pkt := range l.flight {
		pkt.DecRef()
	}
	l.flight = nil
}
