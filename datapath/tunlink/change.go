package tunlink

import (
	"errors"
	"fmt"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
)

// Way names a direction of a link.
type Way uint8

// The directions, as in Config.
const (
	A Way = iota // from end A to end B
	B            // from end B to end A
)

// String returns the direction's name.
func (w Way) String() string { return [...]string{"A", "B"}[w&1] }

// Change is what is to become different in one direction; what is nil stays.
type Change struct {
	Rate  *uint64        // as in Direction
	Delay *time.Duration // likewise
	Loss  *float64       // likewise
	AQM   aqm.AQM        // takes the place of the instance in force
}

// Update changes one direction while packets pass, none of which is lost or overtakes
// another by it. The packet in transmission ends when it was to end, those on their way
// keep their instant of arrival, and those in the queue stay there: a new AQM is asked
// about their departure though it has not seen them arrive, and learns of the queue
// what the next event tells. An instance that can be reconfigured loses nothing of what
// it has learnt: see Inspect.
//
// The error lists all that is wrong with c; then nothing has changed.
func (l *Link) Update(w Way, c Change) error {
	list := check.For("tunlink")
	list.Require(w <= B, "way", uint8(w), "", "A or B")
	if c.Rate != nil {
		list.Require(*c.Rate > 0, "Rate", *c.Rate, "bit/s", "> 0")
	}
	if c.Delay != nil {
		list.Require(*c.Delay >= 0 && *c.Delay <= maxDelay, "Delay", *c.Delay, "", "in [0s, %v]", maxDelay)
	}
	if c.Loss != nil {
		list.Require(*c.Loss >= 0 && *c.Loss <= 1, "Loss", *c.Loss, "", "in [0, 1]")
	}
	list.Require(c.AQM == nil || isInstance(c.AQM), "AQM", c.AQM, "", "an algorithm; aqm.TailDrop{} is a queue without one")
	if err := list.Err(); err != nil {
		return err
	}
	l.changing.Lock() // so that two changes at once cannot give both directions one instance
	defer l.changing.Unlock()
	if c.AQM != nil {
		var other aqm.AQM
		l.pipes[B-w].inspect(l.clock.now, func(_ aqm.Time, a aqm.AQM) { other = a })
		if sameInstance(c.AQM, other) {
			return fmt.Errorf("tunlink: AQM is the instance of the other direction, must be another: each direction has its own: %w", aqm.ErrConfig)
		}
	}
	l.pipes[w].update(l.clock.now, c)
	return nil
}

// Inspect calls f with the instant and the algorithm of one direction, between two
// packets: to take its State or Probability, or to Reconfigure it. The direction stands
// still meanwhile, so f is brief, and it calls no method of the Link.
func (l *Link) Inspect(w Way, f func(now aqm.Time, a aqm.AQM)) error {
	if w > B {
		return errors.New("tunlink: there are the directions A and B")
	}
	l.pipes[w].inspect(l.clock.now, f)
	return nil
}
