// Command aqmrequests shows what an AQM in front of an HTTP server is good for.
//
// aqmrequests load offers a server on the loopback interface more than it can do, with
// and without an algorithm in front of it, and prints one table. aqmrequests serve is
// such a server to try by hand, with its metrics for Prometheus.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/datapath/requestqueue"
	"github.com/aqmkit/aqmkit/pie"
)

type cli struct {
	Load  loadCommand  `cmd:"" help:"Offer a server on the loopback interface more than it can do, with and without an AQM."`
	Serve serveCommand `cmd:"" help:"Serve requests that each take a while, behind an AQM, with metrics at /metrics."`
}

// serverFlags describe the server and its queue.
type serverFlags struct {
	Workers int           `default:"4" help:"Requests that are served at a time (${default})."`
	Work    time.Duration `default:"10ms" help:"What each takes (${default})."`
	Limit   int           `default:"1000" help:"Requests that may wait (${default})."`
	Target  time.Duration `default:"20ms" help:"For how long CoDel and PIE let requests wait (${default})."`
}

// validate returns the first flag that is wrong.
func (f *serverFlags) validate() error {
	switch {
	case f.Workers < 1 || f.Workers > 10_000:
		return fmt.Errorf("--workers = %d requests, must be in [1, 10000]", f.Workers)
	case f.Work < 100*time.Microsecond || f.Work > time.Minute:
		return fmt.Errorf("--work = %v, must be in [100us, 1m]", f.Work)
	case f.Limit < 1 || f.Limit > 100_000:
		return fmt.Errorf("--limit = %d requests, must be in [1, 100000]", f.Limit)
	case f.Target < time.Millisecond || f.Target > 10*time.Second:
		return fmt.Errorf("--target = %v, must be in [1ms, 10s]", f.Target)
	}
	return nil
}

// capacity returns requests per second.
func (f *serverFlags) capacity() float64 { return float64(f.Workers) / f.Work.Seconds() }

// queues are the names of what there is to choose from.
var queues = []string{"droptail", "codel", "pie"}

// algorithm returns a fresh instance.
func (f *serverFlags) algorithm(name string) (aqm.AQM, error) {
	switch name {
	case "droptail":
		return aqm.TailDrop{}, nil
	case "codel":
		return codel.New(requestqueue.CoDel(f.Target))
	case "pie":
		return pie.New(requestqueue.PIE(f.Target))
	}
	return nil, fmt.Errorf("unknown queue %q; there are %s", name, strings.Join(queues, ", "))
}

// output is where a command writes.
type output struct{ results, messages io.Writer }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command line and returns the exit status: 2 for a command line that is
// wrong, 1 for a command that failed or was interrupted.
func run(ctx context.Context, args []string, results, messages io.Writer) int {
	status := -1
	k := kong.Must(&cli{},
		kong.Name("aqmrequests"),
		kong.Description("An HTTP server behind an AQM, under more load than it can do."),
		kong.Vars{"queues": strings.Join(queues, ", ")},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(results, messages),
		kong.Exit(func(code int) { status = code }),
	)
	parsed, err := k.Parse(args)
	switch {
	case status >= 0: // help was asked for and given
		return status
	case err != nil:
		fmt.Fprintf(messages, "aqmrequests: %s; see aqmrequests -h\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		return 2
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.Run(&output{results, messages}); err != nil {
		fmt.Fprintf(messages, "aqmrequests: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		return 1
	}
	return 0
}
