package gvisor

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
)

// watch records the sojourn time of each packet that leaves the queue. It is called
// under the discipline's lock.
type watch struct {
	aqm.AQM
	sojourn []time.Duration
}

func (w *watch) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	w.sojourn = append(w.sojourn, now.Sub(p.EnqueuedAt))
	return w.AQM.Dequeue(now, p, q)
}

// measurement is what an algorithm achieves.
type measurement struct {
	goodput          float64 // bit/s
	median, p95      time.Duration
	dropped, arrived uint64
}

// load is a network whose link TCP flows fill.
type load struct {
	*network
	clock    *virtualClock
	watch    *watch
	received atomic.Uint64
	stop     func()

	from  uint64
	start time.Duration
}

func fill(t *testing.T, clock *virtualClock, a aqm.AQM, rate uint64, rtt time.Duration, flows int) *load {
	l := &load{clock: clock, watch: &watch{AQM: a}}
	l.network = join(t, Config{Clock: clock, Rate: rate, LimitPackets: 250, AQMs: []aqm.AQM{l.watch}, Batch: DefaultBatch}, rtt)
	l.stop = transfer(t, clock, l.network, flows, &l.received)
	return l
}

func (l *load) begin() {
	l.qdisc.Do(func() {
		l.watch.sojourn = l.watch.sojourn[:0]
		l.from, l.start = l.received.Load(), l.clock.elapsed()
	})
}

func (l *load) end() (m measurement) {
	l.qdisc.Do(func() {
		m.goodput = float64(l.received.Load()-l.from) * 8 / (l.clock.elapsed() - l.start).Seconds()
		slices.Sort(l.watch.sojourn)
		if n := len(l.watch.sojourn); n > 0 {
			m.median, m.p95 = l.watch.sojourn[n/2], l.watch.sojourn[n*95/100]
		}
	})
	s := l.qdisc.Stats().Queues[0]
	m.arrived, m.dropped = s.Arrived.Packets, s.Refused.Packets+s.Dropped.Packets
	return m
}

// transfer sends as much as goes from a to b, and counts what arrives, until stop.
func transfer(t *testing.T, clock *virtualClock, n *network, flows int, received *atomic.Uint64) (stop func()) {
	at := tcpip.FullAddress{NIC: 1, Addr: n.b.addr, Port: 80}
	listener, err := gonet.ListenTCP(n.b.Stack, at, ipv4.ProtocolNumber)
	require.NoError(t, err)
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []io.Closer
	keep := func(c io.Closer) {
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, c)
	}
	for range flows {
		running.Go(func() {
			out, err := gonet.DialTCP(n.a.Stack, at, ipv4.ProtocolNumber)
			if !assert.NoError(t, err) {
				return
			}
			keep(out)
			b := make([]byte, 1<<16)
			for {
				if _, err := out.Write(b); err != nil {
					return
				}
			}
		})
		running.Go(func() {
			in, err := listener.Accept()
			if !assert.NoError(t, err) {
				return
			}
			keep(in)
			b := make([]byte, 1<<16)
			for {
				k, err := in.Read(b)
				received.Add(uint64(k))
				if err != nil {
					return
				}
			}
		})
	}
	clock.runUntil(t, "the connections", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(conns) == 2*flows
	})
	return func() {
		for _, c := range conns {
			_ = c.Close()
		}
		_ = listener.Close()
		running.Wait()
	}
}

// TestTCP fills a link between two hosts with netstack's TCP under each algorithm. The
// goodput is about that of drop-tail, and the delay a fraction. Time is virtual and the
// random sources have seeds: the table is the same on any machine.
func TestTCP(t *testing.T) {
	const rate, rtt, flows = 10_000_000, 20 * time.Millisecond, 2
	warmUp, length := 2*time.Second, 10*time.Second
	short := testing.Short() || raceEnabled
	if short {
		warmUp, length = time.Second, time.Second // virtual, but there is much to do in each
	}
	red, err := red.Design(rate, 20*time.Millisecond, mtu)
	require.NoError(t, err)
	red.Rand = rand.NewPCG(1, 2)
	p := pie.DefaultConfig()
	p.Rand = rand.NewPCG(3, 4)
	algorithms := []struct {
		name string
		aqm  aqm.AQM
	}{
		{"drop-tail", aqm.TailDrop{}},
		{"CoDel", must(codel.New(codel.DefaultConfig()))},
		{"PIE", must(pie.New(p))},
		{"RED", newRED(t, red)},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%d flows of TCP, %d Mb/s, RTT %v, limit 250 packets, %v\n", flows, rate/1_000_000, rtt, length)
	fmt.Fprintf(&table, "%10s  %9s  %12s  %12s  %7s\n", "", "goodput", "median delay", "95 % below", "dropped")
	var tail measurement
	for i, a := range algorithms {
		clock := &virtualClock{}
		l := fill(t, clock, a.aqm, rate, rtt, flows)
		clock.run(warmUp)
		l.begin()
		clock.run(length)
		m := l.end()
		l.stop()
		settle()
		balance(t, l.qdisc)
		fmt.Fprintf(&table, "%10s  %4.1f Mb/s  %9.1f ms  %9.1f ms  %5.2f %%\n", a.name, m.goodput/1e6,
			1e3*m.median.Seconds(), 1e3*m.p95.Seconds(), 100*float64(m.dropped)/float64(m.arrived))
		if short {
			continue // it says nothing of goodput and delay
		}
		if i == 0 {
			tail = m
			assert.Greater(t, m.goodput, 0.75*rate)
			assert.Greater(t, m.median, 50*time.Millisecond, "drop-tail keeps the queue full")
			continue
		}
		assert.Greater(t, m.goodput, 0.8*tail.goodput, a.name)
		assert.Less(t, m.median, tail.median/3, a.name)
		assert.NotZero(t, m.dropped, a.name)
	}
	t.Log(table.String())
}

func must[T aqm.AQM](a T, err error) T {
	if err != nil {
		panic(err)
	}
	return a
}

func newRED(t *testing.T, c red.Config) aqm.AQM {
	a, err := red.New(c)
	require.NoError(t, err)
	return a
}

// balance checks that every packet is accounted for.
func balance(t testing.TB, d *Discipline) {
	t.Helper()
	s := d.Stats()
	delivered := uint64(0)
	for _, q := range s.Queues {
		assert.Equal(t, q.Arrived.Packets, q.Refused.Packets+q.Delivered.Packets+q.Dropped.Packets+q.Flushed.Packets+q.Queued.Packets)
		delivered += q.Delivered.Packets
	}
	assert.Equal(t, delivered, s.Sent+s.Lost+uint64(s.Held))
}
