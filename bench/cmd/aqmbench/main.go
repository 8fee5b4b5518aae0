// Command aqmbench measures what a decision of each algorithm of aqmkit costs per
// packet. aqmbench -h lists the commands; without arguments it runs the first, cost.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/aqmkit/aqmkit/internal/catalog"
)

type cli struct {
	Cost     costCommand     `cmd:"" default:"withargs" help:"Print what a decision costs per packet: every algorithm in each of its regimes, bare, through the interface, under a policy and in a FIFO, beside the floor."`
	Dumbbell dumbbellCommand `cmd:"" help:"Simulate TCP flows over one bottleneck under an algorithm."`
	Compare  compareCommand  `cmd:"" help:"Simulate the same scenario under every algorithm, side by side."`
	Validate validateCommand `cmd:"" help:"Compare the simulator with ns-2, ns-3 and DCTCP's closed forms."`
	Replay   replayCommand   `cmd:"" help:"Run a recording or a packet capture through every algorithm, side by side."`
	Web      webCommand      `cmd:"" help:"Reproduce the effects of AQM and ECN on web performance: response times of browsers behind a congested link."`
	Hadoop   hadoopCommand   `cmd:"" help:"Reproduce the marking threshold and the protection of what cannot be marked, on a MapReduce cluster."`
	Merge    mergeCommand    `cmd:"" help:"Put the outputs of a study's shards together, and judge its claims."`
}

// output is where a command writes.
type output struct {
	results, messages io.Writer
	bare              bool // the command was run without arguments

	line  io.Writer // of progress
	shown bool      // there is some on the terminal's line
}

func newOutput(results, messages io.Writer, bare bool) *output {
	o := &output{bare: bare, line: messages}
	o.results, o.messages = erasing{o, results}, erasing{o, messages}
	return o
}

// erasing is a writer that takes progress off the terminal's line first.
type erasing struct {
	*output
	to io.Writer
}

func (e erasing) Write(b []byte) (int, error) {
	e.erase()
	return e.to.Write(b)
}

// progress returns a function that says how far a command is, from its third second on:
// on one line of a terminal, and every half a minute on a line of its own in a file.
func (o *output) progress() func(done, of int, what string) {
	next := time.Now().Add(2 * time.Second)
	return func(done, of int, what string) {
		if time.Now().Before(next) {
			return
		}
		if isTerminal(o.line) {
			o.shown = true
			fmt.Fprintf(o.line, "\r\x1b[K%3d %%  %s", 100*done/of, what)
			return
		}
		next = time.Now().Add(30 * time.Second)
		fmt.Fprintf(o.line, "%3d %%  %s\n", 100*done/of, what)
	}
}

// erase takes away what progress has left on a terminal.
func (o *output) erase() {
	if o.shown {
		fmt.Fprint(o.line, "\r\x1b[K")
		o.shown = false
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// noValue is what kong says of a flag with nothing behind it, or another flag, and
// of a list with nothing behind it.
var noValue = regexp.MustCompile(`^(--[a-z]+): (?:expected \w+ value but got "(?:EOL|--.*)" |missing value, )`)

// plain returns an error of kong's in words for people.
func plain(err error) string {
	message := err.Error()
	var parsing *kong.ParseError
	m := noValue.FindStringSubmatch(message)
	if m == nil || !errors.As(err, &parsing) {
		return message
	}
	for _, flag := range parsing.Context.Flags() {
		if "--"+flag.Name == m[1] {
			return fmt.Sprintf("%s: missing value, such as %[1]s=%s", m[1], cmp.Or(flag.Default, flag.FormatPlaceHolder()))
		}
	}
	return message
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the command line and returns the exit status.
func run(args []string, results, messages io.Writer) int {
	status := -1
	k := kong.Must(&cli{},
		kong.Name("aqmbench"),
		kong.Description("Measures and compares the algorithms of aqmkit."),
		kong.Vars{"algorithms": strings.Join(catalog.Names(), ", ")},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(results, messages),
		kong.Exit(func(code int) { status = code }),
	)
	ctx, err := k.Parse(args)
	switch {
	case status >= 0: // help was asked for and given
		return status
	case err != nil:
		fmt.Fprintf(messages, "aqmbench: %s; see aqmbench -h\n", plain(err))
		return 2
	}
	out := newOutput(results, messages, len(args) == 0)
	err = ctx.Run(out)
	out.erase()
	if err != nil {
		fmt.Fprintf(messages, "aqmbench: %v\n", err)
		return 1
	}
	return 0
}
