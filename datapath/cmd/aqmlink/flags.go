package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// bitRate is a flag in bit/s: a number, and k, M or G, with or without bit/s behind
// it.
type bitRate uint64

// UnmarshalText is called by kong.
func (r *bitRate) UnmarshalText(text []byte) error {
	s := string(text)
	for _, unit := range []string{"bit/s", "bit", "b/s", "bps"} {
		var cut bool
		if s, cut = strings.CutSuffix(s, unit); cut {
			break
		}
	}
	scale := 1.0
	for prefix, x := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if rest, cut := strings.CutSuffix(s, prefix); cut {
			s, scale = rest, x
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	if x *= scale; err != nil || !(x >= 1) || x >= math.MaxInt64 {
		return fmt.Errorf("%q is not a rate such as 50M or 2.5Gbit/s", text)
	}
	*r = bitRate(math.Round(x))
	return nil
}

// String returns the rate as one would say it.
func (r bitRate) String() string {
	for _, unit := range []struct {
		name  string
		scale float64
	}{{"Gb/s", 1e9}, {"Mb/s", 1e6}, {"kb/s", 1e3}} {
		if float64(r) >= unit.scale {
			return strconv.FormatFloat(float64(r)/unit.scale, 'f', -1, 64) + " " + unit.name
		}
	}
	return strconv.FormatUint(uint64(r), 10) + " bit/s"
}
