//go:build !linux

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/aqmkit/aqmkit/internal/record"
)

func preflight([]string) error {
	return fmt.Errorf("demo runs on linux, in network namespaces with TUN devices, and this is %s; aqmlink replay runs here", runtime.GOOS)
}

func scheduleInRealTime() (func(), error) { return nil, errors.ErrUnsupported }

func (c *demoCommand) runCell(context.Context, cell, *record.File) (result, error) {
	return result{}, errors.ErrUnsupported
}
