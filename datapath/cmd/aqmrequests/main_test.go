package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

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

// TestLoad sees that every request is accounted for. What the queues are good for
// depends on a machine that has time for it, and is tested on a virtual clock, in package
// requestqueue.
func TestLoad(t *testing.T) {
	var results, messages strings.Builder
	args := "load --seconds=0.5 --loads=2 --deadline=200ms --limit=20 --json"
	require.Zero(t, run(t.Context(), strings.Fields(args), &results, &messages), messages.String())
	var all []result
	require.NoError(t, json.Unmarshal([]byte(results.String()), &all))
	require.Len(t, all, 3)
	for _, r := range all {
		assert.InDelta(t, 800, r.Offered, 150)
		assert.Zero(t, r.Failed)
		assert.Positive(t, r.Refused)
		assert.InDelta(t, r.Offered, r.Goodput+r.Late+r.Refused, 1e-6)
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
