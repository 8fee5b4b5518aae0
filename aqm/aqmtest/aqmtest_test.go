package aqmtest

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// TestSentences finds the sentence of every law in the documentation of package aqm,
// unless it says where else it stands.
func TestSentences(t *testing.T) {
	files, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var contract strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(source)) {
			if _, comment, ok := strings.Cut(line, "//"); ok {
				contract.WriteString(comment)
			}
		}
	}
	words := strings.Join(strings.Fields(contract.String()), " ")
	names := map[string]bool{}
	for _, l := range Laws() {
		assert.False(t, names[l.Name], "%s twice", l.Name)
		names[l.Name] = true
		if strings.Contains(l.Sentence, "(RFC ") {
			continue
		}
		for part := range strings.SplitSeq(l.Sentence, " ... ") {
			assert.Contains(t, words, part, l.Name)
		}
	}
}

// TestDocumentation finds every law in the list of the package's documentation.
func TestDocumentation(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for _, l := range Laws() {
		assert.Contains(t, string(doc), "//   - "+l.Name+": ")
	}
	_, list, _ := strings.Cut(string(doc), "// # Laws\n")
	list, _, _ = strings.Cut(list, "// # Failures\n")
	assert.Equal(t, len(Laws()), strings.Count(list, "//   - "))
}

// TestFailure reads a failure as a stranger would.
func TestFailure(t *testing.T) {
	err := Check(altered(func(p aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Overflow {
			return aqm.MarkOrDrop(p.ECN, aqm.Early)
		}
		return v
	}), Seed(7), Only("overflow"))
	assert.EqualError(t, err, strings.TrimSpace(`
aqmtest: law overflow is broken: "Full always gives Drop for reason Overflow, and nothing else does."
	Drop/Early for a packet that the queue cannot store
	seed 7
	a := mk(rand.NewPCG(7, 500))
	a.Enqueue(0, aqm.Packet{Size: 1500}, aqm.Occupancy{Full: true}) // Drop/Early`))
}

// TestPrograms parses what failures show as Go, and asks it again.
func TestPrograms(t *testing.T) {
	for _, name := range []string{"marks NotECT", "has a probability above 1", "has a table by draw", "shares its average"} {
		for _, f := range faults {
			if f.name != name {
				continue
			}
			for _, v := range Violations(Check(f.mk, Packets(1000), brief)) {
				_, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+v.Program()+"\n}\n", 0)
				assert.NoError(t, err, "%v", v)
				assert.Contains(t, v.Error(), strings.Split(v.Program(), "\n")[0])
				if v.twin == nil {
					assert.Equal(t, v.Calls[len(v.Calls)-1].String(), strings.TrimPrefix(strings.Split(lastLine(v.Program()), " // ")[0], "a."))
				} else {
					assert.Contains(t, v.Program(), "\nwant := a."+v.Calls[len(v.Calls)-1].String())
					assert.Contains(t, v.Program(), "; got != want {\n")
				}
				if v.Law == notECT {
					require.Equal(t, "rand.NewPCG(1, 0)", v.Source)
					a := f.mk(rand.NewPCG(1, 0))
					for i, c := range v.Calls {
						assert.Equal(t, v.Verdicts[i], c.Ask(a), "call %d", i)
					}
					assert.Equal(t, aqm.Mark, v.Verdicts[len(v.Calls)-1].Action)
					assert.Equal(t, aqm.NotECT, v.Calls[len(v.Calls)-1].Packet.ECN)
					assert.Less(t, len(v.Calls), 30, "shrunk")
				}
			}
		}
	}
}

func lastLine(s string) string { return s[strings.LastIndex(s, "\n")+1:] }

func TestCallString(t *testing.T) {
	assert.Equal(t, "Enqueue(0, aqm.Packet{}, aqm.Occupancy{})", Call{}.String())
	assert.Equal(t, "Dequeue(-5, aqm.Packet{EnqueuedAt: -9, Size: 1500, ECN: aqm.CE, Class: aqm.PureACK|aqm.ECE}, aqm.Occupancy{Packets: -1, Bytes: 2, Full: true})",
		Call{true, -5, aqm.Packet{EnqueuedAt: -9, Size: 1500, ECN: aqm.CE, Class: aqm.PureACK | aqm.ECE}, aqm.Occupancy{Packets: -1, Bytes: 2, Full: true}}.String())
}

// TestFolded reads calls at a constant distance as a loop.
func TestFolded(t *testing.T) {
	var calls []Call
	for i := range 5 {
		now := aqm.Time(10 + 50*i)
		calls = append(calls,
			Call{Now: now, Packet: aqm.Packet{Size: 40}},
			Call{AtDequeue: true, Now: now + 1, Packet: aqm.Packet{EnqueuedAt: now, Size: 40}})
	}
	calls = append(calls, Call{Now: 1000}, Call{Now: 1000}, Call{Now: 1000})
	assert.Equal(t, []string{
		"for i := range aqm.Time(5) {\n" +
			"\ta.Enqueue(10+i*50, aqm.Packet{Size: 40}, aqm.Occupancy{})\n" +
			"\ta.Dequeue(11+i*50, aqm.Packet{EnqueuedAt: 10+i*50, Size: 40}, aqm.Occupancy{})\n}",
		"for range 2 {\n\ta.Enqueue(1000, aqm.Packet{}, aqm.Occupancy{})\n}",
		"a.Enqueue(1000, aqm.Packet{}, aqm.Occupancy{})",
	}, folded("a", calls, nil))
	assert.Empty(t, folded("a", nil, nil))
}

// TestTwins reads the program of a law that compares two runs, which is a test that
// fails.
func TestTwins(t *testing.T) {
	programs := map[string]string{}
	for _, f := range faults {
		if f.name == "is one instance for all" || slices.Contains(f.laws, "bounded-work") {
			continue
		}
		for _, v := range Violations(Check(f.mk, Packets(1000), brief, Only("determinism", "no-shared-state", "observer", "ce", "ect", "time-origin", "time-backwards", "unset-fields", "zero-class"))) {
			_, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+v.Program()+"\n}\n", 0)
			assert.NoError(t, err, "%v", v)
			if v.twin != nil {
				programs[v.Law.Name] = v.Program()
				assert.Contains(t, v.Program(), "want := a.")
				assert.Contains(t, v.Program(), "b := mk(")
				assert.Contains(t, v.Program(), "t.Errorf(")
				assert.Len(t, v.twin.calls, len(v.Calls))
			}
		}
	}
	assert.Contains(t, programs["no-shared-state"], "c := mk(")
	assert.Contains(t, programs["observer"], "p.Probability()")
	// What the global generator did to two runs it does not do again when they are shortened,
	// one time in 25 not at all: then there is no program.
	delete(programs, "determinism")
	assert.Len(t, programs, 8)
}

// TestForeignPanic does not blame shared state for the panic of another instance, of
// which survival tells.
func TestForeignPanic(t *testing.T) {
	made := 0
	mk := func(src rand.Source) aqm.AQM {
		made++
		return with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if r.clock == math.MinInt64 && q.Packets > 0 { // no queue asks that of an instance that is new
				panic("it was never empty")
			}
			return r.Enqueue(now, p, q)
		}})(src)
	}
	err := Check(mk, Packets(1000), brief, Only("no-shared-state", "survival"))
	assert.Equal(t, []string{"survival"}, broken(err))
	assert.ErrorContains(t, err, "not checked: no-shared-state (an instance panics; see survival)")
	assert.Positive(t, made)
}

// TestShrink finds the three steps of a hundred that matter, whatever lies between
// them.
func TestShrink(t *testing.T) {
	var steps []int
	for i := range 100 {
		steps = append(steps, i)
	}
	test := func(steps []int) *breach {
		want := []int{13, 50, 77}
		for i, s := range steps {
			if s == want[0] {
				if want = want[1:]; len(want) == 0 {
					return &breach{at: i, detail: fmt.Sprint(i)}
				}
			}
		}
		return nil
	}
	short, b := shrink(steps, test(steps), maxTries, test)
	assert.Equal(t, []int{13, 50, 77}, short)
	assert.Equal(t, &breach{at: 2, detail: "2"}, b)
	short, b = shrink(steps, test(steps), 0, test)
	assert.Equal(t, steps[:78], short, "without tries, up to the failure")
	assert.Equal(t, 77, b.at)
}

func TestOptions(t *testing.T) {
	err := Check(goodAQMs["tail drop"], Packets(5), Limit(0), Periods(), Periods(0, -1), Only(), Only("determinsm"), Skip("overflow", ""), Skip("nonsense", "why not"))
	for _, part := range []string{
		"Packets = 5, must be >= 100", "Limit = 0 packets, must be in [1, 16777216]", "Periods is empty", "Periods has 0s, must be in (0s, 1h]", "Periods has -1ns",
		"Only names no law", `Only names the law "determinsm", which there is not; see Laws`, `Skip("overflow") has no reason`, `Skip names the law "nonsense"`,
	} {
		assert.ErrorContains(t, err, part)
	}
	assert.ErrorContains(t, Check(nil), "MakeAQM = nil")
	assert.ErrorContains(t, Check(func(rand.Source) aqm.AQM { return nil }), "returned nil")
	err = Check(func(rand.Source) aqm.AQM { panic("no configuration") })
	assert.ErrorContains(t, err, "MakeAQM fails: no configuration")
	assert.ErrorContains(t, err, "aqmtest_test.go:", "where")
	assert.Empty(t, Violations(err))
	assert.Empty(t, Violations(nil))
}

// TestSeed sees equal seeds make equal failures, and others other traffic.
func TestSeed(t *testing.T) {
	streams := func(seed uint64) []*stream {
		s, err := newSession(goodAQMs["red"], []Option{Seed(seed), Packets(500)})
		require.NoError(t, err)
		return s.allStreams()
	}
	assert.Equal(t, calls(streams(3)), calls(streams(3)))
	assert.NotEqual(t, calls(streams(3)), calls(streams(4)))
}

func calls(streams []*stream) (all []Call) {
	for _, st := range streams {
		all = append(all, st.calls...)
	}
	return all
}

// TestChoice leaves laws out, and still reports what makes the others worthless.
func TestChoice(t *testing.T) {
	bad := altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Overflow {
			v.Reason = aqm.Forced
		}
		return v
	})
	fast := Packets(1000)
	assert.Equal(t, []string{"overflow"}, broken(Check(bad, fast, Only("overflow", "not-ect"))))
	assert.Equal(t, []string{"conservation"}, broken(Check(bad, fast, Skip("overflow", "to see whether it can be"))))
	assert.Equal(t, []string{"overflow"}, broken(Check(bad, fast, Only("overflow", "conservation"))))
	assert.ErrorContains(t, Check(bad, fast, Only("overflow", "conservation")), "not checked: conservation (see overflow)")
	assert.NoError(t, Check(bad, fast, Only("overflow"), Skip("overflow", "Skip wins")))

	panics := altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Early {
			panic("a planted fault")
		}
		return v
	})
	assert.Equal(t, []string{"survival"}, broken(Check(panics, fast, Only("not-ect"))))
	assert.NoError(t, Check(panics, fast, Only("not-ect"), Skip("survival", "known")))
}

// TestHang ends the check of an AQM that does not return.
func TestHang(t *testing.T) {
	var release atomic.Bool
	defer release.Store(true) // the goroutine that asks then ends
	mk := altered(func(_ aqm.Packet, q aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		for v.Reason == aqm.Overflow && !release.Load() {
			runtime.Gosched()
		}
		return v
	})
	procs := runtime.GOMAXPROCS(0)
	err := Check(mk, Packets(1000), Only("determinism", "overflow"), func(c *config) { c.patience = 300 * time.Millisecond })
	assert.Equal(t, procs, runtime.GOMAXPROCS(0))
	require.Equal(t, []string{"bounded-work"}, broken(err))
	v := Violations(err)[0]
	assert.Contains(t, v.Detail, "a call did not return for 300ms")
	assert.Contains(t, v.Detail, "(seen while determinism was checked)")
	require.NotEmpty(t, v.Calls)
	assert.True(t, v.Calls[len(v.Calls)-1].Occupancy.Full, "the call in question is the last")
	assert.Contains(t, strings.Join(v.Stack, "\n"), "aqmtest_test.go:", "where")
	assert.ErrorContains(t, err, "not checked: overflow (a call did not return)")
}

// TestStarved is patient with a call that computes for long on a machine that does not
// let it: the clock on the wall says nothing. The call goes on until the watchdog has
// had its doubts, which a slow machine only brings about later.
func TestStarved(t *testing.T) {
	var once, release atomic.Bool
	var asked atomic.Int64 // for the CPU time: once when a call is new, and then by a watchdog in doubt
	returned := make(chan struct{}, 2)
	mk := altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Overflow && once.CompareAndSwap(false, true) {
			for before := asked.Load(); asked.Load() < before+5 && !release.Load(); {
				runtime.Gosched()
			}
			returned <- struct{}{}
		}
		return v
	})
	impatient := func(c *config) { c.patience = 50 * time.Millisecond }
	starved := func(c *config) {
		c.cpu = func() (time.Duration, bool) { asked.Add(1); return 0, true }
	}
	assert.NoError(t, Check(mk, Packets(1000), Only("overflow"), impatient, starved))
	<-returned

	// Where CPU time is not known, what counts is how often the watchdog wakes up.
	once.Store(false)
	unknown := func(c *config) { c.cpu = func() (time.Duration, bool) { return 0, false } }
	assert.Equal(t, []string{"bounded-work"}, broken(Check(mk, Packets(1000), Only("overflow"), impatient, unknown)))

	// The second call goes on after its check. Other tests measure the program's CPU time.
	release.Store(true)
	<-returned
}

// TestBetweenCalls is patient with what is not a call: the kit's own work.
func TestBetweenCalls(t *testing.T) {
	s, err := newSession(goodAQMs["red"], []Option{func(c *config) { c.patience = 20 * time.Millisecond }})
	require.NoError(t, err)
	o := s.check(entry{survival, func(*session) outcome {
		time.Sleep(200 * time.Millisecond)
		return outcome{}
	}})
	assert.Nil(t, o.broken)
}

// TestWaits ends the check of an AQM that waits for what does not come, and does not
// say that it computes.
func TestWaits(t *testing.T) {
	mk := altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Overflow {
			<-never
		}
		return v
	})
	impatient := func(c *config) { c.patience = 100 * time.Millisecond }
	err := Check(mk, Packets(1000), Only("overflow"), impatient)
	require.Equal(t, []string{"no-blocking"}, broken(err))
	assert.ErrorContains(t, err, "a call has waited for 100ms (chan receive)")
	assert.ErrorContains(t, err, "(seen while overflow was checked)")

	var made atomic.Bool
	err = Check(func(rand.Source) aqm.AQM {
		if made.Swap(true) {
			<-never
		}
		return aqm.TailDrop{}
	}, Packets(1000), Only("overflow"), impatient)
	assert.ErrorContains(t, err, "MakeAQM has waited for 100ms")
}

// TestBlocking finds calls that wait, however short and rare, in a bubble; those that
// wait for ever; and outside one what can be measured there.
func TestBlocking(t *testing.T) {
	every := func(n int, wait func()) MakeAQM {
		return with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			if r.n++; r.n%n == 0 {
				wait()
			}
			return r.Enqueue(now, p, q)
		}})
	}
	for name, mk := range map[string]MakeAQM{
		"at every call":    every(1, func() { time.Sleep(time.Millisecond) }),
		"once in 5000":     every(5000, func() { time.Sleep(20 * time.Millisecond) }),
		"for a nanosecond": every(100, func() { time.Sleep(time.Nanosecond) }),
		"for a timer":      every(100, func() { <-time.After(time.Hour) }),
		"for ever":         every(100, func() { <-make(chan int) }),
		"at signals": altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
			if v.Reason == aqm.Early {
				time.Sleep(time.Millisecond)
			}
			return v
		}),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newSession(mk, []Option{Packets(1000)})
			require.NoError(t, err)
			s.bubble = bubbleOf(t)
			start := time.Now()
			o := s.check(entry{noBlocking, (*session).noBlocking})
			require.NotNil(t, o.broken, o.reason)
			assert.Equal(t, noBlocking, o.broken.Law)
			assert.Contains(t, o.broken.Detail, " waits for ")
			assert.NotEmpty(t, s.ended, "the others are spared")
			t.Log(o.broken, time.Since(start))
		})
	}
	for _, n := range []int{50, 5000} {
		err := Check(every(n, func() { time.Sleep(3 * time.Millisecond) }), Packets(1000), Only("no-blocking"))
		assert.Equal(t, []string{"no-blocking"}, broken(err))
	}
	for name, mk := range goodAQMs {
		s, err := newSession(mk, []Option{Packets(1000)})
		require.NoError(t, err)
		s.bubble = bubbleOf(t)
		o := s.check(entry{noBlocking, (*session).noBlocking})
		assert.Nil(t, o.broken, name)
		assert.NoError(t, Check(mk, Packets(1000), Only("no-blocking")), name)
	}
}

// TestGrows tells work that grows with the number of packets from a change of regime.
func TestGrows(t *testing.T) {
	rounds := func(took func(round int) time.Duration) (all []time.Duration) {
		for i := range 32 {
			all = append(all, took(i))
		}
		return all
	}
	assert.True(t, grows(rounds(func(i int) time.Duration { return time.Duration(100+i*i/2+500*i) * time.Microsecond })))
	assert.False(t, grows(rounds(func(i int) time.Duration {
		if i < 20 {
			return 100 * time.Microsecond
		}
		return 20 * time.Millisecond
	})), "a threshold that is reached")
	assert.False(t, grows(rounds(func(i int) time.Duration { return time.Duration(100+i) * time.Microsecond })))
	assert.False(t, grows(rounds(func(i int) time.Duration { return time.Duration(100+500*i) * time.Microsecond })[:12]), "too early to tell")
}

// TestSlow ends the check of an AQM that would keep it for minutes.
func TestSlow(t *testing.T) {
	err := Check(altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		time.Sleep(time.Millisecond)
		return v
	}))
	require.Equal(t, []string{"no-blocking"}, broken(err))
	assert.ErrorContains(t, err, "does it wait for something?")
	assert.ErrorContains(t, err, "not checked: bounded-work, no-allocation, ")
}

// TestGoexit survives an AQM that ends its goroutine, as t.Fatal does.
func TestGoexit(t *testing.T) {
	err := Check(altered(func(_ aqm.Packet, _ aqm.Occupancy, v aqm.Verdict) aqm.Verdict {
		if v.Reason == aqm.Overflow {
			runtime.Goexit()
		}
		return v
	}), Packets(1000))
	require.Equal(t, []string{"bounded-work"}, broken(err))
	assert.ErrorContains(t, err, "t.Fatal?")
}

// TestBusyProgram checks a good AQM while other goroutines allocate and compute.
func TestBusyProgram(t *testing.T) {
	var stop atomic.Bool
	defer stop.Store(true)
	for range 4 {
		go func() {
			for !stop.Load() {
				sink2.Store(new(int64))
			}
		}()
	}
	assert.NoError(t, Check(goodAQMs["red"], Packets(1000), brief))
}

var sink2 atomic.Pointer[int64]

// TestTwoAtATime runs two checks at a time.
func TestTwoAtATime(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	errs := make(chan error)
	for range 2 {
		go func() { errs <- Check(goodAQMs["red"], Packets(1000), brief) }()
	}
	assert.NoError(t, errors.Join(<-errs, <-errs))
	assert.Equal(t, procs, runtime.GOMAXPROCS(0))
}

// TestAsSubtests runs TestAQM in a program of its own, for a good AQM and a bad one,
// and reads the log.
func TestAsSubtests(t *testing.T) {
	if name := os.Getenv("AQMTEST_SUBJECT"); name != "" {
		mk := goodAQMs[name]
		if mk == nil {
			mk = planter(name)
		}
		TestAQM(t, mk, Packets(1000), Skip("zero-class", "it has no classes"))
		return
	}
	run := func(name string, flags ...string) (log string, failed bool) {
		cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestAsSubtests$"}, flags...)...)
		cmd.Env = append(os.Environ(), "AQMTEST_SUBJECT="+name)
		out, err := cmd.CombinedOutput()
		return string(out), err != nil
	}

	log, failed := run("red", "-test.v")
	assert.False(t, failed, log)
	for _, l := range Laws() {
		if l != zeroClass && l != forgetting {
			assert.Contains(t, log, "--- PASS: TestAsSubtests/"+l.Name+" ")
		}
	}
	assert.Contains(t, log, "--- SKIP: TestAsSubtests/zero-class ")
	assert.Contains(t, log, "skipped: it has no classes")
	assert.Contains(t, log, "--- SKIP: TestAsSubtests/silence ")
	assert.Contains(t, log, "not promised with Forgets")
	assert.Contains(t, log, "aqmtest: seed 1; the traffic drew Drop/Early ")

	log, _ = run("tail drop", "-test.v")
	assert.Contains(t, log, "--- SKIP: TestAsSubtests/probability ")
	assert.Contains(t, log, "there is no Probability method")

	log, failed = run("marks NotECT", "-test.v")
	assert.True(t, failed)
	assert.Contains(t, log, "--- FAIL: TestAsSubtests/not-ect ")
	assert.Contains(t, log, "--- SKIP: TestAsSubtests/conservation ")
	assert.Contains(t, log, "not checked: see not-ect")
	assert.Contains(t, log, "--- PASS: TestAsSubtests/survival ")
	assert.Contains(t, log, "aqmtest: law not-ect is broken: \"NotECT is never marked.\"")

	// Without -v two dozen calls are shown, and with it all.
	const hidden = "come first: go test -v prints them"
	log, failed = run("ticks by the clock's digits")
	assert.True(t, failed)
	assert.Contains(t, log, hidden)
	log, failed = run("ticks by the clock's digits", "-test.v")
	assert.True(t, failed)
	assert.Contains(t, log, "aqmtest: law time-origin is broken")
	assert.NotContains(t, log, hidden)

	log, failed = run("red", "-aqmtest.long", "-test.v", "-test.run=^TestAsSubtests$/^(seed=32|not-ect)$/not-ect")
	assert.False(t, failed, log)
	assert.Contains(t, log, "--- PASS: TestAsSubtests/not-ect ")
	assert.Contains(t, log, "--- PASS: TestAsSubtests/seed=32/not-ect ")
}

// TestLong finds in a long run what only the third seed's traffic shows.
func TestLong(t *testing.T) {
	third := rand.NewPCG(3, heedlessStream).Uint64()
	mk := func(src rand.Source) aqm.AQM {
		unlucky := src.Uint64() == third
		return with(planted{enqueue: func(r *red, now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
			v := r.Enqueue(now, p, q)
			if v.Action == aqm.Drop && unlucky {
				v.Reason = aqm.None
			}
			return v
		}})(src)
	}
	assert.NoError(t, Check(mk, Packets(1000), Only("verdict")))
	v := Violations(Check(mk, Packets(1000), Only("verdict"), Long()))
	require.Len(t, v, 1)
	assert.Equal(t, consistent, v[0].Law)
	assert.EqualValues(t, 3, v[0].Seed)
}
