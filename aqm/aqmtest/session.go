package aqmtest

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// session checks one AQM. Its streams of traffic are made when a law first needs
// them, and shared by the laws after that.
type session struct {
	config
	mk     MakeAQM
	bubble bubble // where real time need not pass; nil in Check
	ended  string // why no further law can be checked

	goroutines int // in the program before there was an instance

	// What the watchdog sees of the goroutine that asks.
	asked    atomic.Uint64 // twice the calls so far, and 1 more in the midst of one
	asking   atomic.Pointer[asking]
	current  atomic.Int64 // index in asking.calls, or making
	leaving  atomic.Bool  // a bubble waits for its goroutines
	asker    atomic.Value // how the goroutine that asks starts in a dump of all, a string
	checking string       // the law's name

	abandoned atomic.Bool  // the goroutine that asks is to end as soon as it can
	procs     atomic.Int64 // GOMAXPROCS to go back to; see quiet

	// What was found on the way to something else: by law, the first of it.
	suspects map[Law]*suspect
	reported map[Law]bool

	draws int // in the current call

	memo memo
}

// asking is what an instance is being asked. Calls after the current one may not be
// set yet.
type asking struct {
	src   source
	calls []Call
}

// suspect is a run that ended in a panic.
type suspect struct {
	asking
	caught *caught
}

func newSession(mk MakeAQM, opts []Option) (*session, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	if mk == nil {
		return nil, errors.New("aqmtest: MakeAQM = nil, must be a function")
	}
	s := &session{config: c, mk: mk, goroutines: runtime.NumGoroutine(), suspects: map[Law]*suspect{}, reported: map[Law]bool{}}
	// Here and not on the goroutine that asks, mk may call t.Fatal.
	if caught := catch(func() { s.make(seeded(s.seed, 0)) }); caught != nil {
		return nil, fmt.Errorf("aqmtest: MakeAQM fails: %v\n\t%s", caught.value, strings.Join(caught.stack, "\n\t"))
	}
	return s, nil
}

// check checks one law, in a goroutine of its own, and returns the violation it
// found, which may be of another law: a call that does not return breaks
// bounded-work, whatever is being checked.
func (s *session) check(e entry) outcome {
	s.checking = e.Name
	o := s.watch(func() outcome {
		if slow := s.pace(); slow != nil {
			return outcome{broken: slow, reason: "a call takes too long"}
		}
		return e.check(s)
	})
	if o.broken != nil {
		if o.broken.Law == noBlocking && o.reason == "" { // the others would take minutes
			o.reason = "see " + noBlocking.Name
		}
		s.ended = o.reason
		s.reported[o.broken.Law] = true
	}
	return o
}

// leftovers returns what was found on the way and is not reported by its own law,
// because that was not chosen.
func (s *session) leftovers() (violations []*Violation) {
	for _, law := range []Law{boundedWork, survival} {
		if s.ended != "" {
			break
		}
		if _, skipped := s.skip[law.Name]; s.suspects[law] == nil || s.reported[law] || skipped {
			continue
		}
		if o := s.check(entry{law, func(s *session) outcome { return s.suspected(law) }}); o.broken != nil {
			violations = append(violations, o.broken)
		}
	}
	return violations
}

// suspected returns the violation of law that was found on the way, if any.
func (s *session) suspected(law Law) outcome {
	found := s.suspects[law]
	if found == nil {
		return outcome{}
	}
	test := func(calls []Call) *breach {
		c := s.each(found.src, calls, func(int, aqm.AQM, aqm.Verdict) bool { return true })
		if c == nil || c.law() != law {
			return nil
		}
		return c.breach()
	}
	return s.broken(law, found.src, found.calls, found.caught.breach(), 1, test)
}

// watch runs f in a goroutine. If f ends its goroutine, or if a call does not return,
// that is the outcome, with the reason why no other law can be checked.
func (s *session) watch(f func() outcome) outcome {
	askers.Add(1)
	defer askers.Add(-1)
	done := make(chan outcome, 1)
	go func() {
		o := outcome{
			broken: &Violation{Law: boundedWork, Seed: s.seed, Detail: "a call ended its goroutine: by t.FailNow or t.Fatal?" + s.whence()},
			reason: "a call ended its goroutine",
		}
		defer func() { done <- o }()
		s.asksHere()
		o = f()
	}()
	tick := time.NewTicker(s.patience / looks)
	defer tick.Stop()
	dog := watchdog{s: s}
	for {
		select {
		case o := <-done:
			return o
		case <-tick.C:
			if o := dog.look(); o.broken != nil {
				s.abandoned.Store(true)
				s.loud()
				return o
			}
		}
	}
}

// making is the number of the call that is none, but MakeAQM's.
const making = -1

var errNil = errors.New("it returned nil")

func (s *session) make(src source) aqm.AQM { return s.makeDrawing(src, &s.draws) }

// makeDrawing is make for an instance whose draws are counted elsewhere.
func (s *session) makeDrawing(src source, draws *int) aqm.AQM {
	*draws = 0
	g := &guard{src: src.make(), draws: draws}
	current := s.current.Swap(making)
	s.asked.Add(1)
	defer func() {
		s.asked.Add(1)
		s.current.Store(current)
	}()
	a := s.mk(g)
	if a == nil {
		panic(errNil)
	}
	return a
}

// ask asks a the question c, number i of what is being asked.
func (s *session) ask(a aqm.AQM, i int, c Call) aqm.Verdict {
	if s.abandoned.Load() {
		runtime.Goexit()
	}
	s.current.Store(int64(i))
	s.draws = 0
	s.asked.Add(1)
	defer s.asked.Add(1) // after a panic as well
	return c.Ask(a)
}

// probe asks p for its probability.
func (s *session) probe(p prober) float64 {
	s.asked.Add(1)
	defer s.asked.Add(1)
	return p.Probability()
}

// each asks a fresh instance the calls, and hands every answer to visit until that
// returns false. A panic ends the run, is remembered, and returned.
func (s *session) each(src source, calls []Call, visit func(i int, a aqm.AQM, v aqm.Verdict) bool) *caught {
	s.asking.Store(&asking{src, calls})
	i := 0
	c := catch(func() {
		for a := s.make(src); i < len(calls); i++ {
			if v := s.ask(a, i, calls[i]); !visit(i, a, v) {
				return
			}
		}
	})
	if c != nil {
		c.at = i
		s.suspect(src, calls[:min(i+1, len(calls))], c)
	}
	return c
}

// answers asks a fresh instance the calls and returns the verdicts, up to a panic.
func (s *session) answers(src source, calls []Call) ([]aqm.Verdict, *caught) {
	verdicts := make([]aqm.Verdict, 0, len(calls))
	c := s.each(src, calls, func(_ int, _ aqm.AQM, v aqm.Verdict) bool {
		verdicts = append(verdicts, v)
		return true
	})
	return verdicts, c
}

// suspect remembers a run that ended in a panic.
func (s *session) suspect(src source, calls []Call, c *caught) {
	if s.suspects[c.law()] == nil {
		s.suspects[c.law()] = &suspect{asking{src, slices.Clone(calls)}, c}
	}
}

// caught is a panic of the AQM under test.
type caught struct {
	value any
	stack []string
	at    int // number of the call
}

// endless reports whether it is the guard's panic.
func (c *caught) endless() bool {
	err, ok := c.value.(error)
	return ok && errors.Is(err, errDraws)
}

// law returns the law that the panic breaks.
func (c *caught) law() Law {
	if c.endless() {
		return boundedWork
	}
	return survival
}

func (c *caught) breach() *breach {
	if c.endless() {
		return &breach{at: c.at, detail: errDraws.Error(), stack: c.stack}
	}
	return &breach{at: c.at, detail: c.String(), stack: c.stack}
}

func (c *caught) String() string { return fmt.Sprintf("panic: %v", c.value) }

// catch runs f and returns its panic, or nil.
func catch(f func()) (c *caught) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil { // nil after runtime.Goexit, which goes on
			c = &caught{value: value, stack: frames()}
		}
	}()
	f()
	returned = true
	return nil
}

// kit is this package's path, as the names of its functions start.
var kit = reflect.TypeFor[session]().PkgPath() + "."

// frames returns the functions between the panic that is being recovered and this
// package, innermost first.
func frames() (stack []string) {
	pcs := make([]uintptr, 64)
	all := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicking := false
	for more := true; more; {
		var f runtime.Frame
		f, more = all.Next()
		inKit := strings.HasPrefix(f.Function, kit) && !strings.HasSuffix(f.File, "_test.go")
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			panicking = true
		case panicking && inKit:
			if len(stack) > 0 { // else it is the guard's panic
				return stack
			}
		case panicking:
			stack = append(stack, fmt.Sprintf("%s at %s:%d", f.Function, short(f.File), f.Line))
		}
	}
	return stack
}

// short returns a file's name with its folder's.
func short(file string) string {
	parts := strings.Split(file, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}
