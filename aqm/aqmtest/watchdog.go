package aqmtest

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// looks is how often the watchdog wakes up within the session's patience. On a busy
// machine it wakes up late, and then it has seen less, and waits for longer.
const looks = 50

// askers is how many checks run at a time. They share the program's CPU time.
var askers atomic.Int64

// watchdog looks for a call that does not return. It does not go by the wall clock: a
// program that gets no CPU time, because the machine is busy, sleeps or is stopped,
// has no call that computes for long.
type watchdog struct {
	s    *session
	last uint64        // state of session.asked when it was looked at
	seen int           // how often the state was the same
	cpu  time.Duration // the program's CPU time at the first of them
}

// look returns the violation that is the call in progress, once there is no doubt,
// and why no other law can be checked.
func (w *watchdog) look() outcome {
	s := w.s
	now := s.asked.Load()
	calling := now%2 == 1
	if !calling && !s.leaving.Load() || now != w.last {
		w.last, w.seen = now, 0
		w.cpu, _ = s.cpu()
		return outcome{}
	}
	if w.seen++; w.seen < looks || w.seen%10 != 0 { // to look at the stacks stops the world
		return outcome{}
	}
	if !calling {
		v := &Violation{Law: noGoroutine, Seed: s.seed, Detail: "a goroutine that an instance started has not ended, and is waited for" + s.whence()}
		return outcome{broken: v, reason: "a goroutine does not end"}
	}
	stack, state := s.stackOfAsker()
	if s.asked.Load() != now { // it has returned meanwhile
		return outcome{}
	}
	switch computes := strings.HasPrefix(state, "run") || strings.HasPrefix(state, "GC ") || state == ""; {
	case computes:
		if cpu, known := s.cpu(); known && cpu-w.cpu < s.patience*time.Duration(max(1, askers.Load())) {
			return outcome{}
		}
		return outcome{broken: s.hung(boundedWork, fmt.Sprintf("did not return for %v", s.patience), stack), reason: "a call did not return"}
	case strings.HasPrefix(state, "syscall") && w.seen < 4*looks: // which may be short, and the machine busy
		return outcome{}
	}
	return outcome{broken: s.hung(noBlocking, fmt.Sprintf("has waited for %v (%s)", s.patience, state), stack), reason: "a call waits"}
}

// hung returns the violation that is the call in progress.
func (s *session) hung(law Law, what string, stack []string) *Violation {
	v := &Violation{Law: law, Seed: s.seed, Stack: stack}
	who, i := "a call", int(s.current.Load())
	if i == making {
		who = "MakeAQM"
	} else if a := s.asking.Load(); a != nil {
		v.Source = a.src.code
		v.Calls = a.calls[:min(i+1, len(a.calls))]
	}
	v.Detail = fmt.Sprintf("%s %s; it goes on in a goroutine%s", who, what, s.whence())
	return v
}

// whence says which law was being checked when something else came up.
func (s *session) whence() string { return fmt.Sprintf(" (seen while %s was checked)", s.checking) }

// asksHere makes the goroutine that calls it the one that asks.
func (s *session) asksHere() (before string) {
	buf := make([]byte, 64)
	id, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "[") // "goroutine 7 [running]:"
	before, _ = s.asker.Swap(id).(string)
	return before
}

// stackOfAsker returns what the goroutine that asks is doing, innermost first, and its
// state as the runtime calls it.
func (s *session) stackOfAsker() (stack []string, state string) {
	id, _ := s.asker.Load().(string)
	buf := make([]byte, 1<<20)
	all := string(buf[:runtime.Stack(buf, true)])
	for goroutine := range strings.SplitSeq(all, "\n\n") {
		if id == "" || !strings.HasPrefix(goroutine, id) {
			continue
		}
		lines := strings.Split(goroutine, "\n")
		_, state, _ = strings.Cut(lines[0], "[")
		state, _, _ = strings.Cut(state, "]")
		state, _, _ = strings.Cut(state, ",")
		for i := 1; i+1 < len(lines); i += 2 {
			function, _, _ := strings.Cut(lines[i], "(0x")
			function = strings.TrimSuffix(function, "(...)")
			file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +")
			if strings.HasPrefix(function, kit) && !strings.Contains(file, "_test.go:") {
				break
			}
			if !strings.HasPrefix(function, "runtime.") {
				stack = append(stack, fmt.Sprintf("%s at %s", function, short(file)))
			}
		}
	}
	return stack, state
}

// stopwatch measures what the program computes.
type stopwatch struct {
	wall  time.Time
	cpu   time.Duration
	known bool
}

func startWatch() (w stopwatch) {
	w.cpu, w.known = cpuTime()
	w.wall = time.Now()
	return w
}

// read returns how much time passed, and for how much of it at most the goroutine
// computed.
func (w stopwatch) read() (passed, computed time.Duration) {
	passed = time.Since(w.wall)
	computed = passed
	if cpu, known := cpuTime(); known && w.known {
		computed = min(passed, cpu-w.cpu)
	}
	return passed, computed
}

// computed returns for how long the goroutine computed at most.
func (w stopwatch) computed() time.Duration {
	_, d := w.read()
	return d
}
