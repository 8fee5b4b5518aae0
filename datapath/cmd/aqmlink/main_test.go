package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/tunlink"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/record"
	"github.com/aqmkit/aqmkit/internal/serve"
)

// command runs a command line.
func command(args ...string) (status int, results, messages string) {
	var out, err bytes.Buffer
	status = run(args, &out, &err)
	return status, out.String(), err.String()
}

// TestWrongFlags answers each mistake with one line that names it.
func TestWrongFlags(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []string
	}{
		{"", []string{"expected one of"}},
		{"fly", []string{"fly"}},
		{"demo --fast", []string{"unknown flag --fast"}},
		{"demo --rate", []string{"--rate: missing value, such as --rate=50M;"}},
		{"demo --rtt --quick", []string{"--rtt: missing value, such as --rtt=20ms;"}},
		{"demo --algorithms", []string{"--algorithms: missing value, such as --algorithms=NAME,...;"}},
		{"demo --record", []string{"--record: missing value, such as --record=FILE;"}},
		{"demo --flows -1", []string{`perhaps try --flows="-1"`}},
		{"demo --rate 0", []string{"--rate = 0 bit/s, must be in [100 kb/s, 10 Gb/s]"}},
		{"demo --rate=-5", []string{"--rate = -5 bit/s, must be in [100 kb/s, 10 Gb/s]"}},
		{"demo --rate 1e99", []string{"--rate = 1e+90 Gb/s, must be in [100 kb/s, 10 Gb/s]"}},
		{"demo --rate 1e999", []string{"--rate = +Inf Gb/s, must be in [100 kb/s, 10 Gb/s]"}},
		{"demo --rate=", []string{`"" is not a rate such as 50M`}},
		{"demo --rate fast", []string{`"fast" is not a rate`}},
		{"demo --rate NaN", []string{"not a rate"}},
		{"demo --rate 1k", []string{"--rate = 1 kb/s, must be in [100 kb/s, 10 Gb/s]"}},
		{"demo --rtt 1m --buffer 0 --flows=-1", []string{"--rtt = 1m0s, must be in (0s, 10s]", "--buffer = 0 packets, must be in [1, 1000000]", "--flows = -1 flows, must be in [1, 1000]"}},
		{"demo --rtt soon", []string{"--rtt"}},
		{"demo --seconds 0", []string{"--seconds = 0 s, must be in [0.1, 3600]"}},
		{"demo --warmup NaN", []string{"--warmup = NaN s"}},
		{"demo --algorithms codel,magic", []string{`unknown algorithm "magic"; there are droptail, `}},
		{"demo --rtt=5s --seconds 5", []string{"--seconds = 5 s, must be > --rtt = 5s"}},
		{"demo --algorithms=", []string{"--algorithms must not be empty"}},
		{"demo --cc=", []string{"--cc must not be empty"}},
		{"demo --ecn=", []string{"--ecn must not be empty"}},
		{"demo --algorithms=red,codel,red", []string{"--algorithms has red twice"}},
		{"demo --ecn=on,on --cc=reno,reno", []string{"--cc has reno twice; --ecn has on twice"}},
		{"demo --ecn yes", []string{`--ecn = "yes", must be off or on`}},
		{"demo --rtt 1us --algorithms codel", []string{"codel cannot be designed for 50 Mb/s and 1µs: Target = 240µs, must be <= Interval = rtt = 5µs;"}},
		{"replay", []string{`expected "<file>"`}},
		{"replay x --algorithm magic", []string{`unknown algorithm "magic"`}},
		{"replay x --queue one", []string{"--queue"}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			status, results, messages := command(strings.Fields(tc.args)...)
			assert.Equal(t, 2, status)
			assert.Empty(t, results)
			assert.Equal(t, 1, strings.Count(messages, "\n"), "one line: %q", messages)
			assert.True(t, strings.HasPrefix(messages, "aqmlink: "), messages)
			for _, part := range tc.want {
				assert.Contains(t, messages, part)
			}
		})
	}
}

// TestNoRTT refuses a link without delay before it asks any algorithm about it.
func TestNoRTT(t *testing.T) {
	status, _, messages := command("demo", "--rtt=0")
	assert.Equal(t, 2, status)
	assert.Equal(t, "aqmlink: --rtt = 0s, must be in (0s, 10s]; see aqmlink -h\n", messages)
}

// TestNoDesign says in a short line of each algorithm that it is none for the link.
func TestNoDesign(t *testing.T) {
	for _, link := range []string{"--rtt=1us", "--rtt=1ns", "--rtt=1ms --rate=100k"} {
		status, _, messages := command(strings.Fields("demo " + link)...)
		assert.Equal(t, 2, status)
		seen := map[string]bool{}
		for line := range strings.Lines(messages) {
			line, found := strings.CutPrefix(line, "aqmlink: ")
			assert.True(t, found, line)
			name, reason, found := strings.Cut(line, " cannot be designed for ")
			assert.True(t, found, line)
			assert.Contains(t, reason, ", must be ")
			assert.False(t, seen[name], "%s has two lines", name)
			seen[name] = true
			assert.LessOrEqual(t, len(line), 140, line)
		}
		assert.True(t, seen["codel"], messages)
	}
}

// TestLongRTT measures for long enough to see an answer.
func TestLongRTT(t *testing.T) {
	c := demoCommand{Rate: 50e6, RTT: 10 * time.Second, Buffer: 500, Flows: 8, Quick: true, Algorithms: []string{"droptail"}}
	require.NoError(t, c.AfterApply())
	assert.Equal(t, []float64{20, 20}, []float64{*c.Seconds, *c.Warmup})
}

// TestRecordNowhere names the file that was asked for, and not one beside it.
func TestRecordNowhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "x")
	file, err := createRecording(path)
	assert.Nil(t, file)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.True(t, strings.HasPrefix(err.Error(), "--record = "+path+": "), err)
	assert.NotContains(t, err.Error(), ".tmp")
}

func TestCounted(t *testing.T) {
	assert.Equal(t, []string{"0 runs", "1 run", "2 runs"}, []string{counted(0, "run"), counted(1, "run"), counted(2, "run")})
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"demo", "-h"}, {"replay", "--help"}} {
		status, results, messages := command(args...)
		assert.Zero(t, status)
		assert.Contains(t, results, "Usage: aqmlink")
		assert.Empty(t, messages)
	}
	_, results, _ := command("demo", "-h")
	for _, name := range catalog.Names() {
		assert.Contains(t, results, name)
	}
}

// TestQuick fills in what was not said, and nothing else.
func TestQuick(t *testing.T) {
	c := demoCommand{Rate: 50e6, RTT: 20 * time.Millisecond, Buffer: 500, Flows: 8}
	require.NoError(t, c.AfterApply())
	assert.Len(t, c.cells(), len(catalog.Names())*2*2)
	assert.Equal(t, []float64{10, 3}, []float64{*c.Seconds, *c.Warmup})

	five := 5.0
	c = demoCommand{Rate: 50e6, RTT: 20 * time.Millisecond, Buffer: 500, Flows: 8, Quick: true, Seconds: &five, CC: []string{"reno"}}
	require.NoError(t, c.AfterApply())
	assert.Len(t, c.cells(), len(catalog.Names()))
	assert.Equal(t, cell{"droptail", "reno", true}, c.cells()[0])
	assert.Equal(t, []float64{5, 1}, []float64{*c.Seconds, *c.Warmup})
}

func cells() []result {
	base := result{cell: cell{"droptail", "cubic", true}, Goodput: 48e6, RTTMedian: 120, Retransmissions: 40}
	base.Drops[tunlink.Data].Overflow = 40
	good := result{cell: cell{"codel", "cubic", true}, Goodput: 47e6, RTTMedian: 30, Marks: 100, MarkedDropped: 3, CE: 97, Retransmissions: 3}
	good.Drops[tunlink.Data].Early = 3
	good.Drops[tunlink.ACK].Early = 50
	bad := result{cell: cell{"red", "cubic", true}, Goodput: 40e6, RTTMedian: 60, Marks: 9, CE: 8, Retransmissions: 51}
	bad.Drops[tunlink.ACK].Early = 50
	without := result{cell: cell{"red", "cubic", false}, Goodput: 10e6, RTTMedian: 500}
	alone := result{cell: cell{"red", "reno", true}, Goodput: 1}
	return []result{base, good, bad, without, alone}
}

// TestChecks holds cells against drop-tail under the same congestion control.
func TestChecks(t *testing.T) {
	var got []string
	for _, c := range checks(cells()) {
		got = append(got, c.String())
	}
	assert.Equal(t, []string{
		"with ECN, goodput at least 95 % of drop-tail's: holds in 1 of 2, not: red cubic ECN 83.3 %",
		"with ECN, median RTT at most a third of drop-tail's: holds in 1 of 2, not: red cubic ECN 0.50",
		"with ECN, no more retransmissions than data packets dropped: holds in 3 of 4, not: red cubic ECN 51 for 0",
		"CE seen by the receivers equals the marks that were sent on: holds in 4 of 5, not: red cubic ECN 8 of 9",
	}, got)
	assert.Len(t, checks(cells()[3:4]), 1, "without ECN there is little to compare")
}

// TestReport prints the table or JSON, and fails where marks were lost on the way.
func TestReport(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		r := report{Rate: 50e6, RTT: 20, Buffer: 500, Flows: 8, Seconds: 10, Warmup: 3, Seed: 1, Cells: cells()[:2]}
		require.NoError(t, r.print(&output{results: &out}, asJSON))
		if asJSON {
			var back report
			require.NoError(t, json.Unmarshal(out.Bytes(), &back))
			assert.Equal(t, r, back)
		} else {
			lines := strings.Split(out.String(), "\n")
			assert.Contains(t, lines[0], "8 TCP flows of the kernel, 50 Mb/s, 20 ms base RTT, 500-packet buffer")
			assert.Equal(t, strings.Fields("droptail cubic on 48.0 120.0 0.0 40 0 0/40 0/0 0/0 0/0 0 yes"), strings.Fields(lines[4]))
			assert.Equal(t, strings.Fields("codel cubic on 47.0 30.0 0.0 3 100 3/0 50/0 0/0 0/0 97 yes, -3"), strings.Fields(lines[5]))
		}
		r.Cells = cells()
		err := r.print(&output{results: &out}, asJSON)
		assert.ErrorContains(t, err, "red cubic ECN: the receivers counted 8 packets with CE")
	}
	damaged := cells()[0]
	damaged.ChecksumErrors = 1
	assert.False(t, damaged.ceHolds())
}

func TestTable(t *testing.T) {
	var out strings.Builder
	tb := table{head: []string{"name", " n", "end"}}
	tb.add("a", 1, "x")
	tb.add("größer", 1000, "")
	tb.write(&out)
	assert.Equal(t, "name       n  end\n------  ----  ---\na          1  x\ngrößer  1000\n", out.String())
}

// recording writes a recording of links under every algorithm, whose arrivals are more
// than the link carries for a while, and returns its path.
func recording(t *testing.T, algorithms []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.aqmrec")
	f, err := record.Create(path)
	require.NoError(t, err)
	for i, name := range algorithms {
		h := record.Header{
			Command: "test", Name: "queue under " + name, Algorithm: name, Seed: 7, Stream: uint64(i),
			Rate: 50e6, RTT: 20 * time.Millisecond, Flows: 8, LimitPackets: 100,
		}
		a, err := instance(name, h)
		require.NoError(t, err)
		a, err = f.Queue(h, a)
		require.NoError(t, err)
		link, err := serve.New(aqm.FIFOConfig[int]{LimitPackets: h.LimitPackets}, h.Rate, a, func(int, aqm.Packet, aqm.Time, aqm.Time) {})
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(1, 1))
		for now := aqm.Time(0); now < aqm.Time(2*time.Second); now += aqm.Time(r.IntN(460_000)) {
			link.Arrive(now, 0, aqm.Packet{Size: 1500, ECN: aqm.ECN(r.IntN(2) * 2), Class: aqm.Data})
		}
	}
	require.NoError(t, f.Close())
	return path
}

// TestReplay gets the recorded verdicts from every algorithm of the catalog, and other
// ones from another.
func TestReplay(t *testing.T) {
	names := catalog.Names()
	path := recording(t, names)
	status, results, messages := command("replay", path)
	assert.Zero(t, status, messages)
	assert.Equal(t, len(names), strings.Count(results, "identical: "), results)

	status, results, messages = command("replay", path, "--algorithm", "droptail", "--json")
	require.Zero(t, status, messages)
	var list []replayed
	require.NoError(t, json.Unmarshal([]byte(results), &list))
	require.Len(t, list, len(names))
	for i, q := range list {
		assert.Equal(t, names[i], q.Recorded.Algorithm)
		assert.Equal(t, "droptail", q.Replayed.Algorithm)
		assert.Equal(t, names[i] == "droptail", q.Identical, names[i])
		assert.Equal(t, q.Identical, q.Difference == "")
		assert.Equal(t, q.Recorded.Arrived, q.Replayed.Arrived)
		assert.Equal(t, list[0].Replayed, q.Replayed, "the arrivals are the same in every queue")
		assert.NotZero(t, q.Verdicts)
		lost := uint64(0)
		for _, d := range q.Replayed.Drops {
			assert.Zero(t, d.Early+d.Forced)
			lost += d.Overflow
		}
		assert.NotZero(t, lost)
		assert.Zero(t, q.Replayed.Marks)
	}

	status, results, _ = command("replay", path, "--algorithm", "codel", "--queue", "1")
	assert.Zero(t, status)
	assert.Equal(t, 4, strings.Count(results, "\n"), "heading, rule, recorded and replayed: %s", results)

	random := strconv.Itoa(len(names) - 2) // pie draws
	require.Equal(t, "pie", names[len(names)-2])
	status, results, _ = command("replay", path, "--queue", random, "--seed", "8")
	assert.Zero(t, status, "another seed was asked for")
	assert.Contains(t, results, "differ")
	assert.Contains(t, results, "queue "+random+": event ")
}

// TestReplayForged exits with an error where the algorithm does not give what is in
// the file.
func TestReplayForged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "forged")
	f, err := record.Create(path)
	require.NoError(t, err)
	a, err := f.Queue(record.Header{Algorithm: "droptail", LimitPackets: 1}, aqm.TailDrop{})
	require.NoError(t, err)
	a.Enqueue(0, aqm.Packet{}, aqm.Occupancy{Full: true}) // with nothing in the queue
	require.NoError(t, f.Close())
	status, results, messages := command("replay", path)
	assert.Equal(t, 1, status)
	assert.Contains(t, results, "recorded arrival at 0 ns of 0 bytes, NotECT, Other: Drop/Overflow; replayed arrival at 0 ns of 0 bytes, NotECT, Other: Pass")
	assert.Contains(t, messages, "1 of 1 queues got other verdicts")
}

// TestReplayErrors says in one line what is wrong with a file.
func TestReplayErrors(t *testing.T) {
	path := recording(t, []string{"droptail"})
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o644))
		return path
	}
	nameless := filepath.Join(dir, "nameless")
	f, err := record.Create(nameless)
	require.NoError(t, err)
	_, err = f.Queue(record.Header{LimitPackets: 1}, aqm.TailDrop{})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	none := filepath.Join(dir, "queueless")
	f, err = record.Create(none)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	two := recording(t, []string{"droptail", "codel"})
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{filepath.Join(dir, "none")}, "no such file"},
		{[]string{write("empty", nil)}, "cut off"},
		{[]string{write("half", whole[:len(whole)/2])}, "cut off"},
		{[]string{write("text", []byte("hello, world"))}, "does not begin as one"},
		{[]string{path, "--queue", "1"}, "aqmlink: --queue = 1, must be in [0, 0]: " + path + " has 1 queue\n"},
		{[]string{two, "--queue", "99"}, "aqmlink: --queue = 99, must be in [0, 1]: " + two + " has 2 queues\n"},
		{[]string{two, "--queue=-1"}, "aqmlink: --queue = -1, must be in [0, 1]: " + two + " has 2 queues\n"},
		{[]string{none}, "has no queues, and so nothing to replay"},
		{[]string{none, "--queue", "0"}, "has no queues, and so nothing to replay"},
		{[]string{nameless}, "choose one with --algorithm"},
		{[]string{nameless, "--algorithm", "codel"}, "rate"},
	} {
		status, results, messages := command(append([]string{"replay"}, tc.args...)...)
		assert.Equal(t, 1, status, tc.args)
		assert.Empty(t, results)
		assert.Contains(t, messages, tc.want)
		assert.Contains(t, messages, tc.args[0], "the file's name")
		assert.Equal(t, 1, strings.Count(messages, "\n"), messages)
	}
}
