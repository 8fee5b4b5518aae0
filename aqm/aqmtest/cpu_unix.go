//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package aqmtest

import (
	"syscall"
	"time"
)

// cpuTime returns for how long the program's threads have run, and whether that is
// known.
func cpuTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
