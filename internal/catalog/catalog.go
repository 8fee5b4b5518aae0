// Package catalog lists every algorithm once, with what is needed to build it for a
// link. Benchmarks, commands and tests read it, and a test holds the README's table
// to it.
package catalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/pi"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/rem"
	"github.com/aqmkit/aqmkit/threshold"
)

// MeanPacket is the packet size that constructors design for, in bytes.
const MeanPacket = 1500

// Make returns an instance that draws from src.
type Make func(src rand.Source) (aqm.AQM, error)

// Entry is one algorithm.
type Entry struct {
	Name      string // on command lines
	Package   string // folder; "" for drop-tail, which is part of package aqm
	Title     string
	DecidesAt string // "Enqueue", "Dequeue" or both
	Source    string // paper or RFC

	// New builds an instance for a link of rate bit/s, a base round-trip time and a
	// number of long-lived flows, through the package's Design, so that no law is run
	// outside its domain unnoticed.
	New func(rate uint64, rtt time.Duration, flows int, src rand.Source) (aqm.AQM, error)

	Default Make // the package's DefaultConfig
	Paper   Make // the settings of the paper or RFC
}

// All returns the entries, drop-tail first.
func All() []Entry {
	return []Entry{
		{
			Name: "droptail", Title: "Drop-tail", DecidesAt: "Enqueue", Source: "the queue without AQM",
			New:     func(uint64, time.Duration, int, rand.Source) (aqm.AQM, error) { return aqm.TailDrop{}, nil },
			Default: func(rand.Source) (aqm.AQM, error) { return aqm.TailDrop{}, nil },
			Paper:   func(rand.Source) (aqm.AQM, error) { return aqm.TailDrop{}, nil },
		},
		{
			Name: "threshold", Package: "threshold", Title: "Marking threshold", DecidesAt: "Enqueue; Dequeue if in sojourn time",
			Source: "Alizadeh et al. 2010 (DCTCP); RFC 8257",
			// All that is above a threshold is marked, so that the flows back off together,
			// and the gain of many flows over one, sqrt(flows), is not to be had.
			New: func(rate uint64, rtt time.Duration, _ int, _ rand.Source) (aqm.AQM, error) {
				return built(threshold.New)(threshold.Design(threshold.TCPECN, rate, rtt, 1, MeanPacket, 0))
			},
			Default: func(rand.Source) (aqm.AQM, error) { return built(threshold.New)(threshold.DefaultConfig(), nil) },
			Paper:   func(rand.Source) (aqm.AQM, error) { return built(threshold.New)(threshold.DefaultConfig(), nil) },
		},
		{
			Name: "red", Package: "red", Title: "RED, Adaptive RED", DecidesAt: "Enqueue",
			Source: "Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001",
			New: func(rate uint64, rtt time.Duration, _ int, src rand.Source) (aqm.AQM, error) {
				c, err := red.Design(rate, rtt/4, MeanPacket)
				c.Rand = src
				return built(red.New)(c, err)
			},
			Default: func(src rand.Source) (aqm.AQM, error) {
				c := red.DefaultConfig()
				c.Rand = src
				return built(red.New)(c, nil)
			},
			Paper: func(src rand.Source) (aqm.AQM, error) { // RED 1993: neither gentle nor waiting
				c := red.DefaultConfig()
				c.Gentle, c.Wait, c.Rand = false, false, src
				return built(red.New)(c, nil)
			},
		},
		{
			Name: "pi", Package: "pi", Title: "PI, PI squared", DecidesAt: "Enqueue",
			Source: "Hollot, Misra, Towsley and Gong 2001; RFC 9332",
			New: func(rate uint64, rtt time.Duration, flows int, src rand.Source) (aqm.AQM, error) {
				l := linear(rate, rtt, flows)
				c, err := pi.Design(rate, l.rtt, l.flows, MeanPacket, l.queue, l.interval)
				c.Rand = src
				return built(pi.New)(c, err)
			},
			Default: func(src rand.Source) (aqm.AQM, error) {
				c := pi.DefaultConfig()
				c.Rand = src
				return built(pi.New)(c, nil)
			},
			Paper: func(src rand.Source) (aqm.AQM, error) {
				c := pi.Published()
				c.Rand = src
				return built(pi.New)(c, nil)
			},
		},
		{
			Name: "rem", Package: "rem", Title: "REM", DecidesAt: "Enqueue",
			Source: "Athuraliya, Li, Low and Yin 2001",
			New: func(rate uint64, rtt time.Duration, flows int, src rand.Source) (aqm.AQM, error) {
				l := linear(rate, rtt, flows)
				c, err := rem.Design(rate, l.rtt, l.flows, MeanPacket, l.queue, l.interval)
				c.Rand = src
				return built(rem.New)(c, err)
			},
			Default: func(src rand.Source) (aqm.AQM, error) {
				c := rem.DefaultConfig()
				c.Rand = src
				return built(rem.New)(c, nil)
			},
			Paper: func(src rand.Source) (aqm.AQM, error) {
				c := rem.DefaultConfig()
				c.Rand = src
				return built(rem.New)(c, nil)
			},
		},
		{
			Name: "pie", Package: "pie", Title: "PIE, DOCSIS-PIE", DecidesAt: "Enqueue; measures at Dequeue",
			Source: "RFC 8033; RFC 8034",
			New: func(rate uint64, rtt time.Duration, _ int, src rand.Source) (aqm.AQM, error) {
				c, err := pie.Design(rate, rtt, MeanPacket)
				c.Rand = src
				return built(pie.New)(c, err)
			},
			Default: func(src rand.Source) (aqm.AQM, error) {
				c := pie.DefaultConfig()
				c.Rand = src
				return built(pie.New)(c, nil)
			},
			Paper: func(src rand.Source) (aqm.AQM, error) { // RFC 8033 with its estimator of the departure rate
				c := pie.DefaultConfig()
				c.DepartureRate, c.Rand = true, src
				return built(pie.New)(c, nil)
			},
		},
		{
			Name: "codel", Package: "codel", Title: "CoDel", DecidesAt: "Dequeue", Source: "RFC 8289",
			// The interval stands for the largest common round-trip time: flows from further
			// away than rtt, and what they wait in queues. At 20 ms this is RFC 8289's 100 ms.
			New: func(rate uint64, rtt time.Duration, _ int, _ rand.Source) (aqm.AQM, error) {
				return built(codel.New)(codel.Design(rate, 5*rtt, MeanPacket))
			},
			Default: func(rand.Source) (aqm.AQM, error) { return built(codel.New)(codel.DefaultConfig(), nil) },
			Paper:   func(rand.Source) (aqm.AQM, error) { return built(codel.New)(codel.DefaultConfig(), nil) },
		},
	}
}

// loop is what the linear control laws, PI and REM, are designed from.
type loop struct {
	rtt      time.Duration // the largest, queueing included
	flows    int           // the fewest
	queue    float64       // packets
	interval time.Duration
}

// linear returns the loop of a link whose queue is held at half a round-trip time,
// sampled ten times in one. Flows whose windows would be too small for the laws'
// domain are taken for fewer.
func linear(rate uint64, rtt time.Duration, flows int) loop {
	perSecond := float64(rate) / 8 / MeanPacket
	l := loop{rtt: rtt + rtt/2, queue: max(4, perSecond*rtt.Seconds()/2), interval: max(rtt/10, time.Microsecond)}
	l.flows = max(1, min(flows, int(0.4*perSecond*l.rtt.Seconds())))
	return l
}

// built joins a package's Design and New, and returns an interface that is nil
// after an error.
func built[C any, A aqm.AQM](newAQM func(C) (A, error)) func(C, error) (aqm.AQM, error) {
	return func(c C, err error) (aqm.AQM, error) {
		if err != nil {
			return nil, err
		}
		a, err := newAQM(c)
		if err != nil {
			return nil, err
		}
		return a, nil
	}
}

// Names returns the names of all entries.
func Names() []string {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name)
	}
	return names
}

// Find returns the entry with that name. The error lists the names there are.
func Find(name string) (Entry, error) {
	for _, e := range All() {
		if e.Name == name {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("unknown algorithm %q; there are %s", name, strings.Join(Names(), ", "))
}
