package integrating_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	codeBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
	function  = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)`)
)

// TestPage sees that all code of docs/integrating.md is that of the examples, and that
// all examples are run by something in it.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/integrating.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	blocks := codeBlock.FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 11, "one for each question at the least")
	var all strings.Builder
	for _, b := range blocks {
		assert.Contains(t, string(source), b[1], "this code of the page is not compiled and run:\n%s", b[1])
		all.WriteString(b[1])
	}
	for _, m := range function.FindAllStringSubmatch(string(source), -1) {
		if name := m[1]; name != "udp" && !strings.HasPrefix(name, "Example") {
			assert.Contains(t, all.String(), name, "the page does not show it")
		}
	}
}
