package study

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// browser returns the path of a Chromium, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium was found; install the package chromium")
	return ""
}

// ask returns what an action found.
func ask[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	x, err := chromedp.Run(ctx, a)
	require.NoError(t, err)
	return x
}

// TestBrowser opens a report in a browser without a network: nothing complains, every
// figure is drawn, and the claims can be read. AQMBENCH_REPORT has it open another.
func TestBrowser(t *testing.T) {
	path := browser(t)
	file, claims, figures := os.Getenv("AQMBENCH_REPORT"), 1, 3
	if file == "" {
		s, o := coin(8), Options{Seed: 1}
		out, err := s.Run(o, Shard{}, nil, 2, nil)
		require.NoError(t, err)
		r, err := s.Report(o, out.Data())
		require.NoError(t, err)
		dir := t.TempDir()
		require.NoError(t, r.WriteDir(dir, out))
		file = filepath.Join(dir, "index.html")
		for _, name := range []string{"results.json", "report.md", "figures/curve.svg", "figures/curve.png", "figures/empty.svg"} {
			info, err := os.Stat(filepath.Join(dir, name))
			require.NoError(t, err)
			assert.Positive(t, info.Size())
		}
	} else {
		claims, figures = 1, 1
	}
	file, err := filepath.Abs(file)
	require.NoError(t, err)

	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"), chromedp.WindowSize(1200, 900))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	var mu sync.Mutex
	var complaints []string
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			complaints = append(complaints, fmt.Sprint("console: ", e.Type))
		case *runtime.EventExceptionThrown:
			complaints = append(complaints, fmt.Sprint("exception: ", e.ExceptionDetails))
		case *log.EventEntryAdded:
			complaints = append(complaints, e.Entry.Text)
		}
	}))
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank"))) // starts the browser
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()

	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("file://"+file)))
	all := ask(t, ctx, chromedp.Evaluate[int](`document.images.length`))
	drawn := ask(t, ctx, chromedp.Evaluate[int](`[...document.images].filter(i => i.complete && i.naturalWidth > 100 && i.naturalHeight > 100).length`))
	rows := ask(t, ctx, chromedp.Evaluate[int](`document.querySelectorAll(".claims tr[id]").length`))
	wide := ask(t, ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
	text := ask(t, ctx, chromedp.Evaluate[string](`document.querySelector(".claims").innerText`))
	picture := ask(t, ctx, chromedp.FullScreenshot(100))
	const height, folded = `document.documentElement.scrollHeight`, `document.querySelectorAll("details:not([open])").length`
	short, closed := ask(t, ctx, chromedp.Evaluate[int](height)), ask(t, ctx, chromedp.Evaluate[int](folded))
	ask(t, ctx, chromedp.Evaluate[bool](`document.querySelector("button").click() === undefined`))
	tall, left := ask(t, ctx, chromedp.Evaluate[int](height)), ask(t, ctx, chromedp.Evaluate[int](folded))
	wideOpen := ask(t, ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
	mu.Lock()
	defer mu.Unlock()
	assert.Empty(t, complaints)
	assert.Equal(t, all, drawn, "every figure is drawn")
	assert.GreaterOrEqual(t, drawn, figures)
	assert.GreaterOrEqual(t, rows, claims)
	assert.Regexp(t, "holds|fails|undecided", text)
	assert.LessOrEqual(t, wide, 0, "the page is no wider than the window")
	assert.LessOrEqual(t, short, 25000, "what a reader does not ask for is folded")
	assert.Positive(t, closed)
	assert.Zero(t, left, "the button unfolds everything")
	assert.Greater(t, tall, short)
	assert.LessOrEqual(t, wideOpen, 0, "nor is it when unfolded")
	if name := os.Getenv("AQMBENCH_SCREENSHOT"); name != "" {
		require.NoError(t, os.WriteFile(name, picture, 0o600))
	}
}
