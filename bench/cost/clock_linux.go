package cost

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// thread keeps the goroutine on one thread, whose time cpuTime tells, until the
// function that it returns is called.
func thread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// cpuTime returns how long this thread has run: on a machine that others use as
// well, a sample is not longer for their turns.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
