package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/internal/netns"
	"github.com/aqmkit/aqmkit/datapath/tunlink"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/record"
	"github.com/aqmkit/aqmkit/threshold"
)

// preflight returns all that the demo lacks, and how to get it.
func preflight(congestionControls []string) error {
	var lacks []string
	if missing := missingCapabilities(); len(missing) > 0 {
		lacks = append(lacks, strings.Join(missing, " and ")+" (run it as root: sudo; in a container: --privileged)")
	}
	if f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err == nil {
		_ = f.Close()
	} else {
		lacks = append(lacks, fmt.Sprintf("/dev/net/tun (%v; modprobe tun; in a container: --device /dev/net/tun)", errors.Unwrap(err)))
	}
	for _, name := range congestionControls {
		// One that is there, but not for everybody, is there for root.
		if err := tryCongestionControl(name); err != nil && !errors.Is(err, unix.EPERM) {
			there, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
			lacks = append(lacks, fmt.Sprintf("congestion control %q (%v; there are: %s; modprobe tcp_%s, or choose with --cc)", name, err, strings.TrimSpace(string(there)), name))
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("this needs %s", strings.Join(lacks, "; and "))
	}
	return nil
}

// missingCapabilities returns the names of the capabilities that the demo needs and
// the process does not have.
func missingCapabilities() (names []string) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // of capabilities 0 to 31, and 32 to 63
	if err := unix.Capget(&header, &data[0]); err != nil {
		return nil // then what fails says why
	}
	for _, c := range []struct {
		name string
		bit  uint
	}{{"CAP_NET_ADMIN", unix.CAP_NET_ADMIN}, {"CAP_SYS_ADMIN", unix.CAP_SYS_ADMIN}} {
		if data[0].Effective&(1<<c.bit) == 0 {
			names = append(names, c.name)
		}
	}
	return names
}

func tryCongestionControl(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}

// runCell runs the flows through one algorithm, on a bed of their own.
func (c *demoCommand) runCell(ctx context.Context, one cell, file *record.File) (r result, err error) {
	r.cell = one
	directions, err := c.directions(one, file)
	if err != nil {
		return r, err
	}
	b, err := openBed(directions, one.ECN)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.close()) }()

	t, err := startTraffic(ctx, b.ends[0], b.ends[1], farAddress.Addr(), load{flows: c.Flows, reverse: c.reverse, cc: one.CC, rtt: c.RTT})
	if err != nil {
		return r, err
	}
	dials := func() (*dialling, error) { return nil, nil }
	if c.connections > 0 {
		dials = startDialling(ctx, b.ends, time.Second/time.Duration(c.connections), time.Duration(*c.Warmup*float64(time.Second)))
	}
	err = r.measure(ctx, t, *c.Warmup, *c.Seconds)
	t.stop()
	if d, failed := dials(); failed != nil {
		err = errors.Join(err, failed)
	} else {
		r.setup = d
	}
	if err != nil {
		return r, err
	}
	drained(b.link, c.RTT)
	return r, r.count(b.link, b.ends)
}

// sysctls sets up the calling thread's namespace.
func sysctls(ecn bool) error {
	set := func(name, value string) error { return os.WriteFile("/proc/sys/net/"+name, []byte(value), 0) }
	// Router solicitations are not part of the demo. A kernel without IPv6 sends none.
	_ = set("ipv6/conf/all/disable_ipv6", "1")
	_ = set("ipv6/conf/default/disable_ipv6", "1")
	// The buffers of the hosts are not what is measured: 64 MB are 2.5 s at 200 Mb/s.
	_ = set("ipv4/tcp_rmem", "4096 131072 67108864")
	_ = set("ipv4/tcp_wmem", "4096 16384 67108864")
	if ecn {
		return set("ipv4/tcp_ecn", "1")
	}
	return set("ipv4/tcp_ecn", "0")
}

// directions returns that of the data and that of the ACKs, each under an instance of
// the algorithm.
func (c *demoCommand) directions(one cell, file *record.File) (d [2]tunlink.Direction, err error) {
	var both sync.Mutex // the recording's
	for i, name := range []string{"data", "ACKs"} {
		h := c.header(one.Algorithm, uint64(i))
		h.Name = one.String() + ", " + name
		a, err := instance(one.Algorithm, h)
		if err != nil {
			return d, err
		}
		if file != nil {
			if a, err = file.Queue(h, a); err != nil {
				return d, err
			}
			a = &locked{mu: &both, AQM: a}
		}
		if _, ok := a.(*threshold.Threshold); ok && c.dropNotECT {
			if a, err = droppingThreshold(h); err != nil {
				return d, err
			}
		}
		if c.policy != nil {
			if a, err = ecnpolicy.New(a, *c.policy); err != nil {
				return d, err
			}
		}
		d[i] = tunlink.Direction{Rate: uint64(c.Rate), Delay: c.RTT / 2, LimitPackets: c.Buffer, AQM: a}
	}
	return d, nil
}

// droppingThreshold is the catalog's threshold as switches have it: what is above and
// cannot be marked is dropped.
func droppingThreshold(h record.Header) (aqm.AQM, error) {
	c, err := threshold.Design(threshold.TCPECN, h.Rate, h.RTT, 1, catalog.MeanPacket, 0)
	if err != nil {
		return nil, err
	}
	c.DropNotECT = true
	return threshold.New(c)
}

// locked lets the directions of a link, which are two goroutines' business, share a
// recording, which is one's.
type locked struct {
	mu *sync.Mutex
	aqm.AQM
}

func (l *locked) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.AQM.Enqueue(now, p, q)
}

func (l *locked) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.AQM.Dequeue(now, p, q)
}

// measure lets the traffic run, and takes what TCP and the applications see of it.
func (r *result) measure(ctx context.Context, t *traffic, warmup, seconds float64) error {
	if err := sleep(ctx, time.Duration(warmup*float64(time.Second))); err != nil {
		return err
	}
	goodput, roundTrips, err := t.window(ctx, time.Duration(seconds*float64(time.Second)))
	if err != nil {
		return err
	}
	r.Goodput, r.Reverse = goodput[0], goodput[1]
	r.RTTMedian = float64(roundTrips.ValueAtPercentile(50)) / 1e3
	r.RTTP99 = float64(roundTrips.ValueAtPercentile(99)) / 1e3
	r.RTTSamples = roundTrips.TotalCount()
	r.Retransmissions, err = t.retransmissions()
	return err
}

// drained waits until the link is empty, and no host answers any more.
func drained(link *tunlink.Link, rtt time.Duration) {
	// Looks are counted, and not time: where the machine lets the process stand still, no
	// time is long enough for the link to have read what a device holds.
	const every, enough = 5 * time.Millisecond, 10
	empty := 0
	for range (5*time.Second + 2*rtt) / every {
		s := link.Stats()
		if empty++; s.A.Queued.Packets+s.B.Queued.Packets > 0 || s.A.InFlight+s.B.InFlight > 0 {
			empty = 0
		}
		if empty > enough {
			return
		}
		time.Sleep(every)
	}
}

// count takes what the link and the kernels counted.
func (r *result) count(link *tunlink.Link, ends [2]*netns.Namespace) error {
	s := link.Stats()
	nameA, nameB := link.Devices()
	for i, d := range []tunlink.DirectionStats{s.A, s.B} {
		r.Marks += d.Queue.Marked.Packets
		r.MarkedDropped += d.MarkedDropped
		r.MarkedQueued += d.Queue.Marked.Packets - d.MarkedDropped - d.MarkedSent
		for g, reasons := range d.Dropped {
			r.Drops[g].Early += reasons[aqm.Early]
			r.Drops[g].Forced += reasons[aqm.Forced]
			r.Drops[g].Overflow += reasons[aqm.Overflow]
		}
		r.DeviceDropped += d.WriteErrors
		r.LatenessP99 = max(r.LatenessP99, milliseconds(time.Duration(d.Lateness.ValueAtPercentile(99))))
		if err := ends[i].Do(func() error {
			counters, err := kernelCounters([]string{nameA, nameB}[i])
			r.CE += counters.ce
			r.ChecksumErrors += counters.checksum
			r.DeviceDropped += counters.dropped
			return err
		}); err != nil {
			return err
		}
	}
	r.SojournMedian = milliseconds(time.Duration(s.A.Sojourn.ValueAtPercentile(50)))
	r.SojournP99 = milliseconds(time.Duration(s.A.Sojourn.ValueAtPercentile(99)))
	return nil
}

// counters are what a namespace's kernel has counted.
type counters struct {
	ce       uint64 // packets received with CE
	checksum uint64 // packets received with a wrong IP header or TCP checksum
	dropped  uint64 // packets dropped by the device in either direction
}

// kernelCounters reads the counters of the calling thread's namespace.
func kernelCounters(device string) (c counters, err error) {
	values := map[string]uint64{}
	for _, file := range []string{"netstat", "snmp"} {
		text, err := os.ReadFile("/proc/thread-self/net/" + file)
		if err != nil {
			return c, err
		}
		readCounters(values, string(text))
	}
	ce, ok := values["IpExt:InCEPkts"]
	if !ok {
		return c, errors.New("the kernel does not count packets with CE")
	}
	text, err := os.ReadFile("/proc/thread-self/net/dev")
	if err != nil {
		return c, err
	}
	return counters{
		ce:       ce,
		checksum: values["Ip:InHdrErrors"] + values["IpExt:InCsumErrors"] + values["Tcp:InCsumErrors"],
		dropped:  deviceDrops(device, string(text)),
	}, nil
}

// readCounters reads pairs of lines: a group's name and the names of its counters,
// then the group's name and their values.
func readCounters(into map[string]uint64, text string) {
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		for j := 1; j < min(len(names), len(values)); j++ {
			if n, err := strconv.ParseUint(values[j], 10, 64); err == nil {
				into[names[0]+names[j]] = n
			}
		}
	}
}

// deviceDrops returns how many packets a device has dropped, according to
// /proc/net/dev: the fourth of eight figures about reception, and of as many about
// transmission.
func deviceDrops(device, text string) (n uint64) {
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		figures := strings.Fields(rest)
		if strings.TrimSpace(name) != device || len(figures) < 12 {
			continue
		}
		for _, i := range []int{3, 11} {
			x, _ := strconv.ParseUint(figures[i], 10, 64)
			n += x
		}
	}
	return n
}
