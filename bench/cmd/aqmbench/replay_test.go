package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/bench/replay"
	"github.com/aqmkit/aqmkit/internal/record"
)

// replayFiles makes a capture of UDP packets at 12 Mb/s, a recording of two queues
// without a rate, and a file that is neither.
func replayFiles(t *testing.T) (capture, recording, neither string) {
	t.Helper()
	dir := t.TempDir()
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	require.NoError(t, w.WriteFileHeader(2000, layers.LinkTypeRaw))
	for n := range 3000 {
		p := make([]byte, 1500)
		copy(p, []byte{0x45, byte(aqm.ECT0), 1500 >> 8, 1500 & 0xff, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
		require.NoError(t, w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, int64(n)*1e6), Length: 1500, CaptureLength: 1500}, p))
	}
	capture = filepath.Join(dir, "a.pcap")
	require.NoError(t, os.WriteFile(capture, b.Bytes(), 0o600))

	b.Reset()
	r, err := record.NewWriter(&b)
	require.NoError(t, err)
	for _, name := range []string{"up", "down"} {
		a, err := r.Queue(record.Header{Name: name, LimitPackets: 50}, aqm.TailDrop{})
		require.NoError(t, err)
		for n := range 100 {
			a.Enqueue(aqm.Time(n)*1e6, aqm.Packet{Size: 1500}, aqm.Occupancy{Packets: n, Full: n >= 50})
		}
	}
	require.NoError(t, r.Close())
	recording = filepath.Join(dir, "a.rec")
	require.NoError(t, os.WriteFile(recording, b.Bytes(), 0o600))
	neither = filepath.Join(dir, "neither")
	require.NoError(t, os.WriteFile(neither, []byte("hello, world"), 0o600))
	return capture, recording, neither
}

func TestReplay(t *testing.T) {
	capture, recording, neither := replayFiles(t)
	file := strings.NewReplacer("CAPTURE", capture, "RECORDING", recording, "NEITHER", neither)
	for _, tc := range []struct {
		args             string
		status           int
		results, message string
	}{
		{"replay -h", 0, "The recorded senders do not answer", ""},
		{"replay", 2, "", `expected "<file>"`},
		{"replay CAPTURE --rate=fast", 2, "", `"fast" is not a rate such as 50M`},
		{"replay CAPTURE --rate=10M --algorithms=blue", 2, "", `--algorithms: unknown algorithm "blue"`},
		{"replay CAPTURE --rate=10M --algorithms=red,red", 2, "", "--algorithms has red twice"},
		{"replay CAPTURE --rate=10M --limit=-1", 2, "", "--limit = -1 packets"},
		{"replay CAPTURE --rate=10M --protect=some", 2, "", `--protect = "some"`},
		{"replay CAPTURE --rate=10M --from=nowhere", 2, "", "nowhere"},
		{"replay CAPTURE --rate=10M --settings=best", 2, "", "design"},
		{"replay CAPTURE", 1, "", "a.pcap does not say at what rate the queue was served: say it with --rate"},
		{"replay CAPTURE --rate=10M --queue=0", 1, "", "--queue is for recordings"},
		{"replay CAPTURE --rate=10M --from=10.9.0.0/16", 1, "", "there are no arrivals to replay"},
		{"replay CAPTURE --rate=10", 1, "", "rate = 10 bit/s, must be in [1k, 1000G]"},
		{"replay NEITHER --rate=10M", 1, "", "is neither a recording nor a pcap or pcapng file"},
		{"replay /no/such/file --rate=10M", 1, "", "no such file"},
		{"replay RECORDING --rate=10M", 1, "", "has several queues: choose one with --queue"},
		{"replay RECORDING --queue=1", 1, "", "a.rec does not say at what rate the queue was served"},
		{"replay RECORDING --queue=7 --rate=10M", 1, "", "--queue = 7, must be in [0, 1]"},
		{"replay RECORDING --queue=1 --rate=10M --from=10.0.0.0/8", 1, "", "--from and --to are for captures"},
		{"replay RECORDING --queue=1 --rate=6M", 0, "recorded", ""},
		{"replay CAPTURE --rate=10M", 0, "codel", ""},
		{"replay CAPTURE --rate=10M --csv --algorithms=red,pie --protect=acksyn", 0, "pie,design,10000000,50,8,1000,1,3000,2.999", ""},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var results, messages strings.Builder
			status := run(strings.Fields(file.Replace(tc.args)), &results, &messages)
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

func TestReplayOut(t *testing.T) {
	capture, _, _ := replayFiles(t)
	out := filepath.Join(filepath.Dir(capture), "a.json")
	var results, messages strings.Builder
	args := []string{"replay", capture, "--rate=10M", "--json", "--seed=3", "--algorithms=red,codel", "--out", out}
	require.Zero(t, run(args, &results, &messages), messages.String())
	assert.Empty(t, results.String())
	first, err := os.ReadFile(out)
	require.NoError(t, err)
	var r replay.Report
	require.NoError(t, json.Unmarshal(first, &r))
	require.Len(t, r.Results, 2)
	assert.EqualValues(t, 3, r.Link.Seed)
	assert.EqualValues(t, 3000, r.Packets)
	for _, x := range r.Results {
		assert.Positive(t, x.Total.Marked)
	}
	require.Zero(t, run(args, &results, &messages), messages.String())
	again, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, first, again)
}
