package catalog

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var codeBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestAddingAnAQM compiles and runs the code of docs/adding-an-aqm.md as it stands
// there, as a package that exists only in an overlay.
func TestAddingAnAQM(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/adding-an-aqm.md")
	require.NoError(t, err)
	blocks := codeBlock.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 2, "the AQM and its test")
	dir := t.TempDir()
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	replace := map[string]string{}
	lines := 0
	for i, name := range []string{"coin.go", "coin_test.go"} {
		code := strings.ReplaceAll(blocks[i][1], "\n   ", "\n") // the blocks are in a list
		code = strings.TrimSpace(code) + "\n"
		lines += strings.Count(code, "\n")
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
		replace[filepath.Join(top, "coin", name)] = file
	}
	assert.Less(t, lines, 60, "as the text promises")
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	binary := filepath.Join(dir, "coin.test") // compiled apart from run, since the package's folder is not there to run in
	compile := exec.Command("go", "test", "-c", "-vet=off", "-overlay", file, "-o", binary, "./coin")
	compile.Dir = top
	out, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := exec.Command(binary)
	run.Dir = dir
	out, err = run.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
