package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/aqmkit/aqmkit/internal/cmdline"
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

type bitRate = cmdline.Rate

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
