package hadoop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/shuffle"
	"github.com/aqmkit/aqmkit/pi"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/threshold"
)

// scheme is an algorithm with a target delay, under a policy.
type scheme struct {
	aqm    string // droptail, red, redi, codel, pie, pie-dc, pi, k, ks
	target time.Duration
	mode   string // of algorithms that drop what is NotECT: default, ece, acksyn, all
	extra  string // carry, guideline
}

// The modes.
var modes = map[string]aqm.Class{"default": 0, "ece": ecnpolicy.ECEBit, "acksyn": ecnpolicy.ACKSYN, "all": ecnpolicy.All}

// String returns the scheme's name, such as red-100us-acksyn-carry.
func (s scheme) String() string {
	parts := []string{s.aqm}
	if s.target > 0 {
		parts = append(parts, fmt.Sprintf("%dus", s.target.Microseconds()))
	}
	for _, p := range []string{s.mode, s.extra} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "-")
}

// policy returns the scheme's policy.
func (s scheme) policy() ecnpolicy.Config {
	return ecnpolicy.Config{Protect: modes[s.mode], Carry: s.extra == "carry", MarkForced: s.extra != "guideline"}
}

// make returns the algorithm of a port, under its policy.
func (s scheme) make(seed uint64, p shuffle.Port) (aqm.AQM, error) {
	a, err := s.algorithm(seed, p)
	if err != nil || slices.Contains([]string{"droptail", "k", "ks"}, s.aqm) {
		return a, err
	}
	return ecnpolicy.New(a, s.policy())
}

func (s scheme) algorithm(seed uint64, p shuffle.Port) (aqm.AQM, error) {
	packets := s.target.Seconds() * float64(p.Rate) / (8 * meanPacket)
	src := shuffle.PortRand(seed, p)
	switch s.aqm {
	case "droptail":
		return aqm.TailDrop{}, nil
	case "k":
		return threshold.New(threshold.Config{Packets: max(1, int(packets+.5))})
	case "ks":
		return threshold.New(threshold.Config{Sojourn: s.target})
	case "red", "redi":
		c := red.DefaultConfig()
		c.MinTh, c.MaxTh, c.MaxP, c.Weight = packets/2, 3*packets/2, redMaxP, redWeight
		if s.aqm == "redi" {
			c.Weight = 1
		}
		c.Gentle, c.Wait, c.MeanPacket, c.Rate, c.Rand = true, true, meanPacket, p.Rate, src
		return red.New(c)
	case "codel":
		return codel.New(codel.Config{Target: s.target, Interval: codelInterval * s.target, MTU: meanPacket})
	case "pie", "pie-dc":
		c := pie.DataCenter()
		if s.aqm == "pie" {
			var err error
			if c, err = pie.Design(p.Rate, s.target, meanPacket); err != nil {
				return nil, err
			}
		}
		c.Rand = src
		return pie.New(c)
	case "pi":
		c, err := pi.Design(p.Rate, 2*s.target+piSpare, int(piFlows*p.Rate/1e9), meanPacket, packets, piInterval)
		if err != nil {
			return nil, err
		}
		c.Rand = src
		return pi.New(c)
	}
	return nil, fmt.Errorf("unknown scheme %q", s.aqm)
}

// droptail is the scheme that others are compared with.
var droptail = scheme{aqm: "droptail"}

// the algorithms that the paper looks at.
var sweeps = []string{"red", "redi", "codel"}

// cross returns every algorithm at every target in every mode.
func cross(aqms []string, targets []time.Duration, modes ...string) (all []scheme) {
	for _, a := range aqms {
		for _, t := range targets {
			for _, m := range modes {
				all = append(all, scheme{aqm: a, target: t, mode: m})
			}
		}
	}
	return all
}

// with returns the schemes with an extra.
func with(extra string, all []scheme) (out []scheme) {
	for _, s := range all {
		s.extra = extra
		out = append(out, s)
	}
	return out
}
