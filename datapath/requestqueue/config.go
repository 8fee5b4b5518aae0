package requestqueue

import (
	"net/http"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/internal/check"
	"github.com/aqmkit/aqmkit/pie"
)

// Config is the configuration of a Queue.
type Config struct {
	AQM        aqm.AQM       // an instance of its own; aqm.TailDrop{} for none
	Workers    int           // requests; 1 to 1e6; that are served at a time
	Limit      int           // requests; 1 to aqm.MaxLimitPackets; that wait
	RetryAfter time.Duration // 1 s to 1 h; what a refused client is told, in whole seconds, rounded up [RFC 9110 10.2.3]

	// Classify says what a request is to the algorithm, or to a policy around it; nil
	// stands for aqm.Packet{Size: 1, Class: aqm.Other}. A Size is what the algorithm's
	// units are about, such as an estimate of the work; it is not ECN-capable.
	Classify func(*http.Request) aqm.Packet

	// Refuse answers a request that is dropped, for the verdict's reason; nil stands
	// for an answer of 503 with Retry-After, which are set before Refuse is called too.
	Refuse func(w http.ResponseWriter, r *http.Request, v aqm.Verdict)
}

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("requestqueue")
	l.Require(c.AQM != nil, "AQM", c.AQM, "", "an algorithm; aqm.TailDrop{} is a queue without one")
	l.Require(c.Workers >= 1 && c.Workers <= 1e6, "Workers", c.Workers, "requests", "in [1, 1000000]")
	l.Require(c.Limit >= 1 && c.Limit <= aqm.MaxLimitPackets, "Limit", c.Limit, "requests", "in [1, %d]", aqm.MaxLimitPackets)
	l.Require(c.RetryAfter >= time.Second && c.RetryAfter <= time.Hour, "RetryAfter", c.RetryAfter, "", "in [1s, 1h]")
	return l.Err()
}

// CoDel returns a CoDel for requests that may wait for target, and for longer in a
// burst of up to twice that. RFC 8289 section 4 has Interval stand for the round-trip
// time in which a sender answers a drop, and 10 to 20 Targets; here nobody may answer,
// the rate of drops has to grow to what is too much by itself, and the time that this
// takes goes with the square of Interval.
func CoDel(target time.Duration) codel.Config {
	return codel.Config{Target: target, Interval: 2 * target, MTU: 1}
}

// PIE returns a PIE for requests that are to wait for target: RFC 8033's defaults on a
// clock that makes their 15 ms the target.
func PIE(target time.Duration) pie.Config {
	c := pie.DefaultConfig()
	k := float64(c.Target) / float64(target)
	c.Target, c.Update, c.MaxBurst = target, target, 10*target
	c.Alpha *= k
	c.Beta *= k
	c.MeanPacket = 1
	return c
}
