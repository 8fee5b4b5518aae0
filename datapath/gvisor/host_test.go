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
		line = newDelayLine(endA, delay)
		lower = line
	}
	n := &network{}
	var err error
	n.qdisc, err = New(lower, c)
	require.NoError(t, err)
	n.a = newHost(t, endA, n.qdisc, 1)
	n.b = newHost(t, endB, nil, 2)
	t.Cleanup(func() {
		n.a.Destroy()
		if line != nil {
			line.close()
		}
		n.b.Destroy()
	})
	return n
}

func newHost(t testing.TB, link stack.LinkEndpoint, qdisc stack.QueueingDiscipline, number byte) host {
	t.Helper()
	h := host{
		Stack: stack.New(stack.Options{
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

	mu      sync.Mutex
	flight  []delayed
	wake    chan struct{}
	closing chan struct{}
	done    chan struct{}
}

type delayed struct {
	pkt *stack.PacketBuffer
	due time.Time
}

func newDelayLine(next stack.LinkWriter, delay time.Duration) *delayLine {
	l := &delayLine{next: next, delay: delay, wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *delayLine) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	due := time.Now().Add(l.delay)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, pkt := range list.AsSlice() {
		l.flight = append(l.flight, delayed{pkt.IncRef(), due})
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return list.Len(), nil
}

func (l *delayLine) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var list stack.PacketBufferList
		wait := time.Hour
		now := time.Now()
		l.mu.Lock()
		for len(l.flight) > 0 && !l.flight[0].due.After(now) {
			list.PushBack(l.flight[0].pkt)
			l.flight = l.flight[1:]
		}
		if len(l.flight) > 0 {
			wait = l.flight[0].due.Sub(now)
		}
		l.mu.Unlock()
		if list.Len() > 0 {
			_, _ = l.next.WritePackets(list)
			list.Reset()
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-l.wake:
		case <-l.closing:
			for _, f := range l.flight {
				f.pkt.DecRef()
			}
			return
		}
	}
}

func (l *delayLine) close() {
	close(l.closing)
	<-l.done
}
