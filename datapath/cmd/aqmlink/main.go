// Command aqmlink puts the algorithms of aqmkit in front of real TCP: two network
// namespaces, a TUN device in each, and the kernel's own congestion control. It needs
// Linux and root, but for replay.
//
// aqmlink up makes a link and keeps it until a signal, aqmlink watch shows its queues
// live, and aqmlink set changes it while packets pass. What a link has made has a name
// that begins with aqmlink- and is noted in /run/aqmlink under a lock, so that the next
// start finds and removes what a killed one has left.
//
// aqmlink demo runs every algorithm and prints one table. With --record it writes what
// the algorithms were asked and answered to a file, which aqmlink replay runs again,
// anywhere, through the same algorithm or another. The experiments of docs/datapaths.md
// are aqmlink matrix, policy, soak and throughput.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/aqmkit/aqmkit/internal/catalog"
)

type cli struct {
	Demo   demoCommand   `cmd:"" help:"Send TCP of the kernel through every algorithm and print one table. Needs Linux and root."`
	Replay replayCommand `cmd:"" help:"Run a recording again, through the algorithm that was recorded or another."`

	linuxCommands
}

// output is where a command writes.
type output struct {
	results, messages io.Writer
}

// say writes a message. There is nobody to tell where that fails.
func (o *output) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.messages, format+"\n", args...)
}

// print writes what build has written, which is the command's result.
func (o *output) print(build func(*strings.Builder)) error {
	var b strings.Builder
	build(&b)
	_, err := io.WriteString(o.results, b.String())
	return err
}

// printJSON writes x.
func (o *output) printJSON(x any) error {
	e := json.NewEncoder(o.results)
	e.SetIndent("", "  ")
	return e.Encode(x)
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the command line and returns the exit status: 2 for a command line that is
// wrong, 1 for a command that failed, 128 and the signal's number after a signal.
func run(args []string, results, messages io.Writer) int {
	status := -1
	out := &output{results, messages}
	k := kong.Must(&cli{},
		kong.Name("aqmlink"),
		kong.Description("Real TCP through the algorithms of aqmkit: a link between two network namespaces. Begin with demo --quick, or with up and watch; COMMAND -h says more."),
		kong.Vars{"algorithms": strings.Join(catalog.Names(), ", ")},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(results, messages),
		kong.Exit(func(code int) { status = code }),
	)
	parsed, err := k.Parse(args)
	switch {
	case status >= 0: // help was asked for and given
		return status
	case err != nil:
		out.say("aqmlink: %s; see aqmlink -h", strings.ReplaceAll(plain(err), "\n", "\naqmlink: "))
		return 2
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var caught atomic.Int64
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		select {
		case s := <-signals:
			if n, ok := s.(syscall.Signal); ok {
				caught.Store(int64(n))
			}
			cancel()
		case <-ctx.Done():
		}
	}()
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(out)
	if n := caught.Load(); n != 0 && errors.Is(err, context.Canceled) {
		out.say("aqmlink: interrupted; what it made is removed")
		return 128 + int(n)
	}
	if err != nil {
		out.say("aqmlink: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return 1
	}
	return 0
}
