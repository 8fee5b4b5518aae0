package main

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aqmkit/aqmkit/datapath/internal/netns"
)

const (
	dialLimit  = 16 * time.Second
	synTimeout = time.Second // the kernel's first; TCP_TIMEOUT_INIT [RFC 6298 2.1]
)

// startDialling connects from each end to the other every so often, whether or not the
// ones before are set up, and closes at once. Those count that begin after the warm-up.
// What is returned ends it, waits for what is under way, and returns what it took.
func startDialling(ctx context.Context, ends [2]*netns.Namespace, every, warmup time.Duration) func() (*dialling, error) {
	ctx, cancel := context.WithCancel(ctx)
	d := &dialling{took: hdrhistogram.New(1, int64(dialLimit/time.Microsecond), 3)}
	var (
		mu      sync.Mutex
		failed  error
		running sync.WaitGroup
		open    []net.Listener
	)
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = err
		}
	}
	since := time.Now().Add(warmup)
	for i, address := range []netip.Addr{farAddress.Addr(), nearAddress.Addr()} {
		var listener net.Listener
		if err := ends[1-i].Do(func() (err error) {
			listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", netip.AddrPortFrom(address, 0).String())
			return err
		}); err != nil {
			fail(err)
			break
		}
		open = append(open, listener)
		running.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_ = conn.Close()
			}
		})
		running.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			var dialling sync.WaitGroup
			defer dialling.Wait()
			for ctx.Err() == nil {
				dialling.Go(func() {
					_ = ends[i].Do(func() error {
						start := time.Now()
						conn, err := (&net.Dialer{Timeout: dialLimit}).DialContext(ctx, "tcp", listener.Addr().String())
						took := time.Since(start)
						mu.Lock()
						defer mu.Unlock()
						switch {
						case start.Before(since):
						case ctx.Err() != nil && took < synTimeout: // nobody knows how long it would have taken
						case err != nil && ctx.Err() == nil:
							d.failed++
						default: // at least as long, where the end cut it short
							_ = d.took.RecordValue(min(took.Microseconds(), d.took.HighestTrackableValue()))
							if took >= synTimeout {
								d.slow++
							}
						}
						if err == nil {
							_ = conn.(*net.TCPConn).SetLinger(0)
							_ = conn.Close()
						}
						return nil
					})
				})
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	return func() (*dialling, error) {
		cancel()
		for _, l := range open {
			_ = l.Close()
		}
		running.Wait()
		return d, failed
	}
}
