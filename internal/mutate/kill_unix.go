//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// killTree has the end of cmd's context end all that cmd has started.
func killTree(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
}
