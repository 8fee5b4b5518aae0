package cmdline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is a flag in bit/s: a number, and k, M or G, with or without bit/s behind it. It
// is whole from 1 on; whether it is in bounds is for the command to say.
type Rate float64

// UnmarshalText is called by kong.
func (r *Rate) UnmarshalText(text []byte) error {
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
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(x) { // one that is too large has a bound to be told
		return fmt.Errorf("%q is not a rate such as 50M or 2.5Gbit/s", text)
	}
	if x *= scale; x >= 1 { // 2.3M is a little less
		x = math.Round(x)
	}
	*r = Rate(x)
	return nil
}

// String returns the rate as one would say it.
func (r Rate) String() string {
	for _, unit := range []struct {
		name  string
		scale float64
	}{{"Gb/s", 1e9}, {"Mb/s", 1e6}, {"kb/s", 1e3}} {
		if float64(r) >= unit.scale {
			return fmt.Sprint(float64(r)/unit.scale, " ", unit.name)
		}
	}
	return fmt.Sprint(float64(r), " bit/s")
}
