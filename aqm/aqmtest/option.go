package aqmtest

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Option changes what Check and TestAQM do.
type Option func(*config)

type config struct {
	seed     uint64
	seeds    int // how many, seed and those after it
	packets  int
	limit    int
	periods  []time.Duration
	only     []string
	skip     map[string]string // by law, the reason
	forgets  time.Duration     // after which the law silence holds; 0 if it does not
	patience time.Duration     // with a call that does not return
	cpu      func() (time.Duration, bool)
	pause    time.Duration // of no-clock, where it is real
	queue    func(limit limits, a *recorder, onDrop dropFunc) (queue, error)
	errs     []error
}

func newConfig(opts []Option) (config, error) {
	c := config{
		seed:     1,
		seeds:    1,
		packets:  8192,
		limit:    1000,
		periods:  []time.Duration{time.Microsecond, 100 * time.Microsecond, 1200 * time.Microsecond},
		skip:     map[string]string{},
		patience: 5 * time.Second,
		cpu:      cpuTime,
		pause:    realPause,
		queue:    newFIFO,
	}
	if long != nil && *long {
		Long()(&c)
	}
	for _, o := range opts {
		o(&c)
	}
	return c, errors.Join(c.errs...)
}

func (c *config) require(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf("aqmtest: "+format, args...))
	}
}

func (c *config) requireLaw(option, name string) {
	c.require(slices.ContainsFunc(Laws(), func(l Law) bool { return l.Name == name }), "%s names the law %q, which there is not; see Laws", option, name)
}

// chosen reports whether a law is to be checked, and if not, why.
func (c *config) chosen(name string) (bool, string) {
	if reason, ok := c.skip[name]; ok {
		return false, "skipped: " + reason
	}
	if c.only != nil && !slices.Contains(c.only, name) {
		return false, "not among the laws chosen with Only"
	}
	return true, ""
}

// Seed chooses the traffic and the random source; 1 unless set. Equal seeds repeat
// a check.
func Seed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// longSeeds is how many seeds there are in a long run.
const longSeeds = 32

// Long checks with 32 seeds, Seed and those after it, as the flag -aqmtest.long of a
// test does. TestAQM has the laws with each seed but the first in a subtest seed=N;
// Check ends with the first seed that breaks a law.
func Long() Option { return func(c *config) { c.seeds = longSeeds } }

// long is the flag's value. Only a test has the flag: the flags of any other program
// are its own.
var long *bool

func init() {
	if testing.Testing() {
		long = flag.Bool("aqmtest.long", false, "check AQMs with 32 seeds instead of one")
	}
}

// Packets sets how many arrivals and departures make a stream of traffic; 8192
// unless set, at least 100. More of them find what is rare.
func Packets(n int) Option {
	return func(c *config) {
		c.require(n >= 100, "Packets = %d, must be >= 100", n)
		c.packets = n
	}
}

// Limit sets how many packets the queue holds; 1000 unless set. The second half of
// every stream has at most 64, so that the queue is full often.
func Limit(packets int) Option {
	return func(c *config) {
		c.require(packets >= 1 && packets <= aqm.MaxLimitPackets, "Limit = %d packets, must be in [1, %d]", packets, aqm.MaxLimitPackets)
		c.limit = packets
	}
}

// Periods sets the mean times between two packets, one stream of traffic for each;
// 1 us, 100 us and 1.2 ms unless set: a full-sized packet's at about 10 Gb/s,
// 100 Mb/s and 10 Mb/s. An AQM whose time constants are other than those of
// networks at these rates needs periods of its own.
func Periods(periods ...time.Duration) Option {
	return func(c *config) {
		c.require(len(periods) > 0, "Periods is empty")
		for _, p := range periods {
			c.require(p > 0 && p <= time.Hour, "Periods has %v, must be in (0s, 1h]", p)
		}
		c.periods = periods
	}
}

// Forgets promises that an AQM signals no packet that finds the queue empty, once the
// queue has been empty for so long, and has the law silence checked. An hour is ample for
// a controller that follows the queue. An AQM that is meant to remember does without,
// such as BLUE, whose probability falls by one step in an idle time, however long.
func Forgets(after time.Duration) Option {
	return func(c *config) {
		c.require(after > 0 && after <= 365*24*time.Hour, "Forgets = %v, must be in (0s, 8760h]", after)
		c.forgets = after
	}
}

// Only chooses laws by name; all are checked unless it is given.
func Only(laws ...string) Option {
	return func(c *config) {
		c.require(len(laws) > 0, "Only names no law")
		for _, name := range laws {
			c.requireLaw("Only", name)
		}
		c.only = append(c.only, laws...)
	}
}

// Skip leaves a law out. The reason is for those who read the test's log, and is
// not empty.
func Skip(law, reason string) Option {
	return func(c *config) {
		c.requireLaw("Skip", law)
		c.require(reason != "", "Skip(%q) has no reason", law)
		c.skip[law] = reason
	}
}
