package aqmtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// The promises of an AQM in closed loop, in the order in which they are checked.
var (
	settles     = Law{"settles", "A step of load or capacity is over within Domain.Settle."}
	mean        = Law{"mean", "The mean of the queue is in Domain.Band around the target."}
	oscillation = Law{"oscillation", "The queue swings by no more than Domain.Swing of its mean."}
	utilisation = Law{"utilisation", "The link is busy for Domain.Utilisation of the time."}
)

// CheckStability closes the loop: TCP flows through one link under the AQM, at the
// points of the domain. At each of them it holds the queue to what the domain says,
// from an empty queue and again after each of the steps that Domain lists. The error
// joins an [*Instability] for each promise that is broken in the first phase that
// breaks any; see [Instabilities]. Other errors are about the domain, the options,
// and an AQM that could not be made.
//
// An AQM with a method Probability() float64, its own or that of what its
// Unwrap() aqm.AQM returns, is put into a fluid model of TCP first, which takes
// milliseconds (V. Misra, W. Gong, D. Towsley, SIGCOMM 2000), and then into a
// simulation of every packet. An AQM without one, or for senders of DCTCP, which the
// model has not, is only simulated.
//
// mk makes the AQM that is to hold in all of the domain; if Domain.Design is set, mk
// is not used and may be nil. Of the options, [Seed] draws other points and [Long]
// has 32 seeds; the others are about [Check].
func CheckStability(mk MakeAQM, d Domain, opts ...Option) error {
	return eachPoint(mk, d, opts, func(l *closedLoop) error {
		_, err := l.run()
		return err
	})
}

// TestStability is CheckStability as a test, with a subtest for each point. Its log,
// to be seen with go test -v, has what was measured.
func TestStability(t *testing.T, mk MakeAQM, d Domain, opts ...Option) {
	t.Helper()
	err := eachPoint(mk, d, opts, func(l *closedLoop) error {
		t.Run(l.point.name(), func(t *testing.T) {
			phases, err := l.run()
			for _, p := range phases {
				t.Log(p)
			}
			if err != nil {
				t.Error(err)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// eachPoint calls f with the loop at each point, for each seed, until it fails.
func eachPoint(mk MakeAQM, d Domain, opts []Option, f func(*closedLoop) error) error {
	c, err := newConfig(opts)
	if mk == nil && d.Design == nil {
		err = errors.Join(err, errors.New("aqmtest: mk and Domain.Design are nil, one of them makes the AQM"))
	}
	if err := errors.Join(err, d.Validate()); err != nil {
		return err
	}
	if d.Design == nil {
		d.Design = func(_ Point, src rand.Source) (aqm.AQM, error) { return mk(src), nil }
	}
	for k := range c.seeds {
		seed := c.seed + uint64(k)
		for _, p := range d.points(seed) {
			if err := f(&closedLoop{domain: d, point: p}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Instability is a promise that was broken in closed loop.
type Instability struct {
	Promise Law
	Point   Point
	Phase   Phase // what was measured
	Detail  string
}

// Error returns the promise, the point with its seed, and what was measured.
func (i *Instability) Error() string {
	return fmt.Sprintf("aqmtest: %s: %q\n\t%s\n\tat %v\n\t%v", i.Promise.Name, i.Promise.Sentence, i.Detail, i.Point, i.Phase)
}

// Instabilities returns the promises that an error of CheckStability is about.
func Instabilities(err error) (all []*Instability) {
	switch e := err.(type) { //nolint:errorlint // it is what unwraps
	case *Instability:
		return []*Instability{e}
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			all = append(all, Instabilities(err)...)
		}
	}
	return all
}

// Phase is a stretch of a run between two steps, with what was measured there.
type Phase struct {
	Model string // "fluid" or "packets"
	Step  string // what it began with
	Flows int
	Rate  uint64 // bit/s
	Unit  aqm.Unit

	Settled     time.Duration // after the step; when the queue was out of bounds for the last time
	Mean        float64       // in Unit; of the queue, once Domain.Settle is over
	Swing       float64       // in Unit; half of the distance between its 5 % and its 95 % quantile
	Utilisation float64       // share of the time; 0 in the fluid, which does not have it
}

// String returns a line.
func (p Phase) String() string {
	s := fmt.Sprintf("%s, %s (%d flows, %.4g Mb/s): settled after %v, queue %.4g +- %.3g %v",
		p.Model, p.Step, p.Flows, float64(p.Rate)/1e6, p.Settled.Round(time.Millisecond), p.Mean, p.Swing, p.Unit)
	if p.Model == packets {
		s += fmt.Sprintf(", utilisation %.3f", p.Utilisation)
	}
	return s
}
