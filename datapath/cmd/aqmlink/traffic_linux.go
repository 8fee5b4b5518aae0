package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/aqmkit/aqmkit/datapath/internal/netns"
)

const (
	requestEvery = 20 * time.Millisecond
	requestSize  = 64 // bytes, as is the response's
	connectLimit = 10 * time.Second
)

// traffic is the demo's load: long flows from one namespace to the other, and beside
// them a flow of small requests, each of which comes back as its response. Requests
// are sent at their time whether or not the ones before were answered, so that a slow
// answer is not followed by a pause in the measurement.
type traffic struct {
	bulk    []*net.TCPConn // sending ends
	request *net.TCPConn   // asking end
	far     []*net.TCPConn // receiving and answering ends

	received atomic.Uint64 // bytes of the long flows
	running  sync.WaitGroup

	mu         sync.Mutex
	since      time.Time // responses to requests from then on count; zero: none
	roundTrips *hdrhistogram.Histogram
}

// congestionControl returns what makes a socket use that congestion control; the
// system's default is another one, and need not know marks.
func congestionControl(name string) func(string, string, syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
		}); e != nil {
			return e
		}
		if err != nil {
			return fmt.Errorf("congestion control %s: %w", name, err)
		}
		return nil
	}
}

// startTraffic connects the flows and lets them run.
func startTraffic(ctx context.Context, near, far *netns.Namespace, address netip.Addr, flows int, cc string) (*traffic, error) {
	t := &traffic{roundTrips: hdrhistogram.New(1, int64(100*time.Second/time.Microsecond), 3)}
	if err := t.connect(ctx, near, far, address, flows+1, cc); err != nil {
		t.stop()
		return nil, err
	}
	t.request, t.bulk = t.bulk[0], t.bulk[1:]
	for i, conn := range t.far {
		if i == 0 {
			t.running.Go(func() { _, _ = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}) })
			continue
		}
		t.running.Go(func() { t.receive(conn) })
	}
	for _, conn := range t.bulk {
		t.running.Go(func() { send(conn) })
	}
	t.running.Go(func() { ask(t.request) })
	t.running.Go(func() { t.measure() })
	return t, nil
}

// connect makes n connections: near ends in bulk, far ends in far.
func (t *traffic) connect(ctx context.Context, near, far *netns.Namespace, address netip.Addr, n int, cc string) (err error) {
	control := congestionControl(cc)
	var listener *net.TCPListener
	err = far.Do(func() error {
		l, err := (&net.ListenConfig{Control: control}).Listen(ctx, "tcp", netip.AddrPortFrom(address, 0).String())
		if err == nil {
			listener = l.(*net.TCPListener)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithTimeoutCause(ctx, connectLimit, fmt.Errorf("no connection within %v", connectLimit))
	defer cancel()
	defer func() {
		if ctx.Err() != nil { // rather than what it brought about
			err = context.Cause(ctx)
		}
	}()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })() // ends Accept
	for range n {
		// One at a time, so that the ends of a connection have the same place.
		if err := near.Do(func() error {
			conn, err := (&net.Dialer{Control: control}).DialContext(ctx, "tcp", listener.Addr().String())
			if err == nil {
				t.bulk = append(t.bulk, conn.(*net.TCPConn))
			}
			return err
		}); err != nil {
			return err
		}
		conn, err := listener.AcceptTCP()
		if err != nil {
			return err
		}
		t.far = append(t.far, conn)
	}
	return nil
}

// send writes until the connection is closed.
func send(conn net.Conn) {
	for buf := make([]byte, 1<<16); ; {
		if _, err := conn.Write(buf); err != nil {
			return
		}
	}
}

func (t *traffic) receive(conn net.Conn) {
	for buf := make([]byte, 1<<16); ; {
		n, err := conn.Read(buf)
		t.received.Add(uint64(n))
		if err != nil {
			return
		}
	}
}

// epoch is what the requests' time stamps count from.
var epoch = time.Now()

// ask sends a request with its time stamp every requestEvery until the connection is
// closed.
func ask(conn net.Conn) {
	tick := time.NewTicker(requestEvery)
	defer tick.Stop()
	for buf := make([]byte, requestSize); ; <-tick.C {
		binary.BigEndian.PutUint64(buf, uint64(time.Since(epoch)))
		if _, err := conn.Write(buf); err != nil {
			return
		}
	}
}

// measure takes the responses.
func (t *traffic) measure() {
	for buf := make([]byte, requestSize); ; {
		if _, err := io.ReadFull(t.request, buf); err != nil {
			return
		}
		now := time.Now()
		sent := epoch.Add(time.Duration(binary.BigEndian.Uint64(buf)))
		t.mu.Lock()
		if !t.since.IsZero() && !sent.Before(t.since) {
			us := now.Sub(sent).Microseconds()
			_ = t.roundTrips.RecordValue(min(us, t.roundTrips.HighestTrackableValue()))
		}
		t.mu.Unlock()
	}
}

// window measures for that long: the goodput in bit/s, and the round-trip times in us
// of the requests that were sent and answered in that time.
func (t *traffic) window(ctx context.Context, length time.Duration) (goodput float64, roundTrips *hdrhistogram.Histogram, err error) {
	t.mu.Lock()
	t.since = time.Now()
	t.mu.Unlock()
	start, before := time.Now(), t.received.Load()
	if err := sleep(ctx, length); err != nil {
		return 0, nil, err
	}
	goodput = float64(t.received.Load()-before) * 8 / time.Since(start).Seconds()
	t.mu.Lock()
	defer t.mu.Unlock()
	return goodput, t.roundTrips.Clone(), nil
}

// retransmissions returns how many segments were sent again, by either side.
func (t *traffic) retransmissions() (n uint64, err error) {
	for _, conns := range [][]*net.TCPConn{t.bulk, {t.request}, t.far} {
		for _, conn := range conns {
			raw, err := conn.SyscallConn()
			if err != nil {
				return 0, err
			}
			var info *unix.TCPInfo
			if e := raw.Control(func(fd uintptr) {
				info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			}); e != nil {
				err = e
			}
			if err != nil {
				return 0, fmt.Errorf("TCP_INFO: %w", err)
			}
			n += uint64(info.Total_retrans)
		}
	}
	return n, nil
}

// stop ends the flows where they are: what has not been sent is not.
func (t *traffic) stop() {
	for _, conns := range [][]*net.TCPConn{t.bulk, {t.request}, t.far} {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.SetLinger(0)
				_ = conn.Close()
			}
		}
	}
	t.running.Wait()
}

// sleep waits for d, or until ctx is cancelled.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
