package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCommandLine(t *testing.T) {
	for _, tc := range []struct {
		args             string
		status           int
		results, message string
	}{
		{"-h", 0, "An HTTP server behind an AQM", ""},
		{"load -h", 0, "--loads=X,...", ""},
		{"load --queues=red", 2, "", `--queues: unknown queue "red"; there are droptail, codel, pie`},
		{"load --loads=0", 2, "", "--loads has 0, must be in (0, 10]"},
		{"load --work=100us --workers=100", 2, "", "800000 requests per second, must be 20000 at most"},
		{"load --workers=0", 2, "", "--workers = 0 requests, must be in [1, 10000]"},
		{"load --work=1us", 2, "", "--work = 1µs, must be in [100us, 1m]"},
		{"load --limit=0", 2, "", "--limit = 0 requests, must be in [1, 100000]"},
		{"load --target=0", 2, "", "--target"},
		{"load --target=20s", 2, "", "--target = 20s, must be in [1ms, 10s]"},
		{"load --seconds=0", 2, "", "--seconds = 0, must be in [0.1, 3600]"},
		{"load --deadline=0s", 2, "", "--deadline = 0s, must be in [1ms, 1m]"},
		{"serve --queue=fifo", 2, "", `--queue: unknown queue "fifo"`},
		{"serve --address=nowhere:x", 1, "", "--address: listen tcp"},
		{"load --seconds=0.3 --loads=0.5 --queues=codel --csv", 0, "codel,0.5,", ""},
		{"load --seconds=0.1 --loads=0.5,1,2 --queues=pie --json", 0, `"load": 2,`, ""},
		{"load --seconds=0.3 --loads=0.5 --queues=pie", 0, "4 workers of 10ms each: 400 requests/s", ""},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var results, messages strings.Builder
			status := run(t.Context(), strings.Fields(tc.args), &results, &messages)
			assert.Equal(t, tc.status, status, messages.String())
			assert.Contains(t, results.String(), tc.results)
			assert.Contains(t, messages.String(), tc.message)
			if tc.status != 0 {
				assert.Empty(t, results.String())
				assert.Equal(t, 1, strings.Count(messages.String(), "\n"), "one line: %q", messages.String())
			}
		})
	}
}

// pipes is a network within the process, which package synctest can see waiting.
type pipes struct{ connections chan net.Conn }

func (p *pipes) Listen() (net.Listener, error) {
	p.connections = make(chan net.Conn)
	return &pipeListener{p.connections, make(chan struct{}), sync.Once{}}, nil
}

func (p *pipes) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.connections <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeListener struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// TestLoad sees that every request is accounted for, and what a queue is good for under
// too much load: without an AQM nearly all answers come too late, with one few.
// The time is virtual.
func TestLoad(t *testing.T) {
	c := loadCommand{Seconds: 4, Deadline: 500 * time.Millisecond, Seed: 1}
	c.serverFlags = serverFlags{Workers: 4, Work: 10 * time.Millisecond, Limit: 1000, Target: 20 * time.Millisecond}
	require.NoError(t, c.validate())
	for _, name := range queues {
		for _, load := range []float64{0.8, 2} {
			t.Run(fmt.Sprint(name, load), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r, err := c.one(t.Context(), &pipes{}, name, load)
					require.NoError(t, err)
					t.Logf("%+v", r)
					assert.InEpsilon(t, 400*load, r.Offered, 0.05)
					assert.Zero(t, r.Failed)
					assert.InDelta(t, r.Offered, r.Goodput+r.Late+r.Refused, 1e-6)
					switch {
					case load < 1:
						assert.Greater(t, r.Goodput, 0.99*r.Offered)
						assert.Less(t, r.P99, 150.0)
					case name == "droptail":
						assert.Less(t, r.Goodput, 200.0)
						assert.Greater(t, r.P99, 1500.0)
					default:
						assert.Greater(t, r.Goodput, 250.0)
						assert.Less(t, r.P99, 1000.0)
						assert.Less(t, r.RefusalP99, 1000.0)
					}
				})
			})
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var results, messages strings.Builder
	assert.Equal(t, 1, run(ctx, []string{"load"}, &results, &messages))
	assert.Empty(t, results.String())
	assert.Contains(t, messages.String(), "aqmrequests: context canceled")
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	log, messages := io.Pipe()
	status := make(chan int)
	go func() {
		status <- run(ctx, strings.Fields("serve --address=127.0.0.1:0 --work=1ms"), io.Discard, messages)
		_ = messages.Close()
	}()
	lines := bufio.NewScanner(log)
	require.True(t, lines.Scan())
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text())
	require.NotEmpty(t, url, lines.Text())
	rest := make(chan string)
	go func() {
		all, _ := io.ReadAll(log)
		rest <- string(all)
	}()
	get := func(path string) (int, string) {
		answer, err := http.Get(url + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	code, body := get("/")
	assert.Equal(t, 200, code)
	assert.Equal(t, "done\n", body)
	_, body = get("/metrics")
	assert.Contains(t, body, `aqm_packets_total{action="pass",class="other",end="dequeue",queue="requests",reason="none"} 1`)
	http.DefaultClient.CloseIdleConnections()
	cancel()
	assert.Zero(t, <-status)
	assert.Contains(t, <-rest, "queue=requests queued_packets=0")
}
