package red

import (
	"bufio"
	"compress/gzip"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// traceEvent is an arrival or a departure, with the queue in bytes before or after
// it, and what the kernel made of an arrival.
type traceEvent struct {
	arrival bool
	at      aqm.Time
	packet  aqm.Packet
	backlog int64
	idle    bool // the kernel had seen the link find nothing to send
	avg, pb float64
}

func readTrace(t *testing.T, name string) (events []traceEvent) {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	z, err := gzip.NewReader(file)
	require.NoError(t, err)
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		return x
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		f := strings.Split(lines.Text(), ",")
		require.Len(t, f, 8)
		e := traceEvent{arrival: f[0] == "E", at: aqm.Time(number(f[1])), backlog: int64(number(f[4]))}
		if e.arrival {
			e.packet = aqm.Packet{Size: uint32(number(f[2])), ECN: aqm.ECN(number(f[3])), Class: aqm.Data}
			e.idle = f[5] == "1"
			e.avg, e.pb = number(f[6]), number(f[7])
		}
		events = append(events, e)
	}
	require.NoError(t, lines.Err())
	return events
}

// TestLinuxTrace replays arrivals and departures at a queue under the Linux kernel's
// RED, and compares the average and p_b after every arrival, each from the kernel's
// average before it. They differ because the kernel
//
//   - averages in whole numbers of 1/512 byte, and cuts what it subtracts off to whole
//     bytes: up to 1/512 byte a step;
//   - takes p_b from an average in whole bytes, and a slope cut off to a whole number
//     of 2^-32 per byte, here 7158 for 7158.28;
//   - calls the queue idle when the link finds nothing to send, a packet's transmission
//     after it became empty. An arrival in between is averaged as one that finds 0
//     bytes; here it decays for the packets that the idle time was worth, 0 to 2;
//   - has no power for the decay. Under 32.8 ms it takes idle/32.8 ms off, up to a
//     half, some 12 times the decay of the source; beyond that it shifts by a number
//     from a table that its user computed. Idle times are therefore only held to
//     decay in both, and by no more than a half apart.
func TestLinuxTrace(t *testing.T) {
	r := newRED(t, Config{
		Unit: aqm.Bytes, MinTh: 30_000, MaxTh: 90_000, MaxP: 0.1, Weight: 1.0 / 512,
		MeanPacket: 1000, Rate: 10_000_000,
	})
	events := readTrace(t, "testdata/red-101.csv.gz")
	require.Greater(t, len(events), 20_000)
	kernel, drained := 0.0, true
	var standing, empty, idle, between, above int
	var off, offProb, offEmpty, offIdle float64 // the most
	for _, e := range events {
		q := aqm.Occupancy{Packets: int((e.backlog + 999) / 1000), Bytes: e.backlog}
		if !e.arrival {
			if !drained { // else the link finds nothing to send, which is no departure
				r.Dequeue(e.at, aqm.Packet{}, q)
			}
			drained = e.backlog == 0
			continue
		}
		drained = false
		before := kernel
		r.avg, kernel = before, e.avg
		r.Enqueue(e.at, e.packet, q)
		d := math.Abs(r.State().Avg - e.avg)
		switch {
		case e.backlog > 0:
			standing++
			off = max(off, d)
		case !e.idle:
			empty++
			offEmpty = max(offEmpty, d-before/512) // one step
		default:
			idle++
			require.LessOrEqual(t, r.State().Avg, before)
			require.LessOrEqual(t, e.avg, before)
			offIdle = max(offIdle, d/max(before, 1))
		}
		offProb = max(offProb, math.Abs(r.prob(e.avg)-e.pb))
		if e.pb > 0 && e.pb < 1 {
			between++
		}
		if e.pb == 1 {
			above++
			require.GreaterOrEqual(t, e.avg, 90_000.0)
		}
	}
	t.Logf("%d arrivals at a standing queue: %.5f bytes apart at most; %d at an empty one: a step and %.5f bytes; %d at an idle one: %.2f of the average",
		standing, off, empty, offEmpty, idle, offIdle)
	t.Logf("p_b: %.2g apart at most, %d times between the thresholds, %d times above", offProb, between, above)
	assert.Greater(t, standing, 10_000)
	assert.Greater(t, between, 1000)
	assert.Greater(t, above, 1000)
	assert.Less(t, off, 0.002)
	assert.Less(t, offEmpty, 0.004)
	assert.LessOrEqual(t, offIdle, 0.5)
	assert.Less(t, offProb, 0.1/60_000+0.1*0.28/7158+1e-9)
}
