package wireguard

import (
	"runtime"
	"testing"
	"time"

	"golang.zx2c4.com/wireguard/tun"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/pie"
)

// BenchmarkTunnel sends packets of 1400 bytes from one WireGuard device to another in
// this process, without a Rate. No more than a window is under way at a time, as TCP
// would have it, so that nothing overflows. Run with -cpu 1 for the packets per second of
// one core, which encrypts, carries and decrypts.
func BenchmarkTunnel(b *testing.B) {
	const batch, window = 64, 512
	for _, c := range []struct {
		name string
		aqm  func() (aqm.AQM, error)
	}{
		{"plain", nil},
		{"drop-tail", func() (aqm.AQM, error) { return aqm.TailDrop{}, nil }},
		{"CoDel", func() (aqm.AQM, error) { return codel.New(codel.DefaultConfig()) }},
		{"PIE", func() (aqm.AQM, error) { return pie.New(pie.DefaultConfig()) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			left, right := newFakeTUN(batch), &countingTUN{fakeTUN: newFakeTUN(batch)}
			var egress tun.Device = left
			var wrapped *Device
			if c.aqm != nil {
				a, err := c.aqm()
				if err == nil {
					wrapped, err = Wrap(left, Config{LimitPackets: 2 * window, AQMs: []aqm.AQM{a}, Batch: DefaultBatch})
				}
				if err != nil {
					b.Fatal(err)
				}
				egress = wrapped
			}
			connect(b, channels(), [2]tun.Device{egress, right})
			packet := ipPacket(addrA, addrB, 1400, aqm.ECT0, flagACK, 1)
			packets := make([][]byte, batch)
			for i := range packets {
				packets[i] = packet
			}
			left.send(packet)
			eventually(b, "the handshake", func() bool { return right.count() == 1 })

			gone := func() int { // arrived, or dropped
				n := right.count()
				if wrapped != nil {
					q := wrapped.Stats().Queues[0]
					n += int(q.Dropped.Packets + q.Refused.Packets)
				}
				return n
			}
			b.ResetTimer()
			sent := 1
			for sent < b.N+1 {
				for stuck := time.Now(); sent-gone() > window; runtime.Gosched() {
					if time.Since(stuck) > 10*time.Second {
						b.Fatalf("%d packets do not arrive", sent-gone())
					}
				}
				n := min(batch, b.N+1-sent)
				left.send(packets[:n]...)
				sent += n
			}
			eventually(b, "the last packet", func() bool { return gone() == sent })
			b.ReportMetric(float64(right.count()-1)/b.Elapsed().Seconds(), "packets/s")
			b.ReportMetric(100*float64(sent-right.count())/float64(sent), "%dropped")
		})
	}
}

// countingTUN only counts what it is sent.
type countingTUN struct {
	*fakeTUN
	packets int
}

func (c *countingTUN) Write(bufs [][]byte, _ int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.packets += len(bufs)
	return len(bufs), nil
}

func (c *countingTUN) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.packets
}

// BenchmarkRead reads packets of 1400 bytes from a device as it is and through the queue.
// A few batches are under way at a time, so that nothing overflows.
func BenchmarkRead(b *testing.B) {
	const batch, window = 64, 8 // packets, batches
	packet := ipPacket(addrA, addrB, 1400, aqm.ECT0, flagACK, 1)
	packets := make([][]byte, batch)
	for i := range packets {
		packets[i] = packet
	}
	for _, c := range []struct {
		name string
		aqm  func() (aqm.AQM, error)
	}{
		{"plain", nil},
		{"drop-tail", func() (aqm.AQM, error) { return aqm.TailDrop{}, nil }},
		{"CoDel", func() (aqm.AQM, error) { return codel.New(codel.DefaultConfig()) }},
		{"PIE", func() (aqm.AQM, error) { return pie.New(pie.DefaultConfig()) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			inner := newFakeTUN(batch)
			var d tun.Device = inner
			if c.aqm != nil {
				a, err := c.aqm()
				if err == nil {
					d, err = Wrap(inner, Config{LimitPackets: 2 * window * batch, AQMs: []aqm.AQM{a}, Batch: batch})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			tokens := make(chan struct{}, window)
			go func() {
				for {
					select {
					case tokens <- struct{}{}:
					case <-inner.closed:
						return
					}
					select {
					case inner.out <- read{packets: packets}:
					case <-inner.closed:
						return
					}
				}
			}()
			bufs, sizes := buffers(batch, 1500)
			b.ReportAllocs()
			b.ResetTimer()
			got, batches := 0, 0
			for got < b.N {
				n, err := d.Read(bufs, sizes, 16)
				if err != nil {
					b.Fatal(err)
				}
				for got += n; batches < got/batch; batches++ {
					<-tokens
				}
			}
			b.StopTimer()
			if err := d.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
		})
	}
}
