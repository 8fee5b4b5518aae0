package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWebCommand(t *testing.T) {
	web := func(args ...string) (int, string, string) {
		var results, messages bytes.Buffer
		status := run(append([]string{"web"}, args...), &results, &messages)
		return status, results.String(), messages.String()
	}
	status, quick, _ := web("--list")
	assert.Zero(t, status)
	status, full, _ := web("--list", "--full")
	assert.Zero(t, status)
	assert.Greater(t, strings.Count(full, "\n"), 5*strings.Count(quick, "\n"))
	assert.Contains(t, full, "load98/pi24+ecn/1\n")

	only := []string{"--only", "^load80/uncongested/1$", "--workers"}
	status, one, _ := web(append(only, "1")...)
	assert.Zero(t, status)
	assert.Contains(t, one, `"mean2s_ms_handshake"`)
	_, two, _ := web(append(only, "2")...)
	assert.Equal(t, one, two)

	status, _, message := web("--only", "nothing like it")
	assert.NotZero(t, status)
	assert.Contains(t, message, "none of the")
}
