//go:build !unix

package main

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// limited sets no bound where there is no ulimit, and leaves what cmd has started to
// end by itself.
func limited(cmd *exec.Cmd, _ int, _ time.Duration) { cmd.WaitDelay = time.Second }

// outOfTime reports whether err is the end of the time that its context has set.
func outOfTime(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
