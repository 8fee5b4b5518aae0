package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqmkit/aqmkit/datapath/tunlink"
	"github.com/aqmkit/aqmkit/internal/catalog"
)

type throughputCommand struct {
	Algorithms []string `placeholder:"NAME" help:"Run only these beside drop-tail, which is the link without an AQM: ${algorithms}."`
	Sizes      []int    `default:"1500,128" help:"Packet sizes, bytes (${default})."`
	Congested  bitRate  `default:"200M" help:"Rate of the link in the runs with a standing queue (${default}); in the others it is 100 Gb/s, and the processor the limit."`
	Seconds    float64  `default:"1" help:"How long each run is measured, seconds (${default})."`
	Rounds     int      `default:"5" help:"Rounds; in each every algorithm runs once, and what is printed are medians (${default})."`
	JSON       bool     `name:"json" help:"Print JSON."`
}

// Help is printed below the flags.
func (c *throughputCommand) Help() string {
	return "Another process sends UDP packets, ECT(0), as fast as it can. Counted is the processor time of the link's process alone, in user mode and in the kernel, so that other work on the machine shows little."
}

// blastCommand is the other process.
type blastCommand struct {
	To   string `arg:""`
	Size int    `arg:""`
}

// AfterApply is called by kong.
func (c *throughputCommand) AfterApply() error {
	var l flagErrors
	names := []string{"droptail"}
	for _, name := range c.Algorithms {
		_, err := catalog.Find(name)
		l.require(err == nil, "--algorithms: %v", err)
		if name != "droptail" {
			names = append(names, name)
		}
	}
	if c.Algorithms == nil {
		names = catalog.Names() // drop-tail first
	}
	c.Algorithms = names
	for _, size := range c.Sizes {
		l.require(size >= 29 && size <= tunlink.DefaultMTU, "--sizes: %d bytes, must be in [29, %d]", size, tunlink.DefaultMTU)
	}
	l.require(c.Congested >= 1e6 && c.Congested <= 100e9, "--congested = %v, must be in [1 Mb/s, 100 Gb/s]", c.Congested)
	l.require(c.Seconds >= 0.1 && c.Seconds <= 60, "--seconds = %v s, must be in [0.1, 60]", c.Seconds)
	l.require(c.Rounds >= 1 && c.Rounds <= 100, "--rounds = %d, must be in [1, 100]", c.Rounds)
	return l.err()
}

// throughputRun is what came of one run.
type throughputRun struct {
	packets, delivered, signals float64 // per second
	cpu                         float64 // seconds per packet that arrived
}

// throughputRow is what came of one algorithm.
type throughputRow struct {
	Algorithm  string  `json:"algorithm"`
	Size       int     `json:"size_bytes"`
	Congested  bool    `json:"standing_queue"`
	Arrived    float64 `json:"arrived_per_s"`
	Delivered  float64 `json:"delivered_per_s"`
	Signals    float64 `json:"signals_per_s"` // marks and drops
	CPU        float64 `json:"cpu_us_per_packet"`
	PerCore    float64 `json:"packets_per_s_and_core"`
	OverNone   float64 `json:"cpu_over_droptail"` // median over the rounds of the ratio to drop-tail in the same round
	Difference float64 `json:"cpu_us_more_than_droptail"`
}

// Run is called by kong.
func (c *throughputCommand) Run(ctx context.Context, out *output) error {
	if err := preflight(nil); err != nil {
		return err
	}
	undo, err := scheduleInRealTime() // and the process that sends, which is its child
	if err != nil {
		out.say("not scheduled in real time, so that other work on this machine will show: %v", err)
	} else {
		defer undo()
	}
	type load struct {
		size      int
		congested bool
	}
	var loads []load
	for _, size := range c.Sizes {
		loads = append(loads, load{size, false}, load{size, true})
	}
	n := c.Rounds * len(c.Algorithms) * len(loads)
	out.say("%s of %v s", counted(n, "run"), c.Seconds)
	var rows []throughputRow
	for _, l := range loads {
		runs := map[string][]throughputRun{}
		for round := range c.Rounds {
			out.say("%d bytes, standing queue %v: round %d of %d", l.size, l.congested, round+1, c.Rounds)
			for _, name := range c.Algorithms {
				r, err := c.run(ctx, name, l.size, l.congested)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				runs[name] = append(runs[name], r)
			}
		}
		for _, name := range c.Algorithms {
			rows = append(rows, newThroughputRow(name, l.size, l.congested, runs[name], runs["droptail"]))
		}
	}
	if c.JSON {
		return out.printJSON(rows)
	}
	return out.print(func(w *strings.Builder) { c.writeTable(w, rows) })
}

func middleOf(runs []throughputRun, f func(int) float64) float64 {
	x := make([]float64, len(runs))
	for i := range runs {
		x[i] = f(i)
	}
	slices.Sort(x)
	return x[len(x)/2]
}

func newThroughputRow(name string, size int, congested bool, runs, without []throughputRun) throughputRow {
	cpu := middleOf(runs, func(i int) float64 { return runs[i].cpu })
	return throughputRow{
		Algorithm: name, Size: size, Congested: congested,
		Arrived:   middleOf(runs, func(i int) float64 { return runs[i].packets }),
		Delivered: middleOf(runs, func(i int) float64 { return runs[i].delivered }),
		Signals:   middleOf(runs, func(i int) float64 { return runs[i].signals }),
		CPU:       cpu * 1e6, PerCore: 1 / cpu,
		OverNone:   middleOf(runs, func(i int) float64 { return runs[i].cpu / without[i].cpu }),
		Difference: middleOf(runs, func(i int) float64 { return (runs[i].cpu - without[i].cpu) * 1e6 }),
	}
}

// run sends through one algorithm.
func (c *throughputCommand) run(ctx context.Context, name string, size int, congested bool) (r throughputRun, err error) {
	var d [2]tunlink.Direction
	rate := uint64(100e9)
	if congested {
		rate = uint64(c.Congested)
	}
	for i := range d {
		// Designed for the rate of the runs with a queue in both, so that it is the same.
		demo := demoCommand{Rate: c.Congested, RTT: 20 * time.Millisecond, Buffer: 1000, Flows: 8, Seed: 1}
		a, err := demo.build(name, uint64(i))
		if err != nil {
			return r, err
		}
		d[i] = tunlink.Direction{Rate: rate, LimitPackets: 1000, AQM: a}
	}
	b, err := openBed(d, false)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	var sink net.PacketConn // which is never read, so that it costs next to nothing
	if err := b.ends[1].Do(func() (err error) {
		sink, err = (&net.ListenConfig{}).ListenPacket(ctx, "udp", netip.AddrPortFrom(farAddress.Addr(), 0).String())
		return err
	}); err != nil {
		return r, err
	}
	defer func() { _ = sink.Close() }()
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	blast := exec.Command(self, "blast", sink.LocalAddr().String(), fmt.Sprint(size))
	blast.Env = append(os.Environ(), runAsCommand+"=1") // where self is a test
	if err := b.ends[0].Do(blast.Start); err != nil {
		return r, err
	}
	defer func() { _ = blast.Process.Kill(); _ = blast.Wait() }()
	for begun := time.Now(); b.link.Stats().A.Queue.Arrived.Packets < 100; {
		if time.Since(begun) > 10*time.Second {
			return r, errors.New("no packets arrived within 10 s")
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return r, err
		}
	}
	if err := sleep(ctx, 500*time.Millisecond); err != nil { // until as much comes out as goes in
		return r, err
	}
	before, cpu, start := b.link.Stats().A, processorTime(), time.Now()
	if err := sleep(ctx, time.Duration(c.Seconds*float64(time.Second))); err != nil {
		return r, err
	}
	after, used, seconds := b.link.Stats().A, processorTime()-cpu, time.Since(start).Seconds()
	arrived := float64(after.Queue.Arrived.Packets - before.Queue.Arrived.Packets)
	if arrived == 0 {
		return r, errors.New("no packet arrived")
	}
	q, p := after.Queue, before.Queue
	return throughputRun{
		packets:   arrived / seconds,
		delivered: float64(after.Delivered-before.Delivered) / seconds,
		signals:   float64(q.Marked.Packets+q.Refused.Packets+q.Dropped.Packets-p.Marked.Packets-p.Refused.Packets-p.Dropped.Packets) / seconds,
		cpu:       used.Seconds() / arrived,
	}, nil
}

// processorTime returns what this process has used.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Run is called by kong: it sends until it is killed, or its parent is gone.
func (c *blastCommand) Run() error {
	conn, err := net.Dial("udp", c.To)
	if err != nil {
		return err
	}
	raw, err := conn.(*net.UDPConn).SyscallConn()
	if err != nil {
		return err
	}
	parent := os.Getppid()
	b := make([]byte, c.Size-28)
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, 2) // ECT(0)
		for n := 0; failed == nil && (n&0xfff != 0 || os.Getppid() == parent); n++ {
			// One that finds no room is lost, as on a wire that is full.
			if _, err := unix.Write(int(fd), b); err != nil && err != unix.ENOBUFS && err != unix.EAGAIN && err != unix.ECONNREFUSED {
				failed = err
			}
		}
	}); err != nil {
		return err
	}
	return failed
}

func (c *throughputCommand) writeTable(w *strings.Builder, rows []throughputRow) {
	fmt.Fprintf(w, "UDP with ECT(0) through a link, %v s each, medians of %s\n\n", c.Seconds, counted(c.Rounds, "round"))
	t := table{head: []string{"algorithm", " bytes", "queue", " kpps in", " kpps out", " signals", " us CPU/packet", " kpps/core", " over drop-tail", " us more"}}
	for _, r := range rows {
		queue := "none"
		if r.Congested {
			queue = "standing"
		}
		t.add(r.Algorithm, r.Size, queue, fmt.Sprintf("%.1f", r.Arrived/1e3), fmt.Sprintf("%.1f", r.Delivered/1e3), fmt.Sprintf("%.1f %%", 100*r.Signals/r.Arrived),
			fmt.Sprintf("%.2f", r.CPU), fmt.Sprintf("%.1f", r.PerCore/1e3), fmt.Sprintf("%.3f", r.OverNone), fmt.Sprintf("%+.2f", r.Difference))
	}
	t.write(w)
	fmt.Fprintf(w, "\nWithout a queue the link has 100 Gb/s, and with a standing one %v. CPU is that of the link's process for each packet that\n"+
		"arrived, in user mode and the kernel; signals are marks and drops. The last two columns are medians over the rounds of the\n"+
		"ratio and of the difference to drop-tail, the link without an AQM, in the same round.\n", c.Congested)
}
