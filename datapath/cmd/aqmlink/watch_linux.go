package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/aqmkit/aqmkit/internal/catalog"
)

type watchCommand struct {
	Name  string        `arg:"" optional:"" default:"link" help:"The link's name (${default})."`
	Every time.Duration `default:"500ms" help:"How often (${default})."`
	Count int           `default:"0" help:"End after so many samples; 0 for none (${default})."`
	JSON  bool          `name:"json" help:"Print a line of JSON for each sample."`
}

// Help is printed below the flags.
func (c *watchCommand) Help() string {
	return "On a terminal it is one screen, which is drawn anew: queue, delay, probability, marks and drops by class. Otherwise each sample is two plain lines, one for each direction."
}

// Validate is called by kong.
func (c *watchCommand) Validate() error {
	var l flagErrors
	l.require(c.Every >= 10*time.Millisecond && c.Every <= time.Hour, "--every = %v, must be in [10ms, 1h]", c.Every)
	l.require(c.Count >= 0, "--count = %d samples, must be >= 0", c.Count)
	return l.err()
}

// dialLink connects to a link that is up.
func dialLink(ctx context.Context, name string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", socketPath(name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		sockets, _ := filepath.Glob(socketPath("*"))
		for i, s := range sockets {
			sockets[i] = strings.TrimSuffix(filepath.Base(s), ".sock")
		}
		if len(sockets) == 0 {
			return nil, fmt.Errorf("link %q is not up, and no other is: start it with aqmlink up %s", name, name)
		}
		return nil, fmt.Errorf("link %q is not up; there are: %s", name, strings.Join(sockets, ", "))
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("link %q: %w: run it as the user who started the link, such as root", name, err)
	}
	return conn, err
}

// Run is called by kong.
func (c *watchCommand) Run(ctx context.Context, out *output) error {
	conn, err := dialLink(ctx, c.Name)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := json.NewEncoder(conn).Encode(request{Watch: c.Every}); err != nil {
		return err
	}
	screen := false
	if f, ok := out.results.(*os.File); ok && !c.JSON {
		screen = term.IsTerminal(int(f.Fd()))
	}
	var history [2][]float64
	lines := bufio.NewReader(conn)
	for n := 0; c.Count == 0 || n < c.Count; n++ {
		line, err := lines.ReadBytes('\n')
		if ctx.Err() != nil {
			return nil // Ctrl-C is how it ends
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
				out.say("link %s is down", c.Name)
				return nil
			}
			return err
		}
		if c.JSON {
			if _, err := out.results.Write(line); err != nil {
				return err
			}
			continue
		}
		var s sample
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		if err := out.print(func(w *strings.Builder) {
			if !screen {
				s.writeLine(w)
				return
			}
			w.WriteString("\x1b[H\x1b[J") // to the corner, and clear what is below
			s.writeScreen(w, &history)
		}); err != nil {
			return err
		}
	}
	return nil
}

type setCommand struct {
	Name      string         `arg:"" optional:"" default:"link" help:"The link's name (${default})."`
	Direction string         `enum:"forward,back,both" default:"both" help:"Which direction changes: forward, back or both (${default})."`
	Rate      *bitRate       `placeholder:"RATE" help:"Rate in bit/s."`
	Delay     *time.Duration `placeholder:"DELAY" help:"Propagation delay."`
	Loss      *float64       `placeholder:"P" help:"Probability that a packet is lost behind the queue."`
	Algorithm string         `placeholder:"NAME" help:"Algorithm: ${algorithms}. It is designed for the rate and delay then in force, and starts anew; without it the one in force stays as it was designed."`
}

// Validate is called by kong.
func (c *setCommand) Validate() error {
	var l flagErrors
	l.require(c.Rate != nil || c.Delay != nil || c.Loss != nil || c.Algorithm != "", "nothing to change: give --rate, --delay, --loss or --algorithm")
	if c.Rate != nil {
		l.require(*c.Rate >= 1e3 && *c.Rate <= 100e9, "--rate = %v, must be in [1 kb/s, 100 Gb/s]", *c.Rate)
	}
	if c.Algorithm != "" {
		_, err := catalog.Find(c.Algorithm)
		l.require(err == nil, "--algorithm: %v", err)
	}
	return l.err()
}

// Run is called by kong.
func (c *setCommand) Run(ctx context.Context, out *output) error {
	conn, err := dialLink(ctx, c.Name)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	x := setting{Forward: c.Direction != "back", Back: c.Direction != "forward", Delay: c.Delay, Loss: c.Loss, Algorithm: c.Algorithm}
	if c.Rate != nil {
		rate := uint64(*c.Rate)
		x.Rate = &rate
	}
	if err := json.NewEncoder(conn).Encode(request{Set: &x}); err != nil {
		return err
	}
	var r reply
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		return fmt.Errorf("link %s did not answer: %w", c.Name, err)
	}
	if r.Error != "" {
		return fmt.Errorf("link %s is as it was: %s", c.Name, r.Error)
	}
	out.say("link %s is changed", c.Name)
	return nil
}
