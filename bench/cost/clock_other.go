//go:build !linux

package cost

import "time"

var start = time.Now()

func thread() (release func()) { return func() {} }

// cpuTime returns the time that has passed: elsewhere a thread's own is not read.
func cpuTime() time.Duration { return time.Since(start) }
