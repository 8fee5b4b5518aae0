package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/aqmkit/aqmkit/datapath/internal/netns"
	"github.com/aqmkit/aqmkit/internal/record"
)

// privileged skips the test where the demo cannot run.
func privileged(t *testing.T) {
	t.Helper()
	if err := preflight([]string{"cubic"}); err != nil {
		t.Skip(err)
	}
}

// namespaces returns those that this process has made.
func namespaces() []string {
	names, _ := filepath.Glob(fmt.Sprintf("/run/netns/aqmlink-%d-*", os.Getpid()))
	return names
}

// clean checks that no namespace is left, and after a while no goroutine more than
// before.
func clean(t *testing.T, before int) {
	t.Helper()
	assert.Empty(t, namespaces())
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
}

// goroutines returns how many there are, package os/signal's own included, which
// stays.
func goroutines() int {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	signal.Stop(c)
	return runtime.NumGoroutine()
}

// longEnough calls try with a time to measure in seconds that doubles, until it says
// that what it looks for has come. What must hold of every run is asserted within try;
// what comes sooner or later, such as a mark, does not come within a fixed time to a
// process that a busy machine lets stand still for seconds. Half a minute is enough for
// that, and what does not come then is missing.
func longEnough(t *testing.T, seconds float64, try func(seconds float64) (missing string)) {
	t.Helper()
	for spent := 0.0; ; seconds *= 2 {
		missing := try(seconds)
		if missing == "" || t.Failed() {
			return
		}
		spent += seconds
		require.Less(t, spent, 30.0, "seconds without %s", missing)
		t.Logf("%v s without %s: once more, for twice as long", seconds, missing)
	}
}

// TestDemo runs a short demo with kernel TCP, records it, and replays the recording
// with the same verdicts, at the recorded opportunities and from a link served anew.
func TestDemo(t *testing.T) {
	privileged(t)
	before := goroutines()
	path := filepath.Join(t.TempDir(), "demo.aqmrec")
	first := true
	longEnough(t, 0.7, func(seconds float64) (missing string) {
		length := strconv.FormatFloat(seconds, 'f', -1, 64)
		status, results, messages := command("demo", "--rate", "20M", "--flows", "2", "--seconds", length, "--warmup", length,
			"--algorithms", "threshold,codel", "--cc", "cubic", "--ecn", "on", "--json", "--record", path)
		require.Zero(t, status, messages)
		assert.Equal(t, 3, strings.Count(messages, "\n"), "progress: %s", messages)
		if first {
			assert.Contains(t, messages, "2 runs of 1.4s: about 5s\n")
		}
		first = false
		var r report
		require.NoError(t, json.Unmarshal([]byte(results), &r))
		require.Len(t, r.Cells, 2)
		for _, one := range r.Cells {
			t.Logf("%v: %.1f Mb/s, %d round trips, of which the median is %.1f ms, %d marks", one.cell, one.Goodput/1e6, one.RTTSamples, one.RTTMedian, one.Marks)
			assert.True(t, one.ceHolds(), "%+v", one)
			if one.RTTSamples > 0 {
				assert.Greater(t, one.RTTMedian, 20.0, "%v: no faster than the link", one.cell)
			}
			if one.Goodput == 0 || one.RTTSamples == 0 || one.Marks == 0 {
				missing = fmt.Sprintf("data, an answer and a mark under %v", one.cell)
			}
		}
		clean(t, before)
		return missing
	})

	status, results, messages := command("replay", path)
	assert.Zero(t, status, messages)
	assert.Equal(t, 4, strings.Count(results, "identical: "), results)
	status, results, messages = command("replay", path, "--algorithm", "threshold", "--queue", "0")
	assert.Zero(t, status, messages)
	assert.Equal(t, 1, strings.Count(results, "identical: "), results)
	status, results, _ = command("replay", path, "--algorithm", "threshold", "--queue", "2")
	assert.Zero(t, status)
	assert.Contains(t, results, "differ", "queue 2 is CoDel's")
}

// TestSignal interrupts a demo: nothing is left of it, and no half of a recording.
func TestSignal(t *testing.T) {
	privileged(t)
	before := goroutines()
	dir := t.TempDir()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		go func() {
			for end := time.Now().Add(time.Minute); len(namespaces()) < 2 && time.Now().Before(end); { // until it has made something
				time.Sleep(5 * time.Millisecond)
			}
			time.Sleep(200 * time.Millisecond) // or as long as it may be, into the runs
			_ = syscall.Kill(os.Getpid(), s)
		}()
		status, results, messages := command("demo", "--quick", "--record", filepath.Join(dir, "half.aqmrec"))
		assert.Equal(t, 128+int(s), status, messages)
		assert.Empty(t, results)
		assert.Contains(t, messages, "interrupted; what it made is removed")
		clean(t, before)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// TestUnprivileged says in one line what is missing and how to get it, and changes
// nothing.
func TestUnprivileged(t *testing.T) {
	type answer struct {
		status            int
		results, messages string
	}
	got := make(chan answer)
	go func() {
		runtime.LockOSThread() // a thread without capabilities, which ends with the goroutine
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			t.Error(err)
		}
		var a answer
		a.status, a.results, a.messages = command("demo", "--quick")
		got <- a
	}()
	a := <-got
	assert.Equal(t, 1, a.status)
	assert.Empty(t, a.results)
	assert.Equal(t, 1, strings.Count(a.messages, "\n"), a.messages)
	assert.Contains(t, a.messages, "aqmlink: this needs CAP_NET_ADMIN and CAP_SYS_ADMIN (run it as root: sudo")

	err := preflight([]string{"nosuchcc"})
	require.Error(t, err)
	assert.Contains(t, err.Error(), `congestion control "nosuchcc" (`)
	assert.Contains(t, err.Error(), "choose with --cc")
}

// TestCannotRecord fails before anything runs.
func TestCannotRecord(t *testing.T) {
	privileged(t)
	status, _, messages := command("demo", "--quick", "--record", os.DevNull)
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "/dev/null is not a regular file")
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.False(t, info.Mode().IsRegular())
}

// TestNoConnection gives up where there is no way from one namespace to the other, and
// when it is cancelled.
func TestNoConnection(t *testing.T) {
	privileged(t)
	before := goroutines()
	defer func() { clean(t, before) }() // after the namespaces are closed
	var ends [2]*netns.Namespace
	for i := range ends {
		ns, err := netns.Create(fmt.Sprintf("aqmlink-%d-test-%d", os.Getpid(), i))
		require.NoError(t, err)
		defer func() { assert.NoError(t, ns.Close()) }()
		ends[i] = ns
	}
	ctx, cancel := context.WithCancel(context.Background())
	here := netip.MustParseAddr("127.0.0.1") // where one may listen, but the device is down
	_, err := startTraffic(ctx, ends[0], ends[1], here, load{flows: 3, cc: "cubic"})
	require.ErrorIs(t, err, unix.ENETUNREACH)
	cancel()
	_, err = startTraffic(ctx, ends[0], ends[1], here, load{flows: 3, cc: "cubic"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = startTraffic(context.Background(), ends[0], ends[1], here, load{flows: 3, cc: "nosuchcc"})
	assert.ErrorContains(t, err, "congestion control nosuchcc")
}

// TestKernelCounters reads the format of proc(5).
func TestKernelCounters(t *testing.T) {
	values := map[string]uint64{}
	readCounters(values, "Ip: Forwarding InHdrErrors\nIp: 2 3\nTcp: RtoAlgorithm MaxConn InCsumErrors\nTcp: 1 -1 5\n")
	assert.Equal(t, map[string]uint64{"Ip:Forwarding": 2, "Ip:InHdrErrors": 3, "Tcp:RtoAlgorithm": 1, "Tcp:InCsumErrors": 5}, values)
	readCounters(values, "IpExt: A B\nIpExt: 1\ncut")
	assert.Equal(t, uint64(1), values["IpExt:A"])

	dev := "Inter-| Receive | Transmit\n face |bytes\n  tun0: 1 2 3 40 5 6 7 8 9 10 11 12 13 14 15 16\ntun01: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
	assert.Equal(t, uint64(52), deviceDrops("tun0", dev))
	assert.Zero(t, deviceDrops("tun", dev))
	_, err := kernelCounters("lo")
	require.NoError(t, err)
}

// TestRecordedHeaders names the queues of a run, each with a stream of its own.
func TestRecordedHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f, err := record.Create(path)
	require.NoError(t, err)
	c := demoCommand{Rate: 50e6, RTT: 20 * time.Millisecond, Buffer: 500, Flows: 8, Seed: 3}
	require.NoError(t, c.AfterApply())
	d, err := c.directions(cell{"pie", "reno", true}, f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, 10*time.Millisecond, d[0].Delay)
	r, closer, err := record.Open(path)
	require.NoError(t, err)
	defer closer.Close()
	_, _, err = r.Next()
	require.Error(t, err, "no event")
	assert.Equal(t, record.Header{
		Command: "aqmlink demo", Name: "pie reno ECN, data", Algorithm: "pie", Seed: 3,
		Rate: 50e6, RTT: 20 * time.Millisecond, Flows: 8, LimitPackets: 500,
	}, r.Header(0))
	assert.Equal(t, "pie reno ECN, ACKs", r.Header(1).Name)
	assert.Equal(t, uint64(1), r.Header(1).Stream)
}
