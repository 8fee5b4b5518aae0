package prom

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/observe"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/threshold"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func observer(t *testing.T, name string, a aqm.AQM) *observe.Observer {
	t.Helper()
	c := observe.DefaultConfig(name)
	c.Every = 1 // at every event
	o, err := observe.New(a, c)
	require.NoError(t, err)
	return o
}

func marking(t *testing.T) aqm.AQM {
	t.Helper()
	a, err := threshold.New(threshold.Config{Packets: 1})
	require.NoError(t, err)
	return a
}

// drive puts packets through o: a passing one of class Data, a mark on a SYN, and a
// drop of an ACK, and sojourn times of 0.2, 3 and 40 ms.
func drive(o *observe.Observer) {
	data := aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}
	o.Enqueue(0, data, aqm.Occupancy{})
	o.Enqueue(0, aqm.Packet{Size: 60, ECN: aqm.ECT0, Class: aqm.SYN}, aqm.Occupancy{Packets: 2, Bytes: 3000})
	o.Enqueue(0, aqm.Packet{Size: 40, Class: aqm.PureACK}, aqm.Occupancy{Packets: 3, Bytes: 4500, Full: true})
	for n, at := range []aqm.Time{200_000, 3_000_000, 40_000_000} {
		o.Dequeue(at, data, aqm.Occupancy{Packets: 2 - n})
	}
}

func TestMetrics(t *testing.T) {
	o := observer(t, "up", marking(t))
	drive(o)
	c := NewCollector(o)
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP aqm_marked_total Packets turned from ECT to CE.
# TYPE aqm_marked_total counter
aqm_marked_total{queue="up"} 1
# HELP aqm_queue_packets Packets in the queue.
# TYPE aqm_queue_packets gauge
aqm_queue_packets{queue="up"} 0
# HELP aqm_arrivals_total Packets offered to the queue, by their ECN codepoint.
# TYPE aqm_arrivals_total counter
aqm_arrivals_total{ecn="ce",queue="up"} 0
aqm_arrivals_total{ecn="ect0",queue="up"} 2
aqm_arrivals_total{ecn="ect1",queue="up"} 0
aqm_arrivals_total{ecn="not-ect",queue="up"} 1
# HELP aqm_state What the algorithm and its decorators say of themselves; times in seconds.
# TYPE aqm_state gauge
aqm_state{field="Signals",layer="Threshold",queue="up"} 1
# HELP aqm_stale 1 if the queue holds packets and had no event during the scrape, so that the other metrics are those of an earlier one.
# TYPE aqm_stale gauge
aqm_stale{queue="up"} 0
`), "aqm_marked_total", "aqm_queue_packets", "aqm_arrivals_total", "aqm_state", "aqm_stale"))

	text := scrape(t, c)
	for _, want := range []string{
		`aqm_packets_total{action="pass",class="data",end="enqueue",queue="up",reason="none"} 1`,
		`aqm_bytes_total{action="mark",class="syn",end="enqueue",queue="up",reason="early"} 60`,
		`aqm_packets_total{action="drop",class="ack",end="enqueue",queue="up",reason="overflow"} 1`,
		`aqm_packets_total{action="pass",class="data",end="dequeue",queue="up",reason="none"} 3`,
		`aqm_packets_total{action="drop",class="data",end="dequeue",queue="up",reason="early"} 0`,
		`aqm_sojourn_seconds_bucket{queue="up",le="0.0001"} 0`,
		`aqm_sojourn_seconds_bucket{queue="up",le="0.00025"} 1`,
		`aqm_sojourn_seconds_bucket{queue="up",le="0.0025"} 1`,
		`aqm_sojourn_seconds_bucket{queue="up",le="0.005"} 2`,
		`aqm_sojourn_seconds_bucket{queue="up",le="0.05"} 3`,
		`aqm_sojourn_seconds_bucket{queue="up",le="+Inf"} 3`,
		`aqm_sojourn_seconds_count{queue="up"} 3`,
		`aqm_sojourn_seconds_sum{queue="up"} 0.0432`,
	} {
		assert.Contains(t, text, want+"\n")
	}
	assert.NotContains(t, text, "aqm_probability", "it has none")
}

func scrape(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(w.Result().Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, w.Code, string(body))
	return string(body)
}

// TestStale has a queue with packets and no event.
func TestStale(t *testing.T) {
	p, err := pie.New(pie.DefaultConfig())
	require.NoError(t, err)
	o := observer(t, "stuck", p)
	o.Enqueue(0, aqm.Packet{Size: 100}, aqm.Occupancy{})
	start := time.Now()
	text := scrape(t, NewCollector(o, observer(t, "idle", marking(t))))
	assert.GreaterOrEqual(t, time.Since(start), Patience)
	assert.Contains(t, text, `aqm_stale{queue="stuck"} 1`)
	assert.Contains(t, text, `aqm_stale{queue="idle"} 0`)
	o.Idle(1, aqm.Occupancy{Packets: 1, Bytes: 100})
	text = scrape(t, NewCollector(o))
	assert.Contains(t, text, `aqm_stale{queue="stuck"} 0`)
	assert.Contains(t, text, `aqm_queue_bytes{queue="stuck"} 100`)
	assert.Contains(t, text, `aqm_probability{queue="stuck"} 0`)
}

// TestScrapes has scrapes beside traffic, for the race detector.
func TestScrapes(t *testing.T) {
	o := observer(t, "up", marking(t))
	c := NewCollector(o)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_, err := registry.Gather()
				assert.NoError(t, err)
			}
		})
	}
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
		drive(o)
	}
	close(done)
	readers.Wait()
}

// TestCumulative compares with plain counting.
func TestCumulative(t *testing.T) {
	o := observer(t, "up", aqm.TailDrop{})
	var waits []float64
	for n := range 2000 {
		wait := math.Pow(10, float64(n)/250) * 2000 // 2 us to 0.2 s, ns
		waits = append(waits, wait/1e9)
		o.Dequeue(aqm.Time(wait), aqm.Packet{Size: 1}, aqm.Occupancy{Packets: 1})
	}
	o.Idle(0, aqm.Occupancy{})
	s, err := o.Snapshot(t.Context())
	require.NoError(t, err)
	counts := cumulative(s.Sojourn)
	slices.Sort(waits)
	for _, bound := range Buckets {
		low, _ := slices.BinarySearch(waits, bound*.99)
		high, _ := slices.BinarySearch(waits, bound*1.01)
		assert.GreaterOrEqual(t, counts[bound], uint64(low), bound)
		assert.LessOrEqual(t, counts[bound], uint64(high), bound)
	}
}

// TestDocumented holds the page of metrics and the dashboard to what is exported.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/observing.md")
	require.NoError(t, err)
	dashboard, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	require.True(t, json.Valid(dashboard))
	names := map[string]bool{}
	ch := make(chan *prometheus.Desc, 100)
	NewCollector().Describe(ch)
	close(ch)
	for d := range ch {
		names[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	assert.Len(t, names, 10)
	for name := range names {
		assert.Contains(t, string(page), "`"+name+"`")
	}
	for _, text := range []string{string(page), string(dashboard)} {
		for _, name := range regexp.MustCompile(`\baqm_[a-z_]+`).FindAllString(text, -1) {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, suffix)
			}
			assert.Contains(t, names, name, "there is no such metric")
		}
	}
}
