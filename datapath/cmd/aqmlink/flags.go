package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// noValue is what kong says of a flag with nothing behind it, or another flag, and
// of a list with nothing behind it.
var noValue = regexp.MustCompile(`^(--[a-z]+): (?:expected \w+ value but got "(?:EOL|--.*)" |missing value, )`)

// plain returns an error of kong's in words for people.
func plain(err error) string {
	message := err.Error()
	var parsing *kong.ParseError
	m := noValue.FindStringSubmatch(message)
	if m == nil || !errors.As(err, &parsing) {
		return message
	}
	for _, flag := range parsing.Context.Flags() {
		if "--"+flag.Name == m[1] {
			return fmt.Sprintf("%s: missing value, such as %[1]s=%s", m[1], cmp.Or(flag.Default, flag.FormatPlaceHolder()))
		}
	}
	return message
}

// counted returns n and a noun that is one or several.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

// bitRate is a flag in bit/s: a number, and k, M or G, with or without bit/s behind
// it. It is whole from 1 on.
type bitRate float64

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
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(x) { // one that is too large has a bound to be told
		return fmt.Errorf("%q is not a rate such as 50M or 2.5Gbit/s", text)
	}
	if x *= scale; x >= 1 { // 2.3M is a little less
		x = math.Round(x)
	}
	*r = bitRate(x)
	return nil
}

// String returns the rate as one would say it.
func (r bitRate) String() string {
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

// flagErrors collects all that is wrong with the flags.
type flagErrors struct{ wrong []string }

func (l *flagErrors) require(ok bool, format string, args ...any) {
	if !ok {
		l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	}
}

// link checks the flags that every link has.
func (l *flagErrors) link(rate bitRate, rtt time.Duration, buffer int) {
	l.require(rate >= 100e3 && rate <= 10e9, "--rate = %v, must be in [100 kb/s, 10 Gb/s]", rate)
	l.require(rtt > 0 && rtt <= 10*time.Second, "--rtt = %v, must be in (0s, 10s]", rtt)
	l.require(buffer >= 1 && buffer <= 1e6, "--buffer = %d packets, must be in [1, 1000000]", buffer)
}

func (l *flagErrors) err() error {
	if len(l.wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(l.wrong, "; "))
}
