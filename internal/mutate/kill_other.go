//go:build !unix

package main

import (
	"os/exec"
	"time"
)

// killTree leaves the processes that cmd has started to end by themselves.
func killTree(cmd *exec.Cmd) { cmd.WaitDelay = time.Second }
