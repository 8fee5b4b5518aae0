package codel

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// traceEvent is an arrival, or a departure offered to the link, in a trace.
type traceEvent struct {
	at   aqm.Time
	size uint32 // of an arrival; 0 for a departure
	ecn  aqm.ECN
	refused,
	marked bool
	dropped int // by a departure
}

func readTrace(t *testing.T, name string) (events []traceEvent) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	defer file.Close()
	z, err := gzip.NewReader(file)
	require.NoError(t, err)
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		require.NoError(t, err)
		return n
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		f := strings.Split(lines.Text(), ",")
		e := traceEvent{at: aqm.Time(number(f[1]))}
		switch f[0] {
		case "E": // E,t_ns,size,ecn,verdict
			require.Len(t, f, 5)
			e.size, e.ecn, e.refused = uint32(number(f[2])), aqm.ECN(number(f[3])), f[4] != "accept"
		case "D": // D,t_ns,delivered_id,verdict,dropped_ids,count_after
			require.Len(t, f, 6)
			e.marked, e.dropped = f[3] == "mark", len(strings.Fields(f[4]))
		default:
			require.Fail(t, "unknown event", lines.Text())
		}
		events = append(events, e)
	}
	require.NoError(t, lines.Err())
	return events
}

// TestLinuxTrace replays the arrivals and the link's departures of two runs of the
// Linux kernel's CoDel, with its configuration and limit, and comes within 2 % of
// the kernel's totals. They cannot be equal, because the kernel
//
//   - counts time in ticks of 1024 ns, and truncates Target and Interval to them;
//   - takes 1/sqrt(count) in 16 bits from one Newton step per increment, so that the
//     second interval after entering is 50 ms instead of 70.7 ms;
//   - enters strictly after first_above, and not at it.
//
// The first drop that comes a packet earlier or later changes the queue, and with it
// every instant after: single verdicts are not compared.
func TestLinuxTrace(t *testing.T) {
	for _, tc := range []struct {
		file         string
		ecn          bool
		drops, marks int
	}{
		{"codel-drop-101.csv.gz", false, 1250, 0},
		{"codel-ecn-101.csv.gz", true, 736, 2258},
	} {
		t.Run(tc.file, func(t *testing.T) {
			d := newCoDel(t, Config{Target: 5 * ms, Interval: 100 * ms, MTU: 1514})
			f, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 1000}, d)
			require.NoError(t, err)
			events := readTrace(t, tc.file)
			require.Greater(t, len(events), 20_000)
			var drops, marks, refused int
			for i, e := range events {
				drops += e.dropped
				if e.marked {
					marks++
				}
				if e.refused {
					refused++
				}
				if e.size == 0 {
					f.Dequeue(e.at)
					continue
				}
				p := aqm.Packet{Size: e.size, ECN: e.ecn, Class: aqm.Data}
				if !tc.ecn {
					p.ECN = aqm.NotECT
				}
				f.Enqueue(e.at, i, p)
			}
			require.Equal(t, []int{tc.drops, tc.marks}, []int{drops, marks}, "the kernel's verdicts in the trace add up")
			s := f.Stats()
			ours := [2]uint64{s.AtDequeue[aqm.Drop][aqm.Early], s.AtDequeue[aqm.Mark][aqm.Early]}
			t.Logf("drops: Linux %d, here %d; marks: Linux %d, here %d; refused: Linux %d, here %d",
				drops, ours[0], marks, ours[1], refused, s.Refused.Packets)
			assert.InEpsilon(t, drops, ours[0], 0.02)
			if marks > 0 {
				assert.InEpsilon(t, marks, ours[1], 0.02)
			} else {
				assert.Zero(t, ours[1])
			}
			assert.Equal(t, s.Dropped.Packets, ours[0], "nothing else drops at Dequeue")
		})
	}
}
