package requestqueue

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// work takes a while for each request.
func work(d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { time.Sleep(d) })
}

func newQueue(t testing.TB, next http.Handler, c Config) *Queue {
	t.Helper()
	if c.RetryAfter == 0 {
		c.RetryAfter = 1500 * time.Millisecond
	}
	q, err := New(next, c)
	require.NoError(t, err)
	return q
}

// outcome is what one request came to.
type outcome struct {
	status  int
	took    time.Duration
	headers http.Header
}

// offer sends n requests, one every gap, and returns what they came to, in order.
func offer(h http.Handler, n int, gap time.Duration) []outcome {
	all := make([]outcome, n)
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			start, w := time.Now(), httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			all[i] = outcome{w.Code, time.Since(start), w.Header()}
		})
		time.Sleep(gap)
	}
	wait.Wait()
	return all
}

// served returns how long the requests took that got an answer of 200, sorted.
func served(all []outcome) (took []time.Duration) {
	for _, o := range all {
		if o.status == http.StatusOK {
			took = append(took, o.took)
		}
	}
	slices.Sort(took)
	return took
}

// TestOverload offers one and a half times what a server can do, on a virtual clock.
// Without an AQM the queue is full and everybody waits for all of it; with one the
// work done is the same, and the wait is short.
func TestOverload(t *testing.T) {
	c, err := codel.New(CoDel(20 * time.Millisecond))
	require.NoError(t, err)
	p, err := pie.New(PIE(20 * time.Millisecond))
	require.NoError(t, err)
	r, err := red.New(red.Config{MinTh: 5, MaxTh: 15, MaxP: .1, Weight: .02, Gentle: true, Unit: aqm.Packets, MeanPacket: 1, Rate: 8 * 400})
	require.NoError(t, err)
	for _, tc := range []struct {
		name     string
		aqm      aqm.AQM
		min, max time.Duration // the bounds of the last quarter's 90th percentile
	}{
		{"taildrop", aqm.TailDrop{}, 2400 * time.Millisecond, 2600 * time.Millisecond},
		{"codel", c, 10 * time.Millisecond, 100 * time.Millisecond},
		{"pie", p, 10 * time.Millisecond, 80 * time.Millisecond},
		{"red", r, 10 * time.Millisecond, 80 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(t, work(10*time.Millisecond), Config{AQM: tc.aqm, Workers: 4, Limit: 1000})
				const requests, gap = 6_000, time.Second / 600
				all := offer(q, requests, gap)
				s := q.Stats()
				assert.EqualValues(t, requests, s.Requests.Arrived.Packets)
				assert.Zero(t, s.Waiting+s.Serving)
				took := served(all)
				assert.EqualValues(t, len(took), s.Requests.Delivered.Packets)
				assert.GreaterOrEqual(t, len(took), 10*400*97/100, "of the capacity in 10 s")
				for _, o := range all {
					if o.status != http.StatusOK {
						require.Equal(t, http.StatusServiceUnavailable, o.status)
						require.Equal(t, "2", o.headers.Get("Retry-After"), "1.5 s, rounded up")
					}
				}
				late := served(all[requests*3/4:])
				p90 := late[len(late)*9/10]
				assert.GreaterOrEqual(t, p90, tc.min)
				assert.LessOrEqual(t, p90, tc.max)
			})
		})
	}
}

// TestUnderload sees that a server that keeps up refuses nobody.
func TestUnderload(t *testing.T) {
	for _, name := range []string{"codel", "pie"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a aqm.AQM
				var err error
				if name == "codel" {
					a, err = codel.New(CoDel(20 * time.Millisecond))
				} else {
					a, err = pie.New(PIE(20 * time.Millisecond))
				}
				require.NoError(t, err)
				q := newQueue(t, work(10*time.Millisecond), Config{AQM: a, Workers: 4, Limit: 1000})
				assert.Len(t, served(offer(q, 3000, time.Second/360)), 3000)
				// A burst that is gone after 40 ms is no overload.
				assert.Len(t, served(offer(q, 16, 0)), 16)
			})
		})
	}
}

func TestWorkersAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		serving, most := 0, 0
		var order []string
		q := newQueue(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			serving++
			most = max(most, serving)
			order = append(order, r.URL.Path)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			serving--
			mu.Unlock()
		}), Config{AQM: aqm.TailDrop{}, Workers: 2, Limit: 10})
		var wait sync.WaitGroup
		refused := 0
		for n := range 14 {
			wait.Go(func() {
				w := httptest.NewRecorder()
				q.ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/%02d", n), nil))
				if w.Code != http.StatusOK {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
			time.Sleep(time.Millisecond)
		}
		wait.Wait()
		assert.Equal(t, 2, most)
		assert.True(t, slices.IsSorted(order), "%v", order)
		assert.Len(t, order, 12)
		assert.Equal(t, 2, refused)
	})
}

// TestClientLeaves has clients that go away while they wait: nobody works for them.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		worked := 0
		q := newQueue(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			worked++ // one worker
			time.Sleep(time.Second)
		}), Config{AQM: aqm.TailDrop{}, Workers: 1, Limit: 10})
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for n := range 5 {
			wait.Go(func() {
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				if n == 1 || n == 3 {
					r = r.WithContext(ctx)
				}
				q.ServeHTTP(httptest.NewRecorder(), r)
			})
			time.Sleep(time.Millisecond)
		}
		cancel()
		wait.Wait()
		assert.Equal(t, 3, worked)
		s := q.Stats()
		assert.EqualValues(t, 2, s.Gone)
		assert.Zero(t, s.Waiting+s.Serving)
	})
}

func TestPanicGivesWorkerBack(t *testing.T) {
	q := newQueue(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		Config{AQM: aqm.TailDrop{}, Workers: 1, Limit: 1})
	for range 3 {
		assert.Panics(t, func() { q.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)) })
	}
	assert.Zero(t, q.Stats().Serving)
}

// TestProtected has health checks that a policy keeps from early drops. They are shown
// to the algorithm as ECN-capable and their signals are consumed.
func TestProtected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := codel.New(CoDel(20 * time.Millisecond))
		require.NoError(t, err)
		policy, err := ecnpolicy.New(c, ecnpolicy.Config{Protect: ecnpolicy.ACKSYN})
		require.NoError(t, err)
		q := newQueue(t, work(10*time.Millisecond), Config{AQM: policy, Workers: 4, Limit: 1000, Classify: func(r *http.Request) aqm.Packet {
			p := aqm.Packet{Size: 1, Class: aqm.Other, ECN: aqm.ECT0}
			if r.URL.Path == "/health" {
				p.Class = aqm.SYN
			}
			return p
		}})
		refused := map[string]int{}
		var mu sync.Mutex
		var wait sync.WaitGroup
		for n := range 6000 {
			wait.Go(func() {
				path := "/"
				if n%10 == 0 {
					path = "/health"
				}
				w := httptest.NewRecorder()
				q.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				if w.Code != http.StatusOK {
					mu.Lock()
					refused[path]++
					mu.Unlock()
				}
			})
			time.Sleep(time.Second / 600)
		}
		wait.Wait()
		assert.Zero(t, refused["/health"])
		assert.Positive(t, refused["/"])
	})
}

func TestRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, work(time.Second), Config{AQM: aqm.TailDrop{}, Workers: 1, Limit: 1, Refuse: func(w http.ResponseWriter, _ *http.Request, v aqm.Verdict) {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, v)
		}})
		all := offer(q, 3, time.Millisecond)
		assert.Equal(t, http.StatusTooManyRequests, all[2].status)
		assert.Equal(t, "2", all[2].headers.Get("Retry-After"))
	})
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	c, err := codel.New(CoDel(time.Millisecond))
	require.NoError(t, err)
	q := newQueue(t, work(100*time.Microsecond), Config{AQM: c, Workers: 2, Limit: 20})
	server := httptest.NewServer(q)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	var wait sync.WaitGroup
	for n := range 16 {
		wait.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(n+i)%7)*time.Millisecond)
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
				assert.NoError(t, err)
				if answer, err := client.Do(r); err == nil {
					assert.Contains(t, []int{200, 503}, answer.StatusCode)
					_ = answer.Body.Close()
				}
				cancel()
				assert.NoError(t, q.Reconfigure(func() error { return c.Reconfigure(CoDel(time.Duration(1+i%3) * time.Millisecond)) }))
			}
		})
	}
	wait.Wait()
	require.Eventually(t, func() bool { s := q.Stats(); return s.Waiting+s.Serving == 0 }, time.Minute, time.Millisecond)
}

func TestConfig(t *testing.T) {
	_, err := New(nil, Config{Workers: 0, Limit: -1, RetryAfter: time.Millisecond})
	require.ErrorIs(t, err, aqm.ErrConfig)
	for _, want := range []string{
		"AQM = <nil>, must be an algorithm", "Workers = 0 requests, must be in [1, 1000000]",
		"Limit = -1 requests, must be in [1, 16777216]", "RetryAfter = 1ms, must be in [1s, 1h]",
	} {
		assert.ErrorContains(t, err, want)
	}
	require.NoError(t, CoDel(20*time.Millisecond).Validate())
	require.NoError(t, PIE(20*time.Millisecond).Validate())
	assert.Equal(t, pie.Config{
		Target: 15 * time.Millisecond, Update: 15 * time.Millisecond, MaxBurst: 150 * time.Millisecond, Alpha: .125, Beta: 1.25, MaxECN: .1, MeanPacket: 1,
	}, PIE(15*time.Millisecond), "RFC 8033 at its own target")
	var nothing *codel.CoDel
	_, err = New(nil, Config{AQM: nothing, Workers: 1, Limit: 1, RetryAfter: time.Second})
	assert.ErrorIs(t, err, aqm.ErrConfig)
}
