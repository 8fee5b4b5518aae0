package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/datapath/internal/netns"
)

// child runs the command in a process of its own.
type child struct {
	*exec.Cmd
	results  bytes.Buffer
	messages *bufio.Reader
}

func startChild(t *testing.T, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := &child{Cmd: exec.Command(self, args...)}
	c.Env = append(os.Environ(), runAsCommand+"=1")
	c.Stdout = &c.results
	pipe, err := c.StderrPipe()
	require.NoError(t, err)
	c.messages = bufio.NewReader(pipe)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// says reads messages up to one that has the text, which is bounded by the child's end
// or the test's.
func (c *child) says(t *testing.T, text string) {
	t.Helper()
	var before strings.Builder
	for {
		line, err := c.messages.ReadString('\n')
		before.WriteString(line)
		if strings.Contains(line, text) {
			return
		}
		require.NoError(t, err, before.String())
	}
}

// left returns what there is of a link: namespaces, and its files.
func left(name string) (all []string) {
	for _, pattern := range []string{"/run/netns/" + namespaceName(name, "*"), claimPath(name), socketPath(name)} {
		found, _ := filepath.Glob(pattern)
		all = append(all, found...)
	}
	return all
}

// echo sends a datagram from the near end of a link to the far one and back.
func echo(t *testing.T, name, network, near, far string) {
	t.Helper()
	open := func(end, address string) (conn net.PacketConn) {
		ns, err := netns.Open(namespaceName(name, end))
		require.NoError(t, err)
		defer ns.Close()
		require.NoError(t, ns.Do(func() (err error) { conn, err = net.ListenPacket(network, net.JoinHostPort(address, "0")); return err }))
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		return conn
	}
	a, b := open("near", near), open("far", far)
	defer a.Close()
	defer b.Close()
	buf := make([]byte, 100)
	_, err := a.WriteTo([]byte("there"), b.LocalAddr())
	require.NoError(t, err)
	n, from, err := b.ReadFrom(buf)
	require.NoError(t, err)
	assert.Equal(t, "there", string(buf[:n]))
	_, err = b.WriteTo([]byte("back"), from)
	require.NoError(t, err)
	n, _, err = a.ReadFrom(buf)
	require.NoError(t, err)
	assert.Equal(t, "back", string(buf[:n]))
}

// TestUp makes a link, sends through it, watches and changes it, and ends it by either
// signal: it exits with 0 and leaves nothing.
func TestUp(t *testing.T) {
	privileged(t)
	name := fmt.Sprintf("test-%d", os.Getpid())
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := startChild(t, "up", name, "--delay", "1ms", "--rate", "20M", "--back-rate", "5M", "--back-algorithm", "pie", "--protect", "acksyn")
		c.says(t, "link "+name+" is up")
		assert.Len(t, left(name), 4)
		echo(t, name, "udp4", "10.99.0.1", "10.99.0.2")
		echo(t, name, "udp6", "fd00:99::1", "fd00:99::2")

		var last sample
		for end := time.Now().Add(time.Minute); ; { // what has arrived is counted a little later
			status, results, messages := command("watch", name, "--every", "20ms", "--count", "3", "--json")
			require.Zero(t, status, messages)
			lines := strings.Split(strings.TrimSpace(results), "\n")
			require.Len(t, lines, 3)
			last = sample{}
			require.NoError(t, json.Unmarshal([]byte(lines[2]), &last))
			assert.Zero(t, last.Forward.Missing+last.Back.Missing)
			if last.Forward.Arrived*last.Back.Delivered > 0 {
				break
			}
			require.True(t, time.Now().Before(end), "%+v", last)
		}
		assert.Equal(t, []any{"codel", uint64(20e6), "pie", uint64(5e6)}, []any{last.Forward.Algorithm, last.Forward.Rate, last.Back.Algorithm, last.Back.Rate})
		assert.Nil(t, last.Forward.Probability, "CoDel has none")
		assert.NotNil(t, last.Back.Probability, "PIE's, through the policy")

		status, _, messages := command("set", name, "--direction", "forward", "--rate", "7M", "--delay", "2ms", "--loss", "0.5", "--algorithm", "red")
		require.Zero(t, status, messages)
		status, results, messages := command("watch", name, "--count", "1")
		require.Zero(t, status, messages)
		assert.Contains(t, results, " forward red: 0.0 of 7 Mb/s")
		assert.Contains(t, results, " back pie: 0.0 of 5 Mb/s")
		status, _, messages = command("set", name, "--rate", "10k", "--algorithm", "codel")
		assert.Equal(t, 1, status)
		assert.Contains(t, messages, "is as it was: codel cannot be designed for 10 kb/s")
		status, _, messages = command("up", name)
		assert.Equal(t, 1, status)
		assert.Contains(t, messages, fmt.Sprintf("is up already, by process %d", c.Process.Pid))

		require.NoError(t, c.Process.Signal(s))
		require.NoError(t, c.Wait(), "it exits with 0")
		assert.Contains(t, c.results.String(), "forward    red")
		assert.Empty(t, left(name))
	}
	status, _, messages := command("watch", name)
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "is not up")
}

// TestKilled leaves namespaces and files behind, which the next start removes and says
// so, and no other.
func TestKilled(t *testing.T) {
	privileged(t)
	name := fmt.Sprintf("killed-%d", os.Getpid())
	c := startChild(t, "up", name)
	c.says(t, "is up")
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	require.Len(t, left(name), 4)
	other, err := netns.Create(fmt.Sprintf("%sother-%d", namespacePrefix, os.Getpid())) // not made by a link
	require.NoError(t, err)
	defer other.Close()

	next := fmt.Sprintf("next-%d", os.Getpid())
	again := startChild(t, "up", next, "--addresses=")
	again.says(t, fmt.Sprintf("removed what process %d left behind: link %s %s %s", c.Process.Pid, name, namespaceName(name, "far"), namespaceName(name, "near")))
	again.says(t, "is up")
	assert.Empty(t, left(name))
	require.NoError(t, other.Do(func() error { return nil }), "still there")
	require.NoError(t, again.Process.Signal(syscall.SIGTERM))
	require.NoError(t, again.Wait())
	assert.Empty(t, left(next))
}

// TestUpInNamespaces joins namespaces that are there, and leaves them.
func TestUpInNamespaces(t *testing.T) {
	privileged(t)
	name := fmt.Sprintf("given-%d", os.Getpid())
	for _, end := range []string{"near", "far"} {
		ns, err := netns.Create(namespaceName(name, end))
		require.NoError(t, err)
		defer ns.Close()
	}
	c := startChild(t, "up", name, "--namespaces", namespaceName(name, "near")+","+namespaceName(name, "far"), "--devices", "left,right", "--addresses", "192.0.2.1/30,192.0.2.2/30", "--delay=1ms")
	c.says(t, "left in namespace")
	echo(t, name, "udp4", "192.0.2.1", "192.0.2.2")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.NoError(t, c.Wait())
	assert.Len(t, left(name), 2, "the namespaces are not its own")
}

// TestClaims do not take what is held, nor remove what is not theirs.
func TestClaims(t *testing.T) {
	before := runDirectory
	runDirectory = t.TempDir()
	defer func() { runDirectory = before }()
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	a, err := takeClaim("one", say)
	require.NoError(t, err)
	_, err = takeClaim("one", say)
	require.ErrorContains(t, err, fmt.Sprintf("is up already, by process %d", os.Getpid()))
	require.NoError(t, a.release())
	assert.NoFileExists(t, claimPath("one"))

	foreign := filepath.Join(t.TempDir(), "netns")
	require.NoError(t, os.WriteFile(claimPath("dead"), []byte("4711\nnot-ours\n"+foreign+"\n"), 0o644))
	b, err := takeClaim("two", say)
	require.NoError(t, err)
	require.NoError(t, b.release())
	assert.Equal(t, []string{"removed what process 4711 left behind: link dead "}, said)
	assert.NoFileExists(t, claimPath("dead"))
	for _, name := range []string{"", "A", "a/b", "..", strings.Repeat("a", 42)} {
		_, err := takeClaim(name, say)
		assert.Error(t, err, name)
	}
}

// TestSoak runs a short one: nothing is missing, and a signal ends it with the report.
func TestSoak(t *testing.T) {
	privileged(t)
	before := goroutines()
	longEnough(t, 2, func(seconds float64) (missing string) {
		status, results, messages := command("soak", "--for", fmt.Sprintf("%gs", seconds), "--change", "200ms", "--rate", "20M", "--flows", "2", "--json")
		// So short a run says nothing of memory.
		if !strings.Contains(messages, "the memory grew") {
			require.Zero(t, status, messages)
		}
		var r soakReport
		require.NoError(t, json.Unmarshal([]byte(results), &r))
		assert.Zero(t, r.Unbalanced)
		assert.NotZero(t, r.Snapshots)
		assert.LessOrEqual(t, 0.2*float64(r.Changes), r.Seconds+1e-6, "those that were made are counted, and no others")
		assert.True(t, r.Drained)
		assert.Equal(t, r.Marks, r.CE)
		assert.Zero(t, r.Samples[len(r.Samples)-1].Inside)
		clean(t, before)
		if r.Changes < 5 || r.Marks == 0 {
			missing = "five changes and a mark"
		}
		return missing
	})

	c := startChild(t, "soak", "--rate", "10M", "--flows", "1")
	c.says(t, "missing")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	_ = c.Wait()
	assert.Contains(t, c.results.String(), "drained while the flows still sent: 0 packets left")
	found, _ := filepath.Glob(fmt.Sprintf("/run/netns/aqmlink-%d-*", c.Process.Pid))
	assert.Empty(t, found)
}

// TestSoakFails says what does not hold.
func TestSoakFails(t *testing.T) {
	r := soakReport{Snapshots: 4, Marks: 3, CE: 2}
	for i := range 40 {
		r.add(soakSample{Seconds: float64(i) * 11, RSS: uint64(1e6 * (10 + i)), Missing: int64(i / 39)})
	}
	r.finish(soakSample{Seconds: 500, RSS: 60e6, Inside: 7})
	err := r.wrong()
	for _, part := range []string{"packets are missing", "the memory grew from", "7 packets are left", "2 packets with CE, for 3"} {
		assert.ErrorContains(t, err, part)
	}
}

// TestPolicy drops ACKs and SYNs above a threshold, and none where they are protected.
func TestPolicy(t *testing.T) {
	privileged(t)
	before := goroutines()
	longEnough(t, 1.5, func(seconds float64) (missing string) {
		status, results, messages := command("policy", "--algorithms", "threshold", "--modes", "default,acksyn", "--rate", "10M", "--flows", "4", "--seconds", fmt.Sprint(seconds), "--warmup", "1", "--json")
		if status == 0 && results == "" {
			return "an answer in any mode"
		}
		require.Zero(t, status, messages)
		var list []policyResult
		require.NoError(t, json.Unmarshal([]byte(results), &list))
		if len(list) < 2 { // one without an answer is left out
			return "an answer in both modes"
		}
		for _, r := range list {
			t.Logf("%s: %.1f Mb/s and %.1f back, %d connections, of which the median took %.1f ms", r.Mode, r.Run.Goodput/1e6, r.Run.Reverse/1e6, r.Setups, r.SetupP50)
			if r.SetupP50 == 0 || r.Run.Goodput == 0 || r.Run.Reverse == 0 {
				return "data both ways and a connection, " + r.Mode
			}
			assert.GreaterOrEqual(t, r.SetupP50, 20.0, "a round trip of the empty link")
		}
		early := func(i int) uint64 { return list[i].Run.Drops[1].Early + list[i].Run.Drops[2].Early }
		assert.Zero(t, early(1))
		clean(t, before)
		if early(0) == 0 {
			missing = "an ACK or a SYN that is dropped"
		}
		return missing
	})
}

// TestThroughput counts what a packet costs.
func TestThroughput(t *testing.T) {
	privileged(t)
	before := goroutines()
	longEnough(t, 0.5, func(seconds float64) (missing string) {
		status, results, messages := command("throughput", "--algorithms", "codel", "--sizes", "200", "--seconds", fmt.Sprint(seconds), "--rounds", "1", "--json", "--congested", "10M")
		clean(t, before)
		if status == 1 && (strings.Contains(messages, "no packet arrived") || strings.Contains(messages, "no packets arrived")) {
			return "a packet that arrives"
		}
		require.Zero(t, status, messages)
		var rows []throughputRow
		require.NoError(t, json.Unmarshal([]byte(results), &rows))
		require.Len(t, rows, 4)
		for _, r := range rows {
			t.Logf("%s, standing queue %v: %.2f us, %.0f packets/s", r.Algorithm, r.Congested, r.CPU, r.Arrived)
			assert.Positive(t, r.CPU)
			assert.Positive(t, r.Arrived)
		}
		assert.Equal(t, 1.0, rows[0].OverNone)
		assert.Zero(t, rows[0].Signals)
		return ""
	})
}

// TestMatrixCell runs one.
func TestMatrixCell(t *testing.T) {
	privileged(t)
	longEnough(t, 1, func(seconds float64) (missing string) {
		c := matrixCommand{Seconds: seconds, Warmup: 1, Seed: 1}
		r, err := c.runOne(t.Context(), matrixCell{cell{"codel", "cubic", true}, 10e6, 10 * time.Millisecond, 1})
		require.NoError(t, err)
		t.Logf("%.2f of the model", r.Ratio)
		assert.Equal(t, 100, r.Buffer)
		assert.True(t, r.Run.ceHolds(), "%+v", r.Run)
		if r.Ratio == 0 {
			missing = "data"
		}
		return missing
	})
}

// TestWrongFlagsOnLinux answers mistakes with one line each.
func TestWrongFlagsOnLinux(t *testing.T) {
	for args, want := range map[string]string{
		"up a_b":                              `name "a_b"`,
		"up x --loss 2":                       "--loss = 2, must be in [0, 1]",
		"up x --back-delay 1h":                "--back-delay = 1h0m0s, must be in [0s, 10s]",
		"up x --namespaces a":                 "--namespaces has 1, must have 2",
		"up x --namespaces .,. --devices=a,a": "--devices has a twice",
		"up x --addresses 10.0.0.1/30":        "--addresses has 1",
		"up x --addresses a,b":                `--addresses: "a"`,
		"up x --algorithm magic":              `unknown algorithm "magic"`,
		"up x --protect some":                 "--protect",
		"watch x --every 1ms":                 "--every = 1ms",
		"set x":                               "nothing to change",
		"set x --rate 1":                      "--rate = 1 bit/s",
		"set x --algorithm magic":             "unknown algorithm",
		"matrix --cc westwood":                `--cc: "westwood" is none of cubic, reno, bbr`,
		"matrix --seconds 0":                  "--seconds = 0 s",
		"matrix --parallel 0 --warmup 0":      "--parallel = 0 cells",
		"policy --modes some":                 `--modes: "some"`,
		"policy --connections 0":              "--connections = 0",
		"soak --for 1ms --change 0s":          "--for = 1ms",
		"throughput --sizes 9000":             "--sizes: 9000 bytes",
	} {
		status, results, messages := command(strings.Fields(args)...)
		assert.Equal(t, 2, status, args)
		assert.Empty(t, results, args)
		assert.Equal(t, 1, strings.Count(messages, "\n"), messages)
		assert.Contains(t, messages, want)
	}
	for _, name := range []string{"up", "watch", "set", "matrix", "policy", "soak", "throughput"} {
		status, results, _ := command(name, "-h")
		assert.Zero(t, status)
		assert.Contains(t, results, "Usage: aqmlink "+name)
	}
}
