package observe

import (
	"strconv"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
)

// Config is the configuration of an Observer.
type Config struct {
	Name string // of the queue, in whatever is exported; printable, 1 to 100 octets

	Longest time.Duration // 1 ms to 24 h; sojourn times above it count as it
	Digits  int           // significant decimal digits of a sojourn time; 1 to 3. A ledger takes about 2, 20 or 160 kB

	Every time.Duration // >= 0; how often State is sampled with no reader waiting, on the queue's clock; 0 for never

	Tap     func(Event)  // sees every judgement; called by the owner, which it must not hold up; may be nil
	Samples func(Sample) // sees every sample that Every asks for; likewise. It must not keep Values; may be nil
}

// DefaultConfig returns sojourn times of up to 10 s to two digits, and a sample every
// 100 ms.
func DefaultConfig(name string) Config {
	return Config{Name: name, Longest: 10 * time.Second, Digits: 2, Every: 100 * time.Millisecond}
}

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("observe")
	printable := strings.IndexFunc(c.Name, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
	l.Require(printable && len(c.Name) >= 1 && len(c.Name) <= 100, "Name", strconv.Quote(c.Name), "", "printable and of 1 to 100 octets")
	l.Require(c.Longest >= time.Millisecond && c.Longest <= 24*time.Hour, "Longest", c.Longest, "", "in [1ms, 24h]")
	l.Require(c.Digits >= 1 && c.Digits <= 3, "Digits", c.Digits, "", "in [1, 3]")
	l.Require(c.Every >= 0, "Every", c.Every, "", ">= 0s, where 0s means never")
	return l.Err()
}

// End is which end of a queue a packet was judged at.
type End uint8

// The ends.
const (
	Enqueue End = iota
	Dequeue

	NumEnds = iota
)

// String returns the name that exporters use.
func (e End) String() string {
	if e == Enqueue {
		return "enqueue"
	}
	return "dequeue"
}

// Event is one judgement.
type Event struct {
	End       End
	At        aqm.Time
	Packet    aqm.Packet    // as it was shown to the algorithm
	Occupancy aqm.Occupancy // likewise
	Verdict   aqm.Verdict   // as a queue carries it out
}

// Sojourn returns for how long the packet was queued: 0 at Enqueue, and where the
// clock has stepped back.
func (e Event) Sojourn() time.Duration {
	if e.End == Enqueue {
		return 0
	}
	return max(e.At.Sub(e.Packet.EnqueuedAt), 0)
}
