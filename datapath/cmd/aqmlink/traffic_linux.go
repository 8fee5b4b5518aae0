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
	requestSize  = 64          // bytes, as is the response's
	connectLimit = time.Minute // where nothing is wrong it takes some round trips, unless the machine is busy
)

// traffic is the demo's load: long flows from one namespace to the other, and beside
// them a flow of small requests, each of which comes back as its response. Requests
// are sent at their time whether or not the ones before were answered, so that a slow
// answer is not followed by a pause in the measurement.
type traffic struct {
	bulk    []*net.TCPConn // near ends of the long flows, of either direction
	request []*net.TCPConn // asking end, if it is there
	far     []*net.TCPConn // far ends of all

	received [2]atomic.Uint64 // bytes of the long flows, from near to far and back
	running  sync.WaitGroup

	mu         sync.Mutex
	since      time.Time // responses to requests from then on count; zero: none
	roundTrips *hdrhistogram.Histogram
}

// load says which flows there are.
type load struct {
	flows   int // long ones from near to far
	reverse int // long ones from far to near
	cc      string
	rtt     time.Duration
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

// startTraffic connects the flows, which takes some round-trip times, and lets them run.
func startTraffic(ctx context.Context, near, far *netns.Namespace, address netip.Addr, load load) (_ *traffic, err error) {
	limit := connectLimit + 4*load.rtt
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the flows were not connected within %v", limit))
	defer cancel()
	t := &traffic{roundTrips: hdrhistogram.New(1, int64(100*time.Second/time.Microsecond), 3)}
	defer func() {
		if err != nil {
			t.stop()
			if ctx.Err() != nil { // rather than what it brought about
				err = context.Cause(ctx)
			}
		}
	}()
	request, answer, err := connect(ctx, near, far, address, 1, load.cc)
	t.request, t.far = append(t.request, request...), answer
	if err != nil {
		return nil, err
	}
	bulk, sinks, err := connect(ctx, near, far, address, load.flows+load.reverse, load.cc)
	t.bulk, t.far = bulk, append(t.far, sinks...)
	if err != nil {
		return nil, err
	}
	t.running.Go(func() { _, _ = io.Copy(struct{ io.Writer }{answer[0]}, struct{ io.Reader }{answer[0]}) })
	// Who dialled does not matter to a flow that has connected; the ends of one flow
	// stand at different places in the two lists.
	reverse := map[string]bool{}
	for i, conn := range bulk {
		if reverse[conn.LocalAddr().String()] = i >= load.flows; i < load.flows {
			t.running.Go(func() { send(conn) })
		} else {
			t.running.Go(func() { receive(conn, &t.received[1]) })
		}
	}
	for _, conn := range sinks {
		if reverse[conn.RemoteAddr().String()] {
			t.running.Go(func() { send(conn) })
		} else {
			t.running.Go(func() { receive(conn, &t.received[0]) })
		}
	}
	t.running.Go(func() { ask(request[0]) })
	t.running.Go(func() { t.measure(request[0]) })
	return t, nil
}

// connect makes n connections at once. After an error it returns those it made.
func connect(ctx context.Context, near, far *netns.Namespace, address netip.Addr, n int, cc string) (nears, fars []*net.TCPConn, err error) {
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
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = listener.Close() }) // ends Accept

	var (
		dialling sync.WaitGroup
		mu       sync.Mutex
		failed   error
	)
	fail := func(err error) { // the first; it ends the others
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = err
			cancel()
		}
	}
	for range n {
		dialling.Go(func() {
			if err := near.Do(func() error {
				conn, err := (&net.Dialer{Control: control}).DialContext(ctx, "tcp", listener.Addr().String())
				if err == nil {
					mu.Lock()
					nears = append(nears, conn.(*net.TCPConn))
					mu.Unlock()
				}
				return err
			}); err != nil {
				fail(err)
			}
		})
	}
	for range n {
		conn, err := listener.AcceptTCP()
		if err != nil {
			fail(err)
			break
		}
		fars = append(fars, conn)
	}
	dialling.Wait()
	return nears, fars, failed
}

// send writes until the connection is closed.
func send(conn net.Conn) {
	for buf := make([]byte, 1<<16); ; {
		if _, err := conn.Write(buf); err != nil {
			return
		}
	}
}

func receive(conn net.Conn, received *atomic.Uint64) {
	for buf := make([]byte, 1<<16); ; {
		n, err := conn.Read(buf)
		received.Add(uint64(n))
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
func (t *traffic) measure(conn net.Conn) {
	for buf := make([]byte, requestSize); ; {
		if _, err := io.ReadFull(conn, buf); err != nil {
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

// window measures for that long: the goodput in bit/s from near to far and back, and
// the round-trip times in us of the requests that were sent and answered in that time.
func (t *traffic) window(ctx context.Context, length time.Duration) (goodput [2]float64, roundTrips *hdrhistogram.Histogram, err error) {
	t.mu.Lock()
	t.since = time.Now()
	t.mu.Unlock()
	start, before := time.Now(), [2]uint64{t.received[0].Load(), t.received[1].Load()}
	if err := sleep(ctx, length); err != nil {
		return goodput, nil, err
	}
	for i := range goodput {
		goodput[i] = float64(t.received[i].Load()-before[i]) * 8 / time.Since(start).Seconds()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return goodput, t.roundTrips.Clone(), nil
}

// retransmissions returns how many segments were sent again, by either side.
func (t *traffic) retransmissions() (n uint64, err error) {
	for _, conns := range [][]*net.TCPConn{t.bulk, t.request, t.far} {
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
	for _, conns := range [][]*net.TCPConn{t.bulk, t.request, t.far} {
		for _, conn := range conns {
			_ = conn.SetLinger(0)
			_ = conn.Close()
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
