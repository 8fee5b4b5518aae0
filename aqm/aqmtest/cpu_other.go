//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package aqmtest

import "time"

// cpuTime returns for how long the program's threads have run, and whether that is
// known.
func cpuTime() (time.Duration, bool) { return 0, false }
