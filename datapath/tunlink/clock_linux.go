package tunlink

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqmkit/aqmkit/aqm"
)

// systemClock counts from the instant at which it was made.
type systemClock struct{ start time.Time }

func (c systemClock) now() aqm.Time { return aqm.Time(time.Since(c.start)) }

// timerAlarm waits in the runtime's poller for a timer of the kernel's. The runtime's
// own timers are rounded to milliseconds while it waits for input.
type timerAlarm struct {
	clock systemClock
	file  *os.File
	fd    int // the file's; File.Fd would make it block

	mu           sync.Mutex
	rung, closed bool
}

func (c systemClock) newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &timerAlarm{clock: c, file: os.NewFile(uintptr(fd), "timer"), fd: fd}, nil
}

func (a *timerAlarm) wait(until aqm.Time) {
	a.mu.Lock()
	if a.rung || a.closed {
		a.rung = false
		a.mu.Unlock()
		return
	}
	// A wait that ends too early does no harm, and one of centuries does not fit into
	// the 32 bits that seconds have on some machines.
	a.set(min(max(1, until.Sub(a.clock.now())), time.Hour))
	a.mu.Unlock()
	var expirations [8]byte
	_, _ = a.file.Read(expirations[:]) // an error is that of a closed file
	a.mu.Lock()
	a.rung = false
	a.mu.Unlock()
}

// set makes the file readable after d, and not before. The caller holds mu.
func (a *timerAlarm) set(d time.Duration) {
	_ = unix.TimerfdSettime(a.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
}

func (a *timerAlarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed && !a.rung {
		a.rung = true
		a.set(1)
	}
}

func (a *timerAlarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		_ = a.file.Close()
	}
}
