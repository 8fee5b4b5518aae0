package gvisor

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/threshold"
)

// TestUDP sends ECT(0) over a real socket until the queue is above a threshold: the
// receiver's socket reports CE.
func TestUDP(t *testing.T) {
	for name, v6 := range map[string]bool{"IPv4": false, "IPv6": true} {
		t.Run(name, func(t *testing.T) {
			a := must(threshold.New(threshold.Config{Packets: 5}))
			clock := &virtualClock{}
			n := join(t, Config{Clock: clock, Rate: 2_000_000, LimitPackets: 40, AQMs: []aqm.AQM{a}, Batch: DefaultBatch}, 0)
			protocol, to := ipv4.ProtocolNumber, tcpip.FullAddress{NIC: 1, Addr: n.b.addr, Port: 9}
			if v6 {
				protocol, to.Addr = ipv6.ProtocolNumber, n.b.addr6
			}
			var wq waiter.Queue
			out, err := n.a.NewEndpoint(udp.ProtocolNumber, protocol, &wq)
			require.Nil(t, err)
			in, err := n.b.NewEndpoint(udp.ProtocolNumber, protocol, &wq)
			require.Nil(t, err)
			require.Nil(t, in.Bind(tcpip.FullAddress{Port: 9}))
			if v6 {
				require.Nil(t, out.SetSockOptInt(tcpip.IPv6TrafficClassOption, int(aqm.ECT0)))
				in.SocketOptions().SetReceiveTClass(true)
			} else {
				require.Nil(t, out.SetSockOptInt(tcpip.IPv4TOSOption, int(aqm.ECT0)))
				in.SocketOptions().SetReceiveTOS(true)
			}

			const packets = 100
			for range packets {
				_, err := out.Write(bytes.NewReader(make([]byte, 200)), tcpip.WriteOptions{To: &to})
				assert.Nil(t, err, "a drop is not the socket's error")
			}
			var got [4]int
			received := func() int { return got[aqm.NotECT] + got[aqm.ECT0] + got[aqm.ECT1] + got[aqm.CE] }
			clock.runUntil(t, "what was not dropped arrives", func() bool {
				for {
					var b bytes.Buffer
					r, err := in.Read(&b, tcpip.ReadOptions{})
					if err != nil {
						break
					}
					tos := r.ControlMessages.TOS
					if v6 {
						tos = uint8(r.ControlMessages.TClass)
					}
					got[aqm.ECNFromTOS(tos)]++
				}
				q := n.qdisc.Stats().Queues[0]
				// The last one may be in transmission, neither queued nor sent.
				return q.Queued.Packets == 0 && received()+int(q.Refused.Packets) == packets
			})
			q := n.qdisc.Stats().Queues[0]
			t.Logf("%d packets sent, received by codepoint %v, %d did not fit the queue", packets, got, q.Refused.Packets)
			assert.NotZero(t, got[aqm.ECT0])
			assert.EqualValues(t, q.Marked.Packets, got[aqm.CE])
			assert.NotZero(t, got[aqm.CE])
			assert.NotZero(t, q.Refused.Packets)
			assert.Equal(t, packets, received()+int(q.Refused.Packets))
			stats := n.a.Stats()
			assert.Equal(t, q.Refused.Packets, stats.NICs.TxPacketsDroppedNoBufferSpace.Value(), "but the NIC's statistics have it")
			out.Close()
			in.Close()
		})
	}
}
