package wireguard

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/conn/bindtest"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
	"golang.zx2c4.com/wireguard/tun/netstack"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
)

// tunnel is two WireGuard devices in this process that are each other's peer.
type tunnel [2]*device.Device

// connect makes a tunnel between two TUN devices, without a handshake yet. The bind
// is what carries the encrypted packets: channels, or UDP on the loopback interface.
func connect(t testing.TB, binds [2]conn.Bind, tuns [2]tun.Device) tunnel {
	t.Helper()
	var keys [2]*ecdh.PrivateKey
	var d tunnel
	for i := range keys {
		var err error
		keys[i], err = ecdh.X25519().GenerateKey(rand.Reader)
		require.NoError(t, err)
		d[i] = device.NewDevice(tuns[i], binds[i], device.NewLogger(device.LogLevelError, fmt.Sprintf("device %d: ", i)))
		t.Cleanup(d[i].Close)
	}
	ports := [2]string{}
	for i := range d {
		require.NoError(t, d[i].IpcSet(fmt.Sprintf("private_key=%s\nlisten_port=0\npublic_key=%s\nallowed_ip=10.0.0.%d/32\nallowed_ip=fd00::%d/128\n",
			hex.EncodeToString(keys[i].Bytes()), hex.EncodeToString(keys[1-i].PublicKey().Bytes()), 2-i, 2-i)))
		require.NoError(t, d[i].Up())
		config, err := d[i].IpcGet()
		require.NoError(t, err)
		for line := range strings.Lines(config) {
			if port, ok := strings.CutPrefix(strings.TrimSpace(line), "listen_port="); ok {
				ports[i] = port
			}
		}
	}
	for i := range d {
		require.NoError(t, d[i].IpcSet(fmt.Sprintf("public_key=%s\nendpoint=127.0.0.1:%s\n",
			hex.EncodeToString(keys[1-i].PublicKey().Bytes()), ports[1-i])))
	}
	return d
}

func channels() [2]conn.Bind { return bindtest.NewChannelBinds() }

func udp() [2]conn.Bind { return [2]conn.Bind{conn.NewStdNetBind(), conn.NewStdNetBind()} }

// TestTunnel makes a handshake and sends a standing queue through CoDel: the receiver
// sees CE on packets that were sent as ECT(0), and nothing else changed. The queue is
// there at once and takes ten intervals to leave, or more on a slow machine, so that
// CoDel marks whenever the process gets its time.
func TestTunnel(t *testing.T) {
	for name, binds := range map[string]func() [2]conn.Bind{"channels": channels, "UDP": udp} {
		t.Run(name, func(t *testing.T) {
			a, err := codel.New(codel.Config{Target: 2 * time.Millisecond, Interval: 20 * time.Millisecond, MTU: 1420})
			require.NoError(t, err)
			left, right := newFakeTUN(16), newFakeTUN(16)
			wrapped := open(t, left, func(c *Config) { c.Rate, c.LimitPackets, c.Overhead = 20_000_000, 1000, OverheadIPv4 }, a)
			connect(t, binds(), [2]tun.Device{wrapped, right})

			// The first packet starts the handshake and waits for it.
			left.send(ipPacket(addrA, addrB, 100, aqm.ECT0, flagACK, 0))
			got := right.take()
			eventually(t, "the handshake", func() bool { got = append(got, right.take()...); return len(got) > 0 })
			require.Equal(t, aqm.ECT0, ecnOf(got[0]), "no queue, no mark")

			const size, last = 1000, 480
			var packets [][]byte
			for number := uint32(1); number <= last; number++ { // IPv4 and IPv6, and a few NotECT
				e := aqm.ECT0
				if number%16 == 0 {
					e = aqm.NotECT
				}
				packet := ipPacket(addrA, addrB, size, e, flagACK, number)
				if number%2 == 0 {
					packet = ipPacket(ip6A, ip6B, size, e, flagACK, number)
				}
				packets = append(packets, packet)
			}
			left.send(packets...)
			eventually(t, "the queue drains", func() bool {
				q := wrapped.Stats().Queues[0]
				return q.Arrived.Packets == 1+last && q.Queued.Packets == 0
			})
			q := wrapped.Stats().Queues[0]
			require.Zero(t, q.Refused.Packets)
			eventually(t, "all arrive", func() bool {
				got = append(got, right.take()...)
				return uint64(len(got)) >= q.Delivered.Packets
			})

			marked := uint64(0)
			before := -1
			for _, b := range got {
				n, whole := numberOf(b)
				if !whole || int(n) <= before || b[0]>>4 == 4 && headerSum(b) != 0xffff {
					t.Fatalf("not whole, or after %d: %x", before, b[:44])
				}
				before = int(n)
				switch ecnOf(b) {
				case aqm.CE:
					marked++
					require.NotZero(t, n%16, "NotECT is not marked")
				case aqm.NotECT:
					require.Zero(t, n%16)
				}
			}
			t.Logf("%d packets sent, %d received, %d with CE, %d dropped by CoDel", 1+last, len(got), marked, q.Dropped.Packets)
			assert.NotZero(t, marked)
			assert.Equal(t, q.Marked.Packets, marked)
		})
	}
}

// TestBothWays pings from either end through two wrapped devices.
func TestBothWays(t *testing.T) {
	f := [2]*fakeTUN{newFakeTUN(1), newFakeTUN(128)}
	d := [2]*Device{open(t, f[0], nil, aqm.TailDrop{}), open(t, f[1], func(c *Config) { c.Rate = 100_000_000 }, aqm.TailDrop{}, aqm.TailDrop{})}
	connect(t, channels(), [2]tun.Device{d[0], d[1]})
	for n := range uint32(50) {
		want := ipPacket(addrA, addrB, 200, aqm.ECT1, flagACK, n)
		f[0].send(want)
		eventually(t, "it arrives", func() bool { return receivedIs(t, f[1], want) })
		want = ipPacket(ip6B, ip6A, 300, aqm.NotECT, flagSYN, n)
		f[1].send(want)
		eventually(t, "and back", func() bool { return receivedIs(t, f[0], want) })
	}
}

func receivedIs(t *testing.T, f *fakeTUN, want []byte) bool {
	got := f.take()
	if len(got) == 0 {
		return false
	}
	require.Equal(t, [][]byte{want}, got)
	return true
}

// TestTCP sends a file through the tunnel with netstack's TCP, at a rate, over a short
// queue and CoDel, and gets it whole.
func TestTCP(t *testing.T) {
	var tuns [2]tun.Device
	var hosts [2]*netstack.Net
	for i, addr := range []netip.Addr{addrA, addrB} {
		var err error
		tuns[i], hosts[i], err = netstack.CreateNetTUN([]netip.Addr{addr}, nil, 1420)
		require.NoError(t, err)
	}
	a, err := codel.New(codel.DefaultConfig())
	require.NoError(t, err)
	d, err := wrap(tuns[0], Config{Rate: 40_000_000, Overhead: OverheadIPv4, LimitPackets: 100, AQMs: []aqm.AQM{a}, Batch: DefaultBatch})
	require.NoError(t, err)
	d.pool.poison = poison
	go d.pump()
	connect(t, udp(), [2]tun.Device{d, tuns[1]})

	listener, err := hosts[1].ListenTCPAddrPort(netip.AddrPortFrom(addrB, 80))
	require.NoError(t, err)
	file := make([]byte, 1<<20)
	_, _ = rand.Read(file)
	received := make(chan []byte)
	go func() {
		c, err := listener.Accept()
		if !assert.NoError(t, err) {
			close(received)
			return
		}
		b, err := io.ReadAll(c)
		assert.NoError(t, err)
		_ = c.Close()
		received <- b
	}()
	c, err := hosts[0].DialTCPAddrPort(netip.AddrPortFrom(addrB, 80))
	require.NoError(t, err)
	start := time.Now()
	var sender sync.WaitGroup
	sender.Go(func() {
		_, err := c.Write(file)
		assert.NoError(t, err)
		assert.NoError(t, c.Close())
	})
	b := <-received
	sender.Wait()
	assert.Equal(t, file, b)
	rate := float64(len(file)) * 8 / time.Since(start).Seconds()
	t.Logf("%.1f Mb/s; dropped %d of %d packets", rate/1e6, d.Stats().Queues[0].Dropped.Packets+d.Stats().Queues[0].Refused.Packets, d.Stats().Queues[0].Arrived.Packets)
	assert.Less(t, rate, 40e6)
	_ = listener.Close()
	assert.Zero(t, d.pool.touched)
}
