package tunlink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/internal/netns"
	"github.com/aqmkit/aqmkit/threshold"
)

// namespace makes a network namespace for the test, or skips it.
func namespace(t *testing.T, name string) *netns.Namespace {
	t.Helper()
	ns, err := netns.Create(name)
	if errors.Is(err, unix.EPERM) || errors.Is(err, os.ErrPermission) {
		t.Skipf("a network namespace cannot be made here (it needs root): %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ns.Close()) })
	return ns
}

// openOrSkip opens a link between the namespaces, or skips the test.
func openOrSkip(t *testing.T, c Config) *Link {
	t.Helper()
	l, err := Open(c)
	if errors.Is(err, os.ErrNotExist) && strings.Contains(err.Error(), "/dev/net/tun") || errors.Is(err, unix.EPERM) {
		t.Skipf("a TUN device cannot be opened here: %v", err)
	}
	require.NoError(t, err)
	return l
}

// receivedCE returns how many packets with CE the thread's namespace has received.
func receivedCE(ipv4 bool) (uint64, error) {
	file, name := "/proc/thread-self/net/snmp6", "Ip6InCEPkts" // a name and a value on each line
	if ipv4 {
		file, name = "/proc/thread-self/net/netstat", "InCEPkts" // a line of names, then a line of values
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var last []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if !ipv4 && len(fields) == 2 && fields[0] == name {
			return strconv.ParseUint(fields[1], 10, 64)
		}
		if i := slices.Index(last, name); ipv4 && i >= 0 && i < len(fields) {
			return strconv.ParseUint(fields[i], 10, 64)
		}
		last = fields
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}

// cubic makes a socket use that congestion control: the system's default may ignore
// marks.
func cubic(_, _ string, c syscall.RawConn) (err error) {
	if e := c.Control(func(fd uintptr) {
		err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	}); e != nil {
		return e
	}
	return err
}

// TestTransfer sends TCP of the kernel through a link between two namespaces, under a
// marking threshold, until there are marks: all of it arrives, the marks that were made
// are the ones that the receiving kernel counts, and nothing is left behind. How fast it
// is the machine decides.
func TestTransfer(t *testing.T) {
	for _, family := range []struct{ name, a, b string }{
		{"IPv4", "10.0.0.1/30", "10.0.0.2/30"},
		{"IPv6", "fd00::1/64", "fd00::2/64"},
	} {
		t.Run(family.name, func(t *testing.T) {
			transfer(t, netip.MustParsePrefix(family.a), netip.MustParsePrefix(family.b))
		})
	}
}

func transfer(t *testing.T, addressA, addressB netip.Prefix) {
	before := runtime.NumGoroutine()
	suffix := strings.ToLower(rand.Text()[:8])
	left, right := namespace(t, "aqmkit-"+suffix+"-a"), namespace(t, "aqmkit-"+suffix+"-b")
	for _, ns := range []*netns.Namespace{left, right} {
		require.NoError(t, ns.Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/tcp_ecn", []byte("1"), 0) }))
	}
	th, err := threshold.New(threshold.Config{Packets: 30})
	require.NoError(t, err)
	const rate = 20e6
	c := Config{
		A:    Direction{Rate: rate, Delay: 5 * ms, LimitPackets: 500, AQM: th},
		B:    Direction{Rate: rate, Delay: 5 * ms, LimitPackets: 500, AQM: aqm.TailDrop{}},
		EndA: End{Namespace: "aqmkit-" + suffix + "-a", Device: "aqmkit0", Address: addressA},
		EndB: End{Namespace: "aqmkit-" + suffix + "-b", Address: addressB},
		MTU:  DefaultMTU,
	}
	link := openOrSkip(t, c)
	nameA, nameB := link.Devices()
	assert.Equal(t, "aqmkit0", nameA)
	assert.NotEmpty(t, nameB)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- link.Run(ctx) }()

	var listener net.Listener
	require.NoError(t, right.Do(func() (err error) {
		listener, err = (&net.ListenConfig{Control: cubic}).Listen(ctx, "tcp", netip.AddrPortFrom(addressB.Addr(), 0).String())
		return err
	}))
	received := make(chan int64, 1)
	go func() {
		conn, err := listener.Accept()
		listener.Close()
		if err != nil {
			received <- 0
			return
		}
		defer conn.Close()
		n, _ := io.Copy(io.Discard, struct{ io.Reader }{conn})
		received <- n
	}()
	var conn net.Conn
	require.NoError(t, left.Do(func() (err error) {
		conn, err = (&net.Dialer{Control: cubic, Timeout: enough}).DialContext(ctx, "tcp", listener.Addr().String())
		return err
	}))
	// Marks come when the window has grown. A process that gets no time has none after
	// any fixed while.
	const least = 1 << 20
	start, sent := time.Now(), int64(0)
	require.NoError(t, conn.SetWriteDeadline(start.Add(enough)))
	for buf := make([]byte, 1<<16); sent < least || link.Stats().A.MarkedSent == 0; {
		n, err := conn.Write(buf)
		sent += int64(n)
		require.NoError(t, err, "no marks in %d bytes", sent)
	}
	require.NoError(t, conn.Close())
	assert.Equal(t, sent, <-received)
	t.Logf("%.1f Mb/s", float64(sent)*8/time.Since(start).Seconds()/1e6)

	// A device may still hold a segment that TCP has sent twice when the link is empty.
	var ce uint64
	var s Stats
	assert.Eventually(t, func() bool {
		if right.Do(func() (err error) { ce, err = receivedCE(addressA.Addr().Is4()); return err }) != nil {
			return false
		}
		s = link.Stats()
		return s.A.Queued.Packets+s.B.Queued.Packets == 0 && s.A.InFlight+s.B.InFlight == 0 && ce == s.A.MarkedSent
	}, enough, 10*ms, "the link is drained, and the receiver has seen the marks")
	assert.Equal(t, s.A.Queue.Marked.Packets, ce, "CE at the receiver")
	assert.Equal(t, s.A.Queue.Marked.Packets, s.A.MarkedSent)
	assert.NotZero(t, s.A.MarkedSent)
	assert.NotZero(t, s.B.Arrived[ACK])
	assert.NotZero(t, s.A.Arrived[SYN]) // one, where no answer takes a second
	assert.NotZero(t, s.B.Arrived[SYN])
	assert.Zero(t, s.A.Malformed+s.A.WriteErrors+s.B.Malformed+s.B.WriteErrors)
	t.Logf("%d marks, sojourn p50 %v, late p99 %v", s.A.Queue.Marked.Packets,
		time.Duration(s.A.Sojourn.ValueAtPercentile(50)), time.Duration(s.A.Lateness.ValueAtPercentile(99)))

	cancel()
	require.NoError(t, within(t, ran))
	require.NoError(t, link.Close())
	require.NoError(t, left.Do(func() error {
		_, err := net.InterfaceByName(nameA)
		assert.Error(t, err, "the device is gone")
		return nil
	}))
	noLeak(t, before)
	require.NoError(t, left.Close())
	require.NoError(t, right.Close())
	leftovers, _ := filepath.Glob("/run/netns/aqmkit-" + suffix + "*")
	assert.Empty(t, leftovers, "namespaces that are left")
}

// TestManyFlows sends 100 connections of TCP over IPv4 and IPv6 through an asymmetric
// link with loss, at once, and drains it while they send.
func TestManyFlows(t *testing.T) {
	before := runtime.NumGoroutine()
	suffix := strings.ToLower(rand.Text()[:8])
	left, right := namespace(t, "aqmkit-"+suffix+"-a"), namespace(t, "aqmkit-"+suffix+"-b")
	th, err := threshold.New(threshold.Config{Packets: 50})
	require.NoError(t, err)
	link := openOrSkip(t, Config{
		A:    Direction{Rate: 40e6, Delay: 2 * ms, Loss: 0.001, Seed: 1, LimitPackets: 500, AQM: th},
		B:    Direction{Rate: 10e6, Delay: 4 * ms, Loss: 0.001, Seed: 1, LimitPackets: 500, AQM: aqm.TailDrop{}},
		EndA: End{Namespace: "aqmkit-" + suffix + "-a", Address: netip.MustParsePrefix("10.0.0.1/30"), Also: []netip.Prefix{netip.MustParsePrefix("fd00::1/64")}},
		EndB: End{Namespace: "aqmkit-" + suffix + "-b", Address: netip.MustParsePrefix("10.0.0.2/30"), Also: []netip.Prefix{netip.MustParsePrefix("fd00::2/64")}},
		MTU:  DefaultMTU,
	})
	ran := make(chan error, 1)
	go func() { ran <- link.Run(context.Background()) }()

	const flows = 100
	var (
		running  sync.WaitGroup
		mu       sync.Mutex
		open     []net.Conn
		received [flows]atomic.Int64
		waiting  []net.Listener
	)
	keep := func(c net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
	}
	// A SYN that is lost takes a second, and one that is lost again two more.
	ctx, cancel := context.WithTimeout(context.Background(), 2*enough)
	defer cancel()
	for family, address := range []string{"10.0.0.2", "fd00::2"} {
		var listener net.Listener
		require.NoError(t, right.Do(func() (err error) {
			listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
			return err
		}))
		waiting = append(waiting, listener)
		for i := range flows / 2 {
			running.Go(func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				keep(conn)
				for buf := make([]byte, 1<<14); ; {
					n, err := conn.Read(buf)
					received[family*flows/2+i].Add(int64(n))
					if err != nil {
						return
					}
				}
			})
			running.Go(func() {
				var conn net.Conn
				if err := left.Do(func() (err error) {
					conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
					return err
				}); err != nil {
					return // then one is missing below
				}
				keep(conn)
				for buf := make([]byte, 1<<14); ; {
					if _, err := conn.Write(buf); err != nil {
						return
					}
				}
			})
		}
	}
	busy := func() bool {
		s := link.Stats()
		balanced(t, s.A)
		balanced(t, s.B)
		got := 0
		for i := range received {
			if received[i].Load() > 0 {
				got++
			}
		}
		mu.Lock()
		defer mu.Unlock()
		return len(open) == 2*flows && s.A.Delivered > 5000 && got > flows/2 &&
			s.A.Lost[Data]+s.A.Lost[ACK] > 0 && s.B.Lost[Data]+s.B.Lost[ACK] > 0
	}
	assert.Eventually(t, busy, 2*enough, 20*ms, "all connect, most receive something, and both directions lose something")
	draining, end := context.WithTimeout(context.Background(), enough)
	defer end()
	assert.NoError(t, link.Drain(draining))
	assert.NoError(t, within(t, ran))
	cancel()
	for _, l := range waiting {
		l.Close()
	}
	for _, c := range open {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	running.Wait()
	s := link.Stats()
	for _, d := range []DirectionStats{s.A, s.B} {
		balanced(t, d)
		assert.Zero(t, d.Queued.Packets+uint64(d.InFlight)+d.Queue.Flushed.Packets+d.Abandoned, "drained")
	}
	noLeak(t, before)
}

// TestOpenErrors says what could not be opened.
func TestOpenErrors(t *testing.T) {
	c := config(aqm.TailDrop{}, aqm.TailDrop{})
	c.EndA.Namespace = "aqmkit-there-is-none"
	_, err := Open(c)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "end A")
	assert.ErrorContains(t, err, "aqmkit-there-is-none")
}

// TestSystemClock waits no less than it was told, and no more once it is rung or
// closed.
func TestSystemClock(t *testing.T) {
	k := systemClock{time.Now()}
	a, err := k.newAlarm()
	require.NoError(t, err)
	until := k.now().Add(3 * ms)
	a.wait(until)
	assert.GreaterOrEqual(t, k.now(), until)
	a.wait(k.now() - 1)
	a.ring()
	a.ring()
	a.wait(never) // rung before
	woken := make(chan error, 1)
	for _, wake := range []func(){a.ring, a.close} {
		go func() { a.wait(never); woken <- nil }()
		select {
		case <-woken:
			t.Fatal("woken by nothing")
		case <-time.After(20 * ms):
		}
		wake()
		_ = within(t, woken)
	}
	a.wait(never)
	a.ring()
	a.close()
}
