//go:build !linux

package tunlink

import (
	"errors"
	"fmt"
	"runtime"
)

// Open fails: the devices are Linux's.
func Open(Config) (*Link, error) {
	return nil, fmt.Errorf("tunlink: TUN devices are opened on linux only, and this is %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
