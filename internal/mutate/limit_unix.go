//go:build unix

package main

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// limited bounds what cmd and all that it starts can take, each: the memory that
// they can write to, in MiB, and the time of the processor, whatever else runs. The
// limit is on data, as Go reserves more addresses than it uses; Linux enforces it,
// other systems may not. The end of cmd's context ends them all.
func limited(cmd *exec.Cmd, mebibytes int, cpu time.Duration) {
	seconds := strconv.Itoa(int(cpu/time.Second) + 1)
	cmd.Args = append([]string{"sh", "-c", "ulimit -d " + strconv.Itoa(mebibytes*1024) + " && ulimit -t " + seconds + ` && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
}

// outOfTime reports whether err is the end of the processor's time that limited has
// set. On a busy machine the end of a context says nothing about a mutant.
func outOfTime(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGKILL || status.Signal() == syscall.SIGXCPU)
}
