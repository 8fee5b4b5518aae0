package main

import (
	"os"
	"testing"
)

// TestMain lets the test binary be the command, for tests that need it in a process of
// its own.
func TestMain(m *testing.M) {
	if os.Getenv(runAsCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}
