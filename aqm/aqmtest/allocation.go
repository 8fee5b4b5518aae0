package aqmtest

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"sync"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// alone keeps two checks in one program from changing GOMAXPROCS at a time.
var alone sync.Mutex

// quiet keeps other goroutines from running, as far as that can be done.
func (s *session) quiet() {
	alone.Lock()
	s.procs.Store(int64(runtime.GOMAXPROCS(1)))
}

// loud undoes quiet, once.
func (s *session) loud() {
	if n := s.procs.Swap(0); n > 0 {
		runtime.GOMAXPROCS(int(n))
		alone.Unlock()
	}
}

// noAllocation counts in whole streams, one of them of more than 130 000 calls:
// testing.AllocsPerRun over many short runs would round an allocation now and then
// down to none.
//
// The count is the program's, so other goroutines are kept out, and since that is
// not always possible, the counter is read every so many calls: what others allocate
// falls here and there, and what the AQM allocates falls on the same calls in every
// run.
func (s *session) noAllocation() outcome {
	streams := append(s.allStreams(), s.longStream())
	if !s.reported[boundedWork] { // else it may take for ever
		streams = append(streams, s.soakStream())
	}
	s.quiet()
	defer s.loud()
	for _, st := range streams {
		b := s.allocator(st.src, st.calls)
		if b == nil {
			continue
		}
		const cost = 20
		return s.broken(noAllocation, st.src, st.calls, b, cost, func(calls []Call) *breach {
			return s.allocates(st.src, calls, 0, len(calls), sure/5)
		})
	}
	return outcome{}
}

// allocator finds the first call that allocates.
func (s *session) allocator(src source, calls []Call) *breach {
	const block = 2048 // calls; reading the counter stops the world
	var counts []uint64
	s.counting(src, calls, func(i int) bool { return i%block == 0 }, func(n uint64) { counts = append(counts, n) })
	for i, n := range counts {
		if n == 0 {
			continue
		}
		if b := s.allocates(src, calls, i*block, min((i+1)*block, len(calls)), sure); b != nil { // else someone else did
			return b
		}
	}
	return nil
}

// allocates finds the first call from start to end that allocates, in so many runs.
func (s *session) allocates(src source, calls []Call, start, end, runs int) *breach {
	if start == end || s.allocated(src, calls[:end], start, runs) == 0 {
		return nil
	}
	at := start + sort.Search(end-start-1, func(k int) bool { return s.allocated(src, calls[:start+k+1], start, runs) > 0 })
	return &breach{at: at, detail: fmt.Sprintf("objects allocated by this call: %d", s.allocated(src, calls[:at+1], at, runs))}
}

// sure is how many runs have to agree that calls allocate. In a program that is busy
// collecting garbage there is noise in most of them.
const sure = 25

// allocated returns how many objects the calls from start on allocate, the least of
// several runs.
func (s *session) allocated(src source, calls []Call, start, runs int) uint64 {
	least := uint64(math.MaxUint64)
	for run := 0; run < runs && least > 0; run++ {
		s.counting(src, calls, func(i int) bool { return i == start }, func(n uint64) { least = min(least, n) })
		if least == math.MaxUint64 { // a panic, which allocates
			return 0
		}
	}
	return least
}

// counting asks a fresh instance the calls, and counts the objects allocated from
// each call that starts a block until the next one or the end.
func (s *session) counting(src source, calls []Call, starts func(int) bool, count func(uint64)) {
	s.asking.Store(&asking{src, calls})
	catch(func() {
		a := s.make(src)
		var m runtime.MemStats
		started := false
		for i, c := range calls {
			if starts(i) {
				before := m.Mallocs
				runtime.ReadMemStats(&m)
				if started {
					count(m.Mallocs - before)
					runtime.ReadMemStats(&m) // count may allocate
				}
				started = true
			}
			s.ask(a, i, c)
		}
		before := m.Mallocs
		runtime.ReadMemStats(&m)
		if started {
			count(m.Mallocs - before)
		}
	})
}

// mallocs returns how many objects are allocated while f runs.
func mallocs(f func()) uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.Mallocs
	f()
	runtime.ReadMemStats(&m)
	return m.Mallocs - before
}

// noGoroutine makes many instances and sees whether as many goroutines have come.
// The program's other goroutines come and go, so it takes more instances to be sure.
func (s *session) noGoroutine() outcome {
	const asked = 64
	st := s.ordinaryStreams()[0]
	for _, n := range []int{16, 32, 64} {
		var kept []aqm.AQM
		before := runtime.NumGoroutine()
		for range n {
			s.each(st.src, st.calls[:min(asked, len(st.calls))], func(i int, a aqm.AQM, _ aqm.Verdict) bool {
				if i == 0 {
					kept = append(kept, a)
				}
				return true
			})
		}
		time.Sleep(time.Millisecond) // for those that are about to end
		more := runtime.NumGoroutine() - before
		runtime.KeepAlive(kept)
		if more < n {
			return outcome{}
		}
		if n == 64 {
			return outcome{broken: &Violation{Law: noGoroutine, Seed: s.seed, Detail: fmt.Sprintf("%d goroutines more after %d instances were made and asked", more, n)}}
		}
	}
	return outcome{}
}
