package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
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
)

type upCommand struct {
	Name       string   `arg:"" optional:"" default:"link" help:"What the link is called, for aqmlink watch and set (${default})."`
	Namespaces []string `placeholder:"NEAR,FAR" help:"Namespaces that are there, as ip netns lists them, or . for that of the caller. Without it two are made, aqmlink-NAME-near and aqmlink-NAME-far."`
	Devices    []string `default:"aqm-near,aqm-far" help:"Names of the TUN devices, which are made (${default})."`
	Addresses  []string `default:"10.99.0.1/30,10.99.0.2/30,fd00:99::1/64,fd00:99::2/64" help:"Addresses of the devices, near and far in turn (${default})."`

	Rate      bitRate       `default:"50M" help:"Rate in either direction, in bit/s: 50M, 2.5Gbit/s (${default})."`
	Delay     time.Duration `default:"10ms" help:"Propagation delay in either direction (${default})."`
	Loss      float64       `default:"0" help:"Probability that a packet is lost behind the queue (${default})."`
	Buffer    int           `default:"1000" help:"Limit of the queue in either direction, packets (${default})."`
	Algorithm string        `default:"codel" help:"Algorithm: ${algorithms} (${default})."`
	Protect   string        `enum:"default,ece,acksyn,all" default:"default" help:"What is never dropped early though it is not ECN-capable: default is nothing, ece what has the ECN-Echo flag, acksyn pure ACKs, SYNs and SYN-ACKs, all everything (${default})."`
	Flows     int           `default:"8" help:"Long flows that PI and REM are designed for (${default})."`

	BackRate      *bitRate       `placeholder:"RATE" help:"Rate from far to near, if it is another."`
	BackDelay     *time.Duration `placeholder:"DELAY" help:"Likewise, delay."`
	BackLoss      *float64       `placeholder:"P" help:"Likewise, loss."`
	BackAlgorithm string         `placeholder:"NAME" help:"Likewise, algorithm."`

	Seed  uint64        `default:"1" help:"Seed of the algorithms' random numbers and of the losses (${default})."`
	Drain time.Duration `default:"2s" help:"How long the link may take at the end to deliver what is in it (${default})."`
}

// Help is printed below the flags.
func (c *upCommand) Help() string {
	return `The link runs until SIGINT or SIGTERM, and then removes what it made. Watch it with "aqmlink watch NAME", change it while packets pass with "aqmlink set NAME". Programs run at its ends with "ip netns exec aqmlink-NAME-near COMMAND". What a link left that was killed is removed by the next aqmlink that starts.`
}

// ways are a link's directions.
var ways = [2]tunlink.Way{tunlink.A, tunlink.B}

// Validate is called by kong.
func (c *upCommand) Validate() error {
	var l flagErrors
	l.require(linkName.MatchString(c.Name), "name %q, must be of a to z, 0 to 9 and -, 41 at most", c.Name)
	l.require(c.Namespaces == nil || len(c.Namespaces) == 2, "--namespaces has %d, must have 2", len(c.Namespaces))
	l.require(len(c.Devices) == 2, "--devices has %d, must have 2", len(c.Devices))
	if len(c.Namespaces) == 2 && len(c.Devices) == 2 && c.Namespaces[0] == c.Namespaces[1] {
		l.require(c.Devices[0] != c.Devices[1], "--devices has %s twice in one namespace", c.Devices[0])
	}
	l.require(len(c.Addresses)%2 == 0, "--addresses has %d, must have as many for the near end as for the far", len(c.Addresses))
	for _, a := range c.Addresses {
		_, err := netip.ParsePrefix(a)
		l.require(err == nil, "--addresses: %q, must be like 10.99.0.1/30", a)
	}
	l.require(c.Buffer >= 1 && c.Buffer <= 1e6, "--buffer = %d packets, must be in [1, 1000000]", c.Buffer)
	l.require(c.Drain >= 0 && c.Drain <= time.Minute, "--drain = %v, must be in [0s, 1m]", c.Drain)
	l.require(c.Flows >= 1 && c.Flows <= 1e6, "--flows = %d flows, must be in [1, 1000000]", c.Flows)
	for i, name := range []string{"", "back-"} {
		rate, delay, loss, algorithm := c.direction(i)
		l.require(rate >= 1e3 && rate <= 100e9, "--%srate = %v, must be in [1 kb/s, 100 Gb/s]", name, bitRate(rate))
		l.require(delay >= 0 && delay <= 10*time.Second, "--%sdelay = %v, must be in [0s, 10s]", name, delay)
		l.require(loss >= 0 && loss <= 1, "--%sloss = %v, must be in [0, 1]", name, loss)
		_, err := catalog.Find(algorithm)
		l.require(err == nil, "--%salgorithm: %v", name, err)
	}
	return l.err()
}

// direction returns what is asked for of one direction.
func (c *upCommand) direction(i int) (rate uint64, delay time.Duration, loss float64, algorithm string) {
	rate, delay, loss, algorithm = uint64(c.Rate), c.Delay, c.Loss, c.Algorithm
	if i == 0 {
		return rate, delay, loss, algorithm
	}
	if c.BackRate != nil {
		rate = uint64(*c.BackRate)
	}
	if c.BackDelay != nil {
		delay = *c.BackDelay
	}
	if c.BackLoss != nil {
		loss = *c.BackLoss
	}
	if c.BackAlgorithm != "" {
		algorithm = c.BackAlgorithm
	}
	return rate, delay, loss, algorithm
}

// lab is a link that is up.
type lab struct {
	command *upCommand
	link    *tunlink.Link
	start   time.Time

	mu         sync.Mutex
	algorithms [2]string
	instances  uint64 // built so far, each with a stream of its own
}

// algorithm returns a new instance for a link of that rate, under the protection that
// was asked for.
func (b *lab) algorithm(name string, rate uint64, rtt time.Duration) (aqm.AQM, error) {
	b.instances++
	a, err := instance(name, record.Header{Seed: b.command.Seed, Stream: b.instances, Rate: rate, RTT: max(rtt, time.Millisecond), Flows: b.command.Flows})
	if policy := protections[b.command.Protect]; err == nil && policy.Protect != 0 {
		return ecnpolicy.New(a, policy)
	}
	return a, err
}

// Run is called by kong.
func (c *upCommand) Run(ctx context.Context, out *output) (err error) {
	if err := preflight(nil); err != nil {
		return err
	}
	var made, names []string
	if names = c.Namespaces; names == nil {
		made = []string{namespaceName(c.Name, "near"), namespaceName(c.Name, "far")}
		names = made
	}
	held, err := takeClaim(c.Name, out.say, made...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	for _, name := range made {
		ns, err := netns.Create(name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, ns.Close()) }()
		if err := ns.Do(func() error { return setUp("lo") }); err != nil {
			return err
		}
	}
	b := &lab{command: c, start: time.Now()}
	config, err := c.config(b, names)
	if err != nil {
		return err
	}
	if b.link, err = tunlink.Open(config); err != nil {
		return err
	}
	socket, err := (&net.ListenConfig{}).Listen(ctx, "unix", socketPath(c.Name))
	if err != nil {
		return errors.Join(err, b.link.Close())
	}
	ran := make(chan error, 1)
	go func() { ran <- b.link.Run(context.Background()) }()
	serving, stop := context.WithCancel(ctx)
	var clients sync.WaitGroup
	clients.Go(func() { b.serve(serving, socket, &clients) })

	near, far := b.link.Devices()
	out.say("link %s is up: %s in %s and %s in %s", c.Name, near, place(names[0]), far, place(names[1]))
	if made != nil && len(c.Addresses) > 1 {
		far, _, _ := strings.Cut(c.Addresses[1], "/")
		out.say("try: ip netns exec %s ping %s; aqmlink watch %s", names[0], far, c.Name)
	}
	select {
	case <-ctx.Done():
	case err = <-ran:
	}
	drain, cancel := context.WithTimeout(context.Background(), c.Drain)
	defer cancel()
	// What did not make it in time is in the figures.
	if e := b.link.Drain(drain); e != nil && !errors.Is(e, context.DeadlineExceeded) {
		err = errors.Join(err, e)
	}
	stop()
	_ = socket.Close()
	clients.Wait()
	if err != nil {
		return err
	}
	return out.print(b.writeEnd)
}

func place(namespace string) string {
	if namespace == "." {
		return "this namespace"
	}
	return "namespace " + namespace
}

// config returns the link that is asked for.
func (c *upCommand) config(b *lab, namespaces []string) (config tunlink.Config, err error) {
	config.MTU = tunlink.DefaultMTU
	rtt := time.Duration(0)
	for i := range ways {
		_, delay, _, _ := c.direction(i)
		rtt += delay
	}
	for i, d := range []*tunlink.Direction{&config.A, &config.B} {
		*d = tunlink.Direction{LimitPackets: c.Buffer, Seed: c.Seed}
		d.Rate, d.Delay, d.Loss, b.algorithms[i] = c.direction(i)
		if d.AQM, err = b.algorithm(b.algorithms[i], d.Rate, rtt); err != nil {
			return config, err
		}
	}
	for i, e := range []*tunlink.End{&config.EndA, &config.EndB} {
		e.Namespace, e.Device = namespaces[i], c.Devices[i]
		if e.Namespace == "." {
			e.Namespace = ""
		}
		for j := i; j < len(c.Addresses); j += 2 {
			address, err := netip.ParsePrefix(c.Addresses[j])
			if err != nil {
				return config, err
			}
			e.Also = append(e.Also, address)
		}
	}
	return config, nil
}

// setUp sets up a device of the calling thread's namespace.
func setUp(device string) error {
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(sock) }()
	ifr, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(sock, unix.SIOCGIFFLAGS, ifr); err != nil {
		return err
	}
	ifr.SetUint16(ifr.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(sock, unix.SIOCSIFFLAGS, ifr)
}

// serve answers clients until ctx is cancelled and the socket closed.
func (b *lab) serve(ctx context.Context, socket net.Listener, clients *sync.WaitGroup) {
	for {
		conn, err := socket.Accept()
		if err != nil {
			return
		}
		clients.Go(func() {
			end := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer end()
			defer func() { _ = conn.Close() }()
			b.answer(ctx, conn)
		})
	}
}

// answer answers one client. There is nobody to tell of an error of its connection.
func (b *lab) answer(ctx context.Context, conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	line, err := bufio.NewReaderSize(conn, 4096).ReadSlice('\n')
	if err != nil {
		return
	}
	var r request
	e := json.NewEncoder(conn)
	if err := json.Unmarshal(line, &r); err != nil {
		_ = e.Encode(reply{"not a request: " + err.Error()})
		return
	}
	if r.Set != nil {
		var answer reply
		if err := b.set(*r.Set); err != nil {
			answer.Error = err.Error()
		}
		_ = e.Encode(answer)
		return
	}
	tick := time.NewTicker(max(r.Watch, 10*time.Millisecond))
	defer tick.Stop()
	for before := (*sample)(nil); ; {
		s := b.sample(before)
		if e.Encode(s) != nil {
			return
		}
		before = s
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sample returns the link now.
func (b *lab) sample(before *sample) *sample {
	b.mu.Lock()
	algorithms := b.algorithms
	b.mu.Unlock()
	stats, now := b.link.Stats(), time.Now()
	s := &sample{Link: b.command.Name, Seconds: now.Sub(b.start).Seconds()}
	var last [2]*directionSample
	if before != nil {
		last = [2]*directionSample{&before.Forward, &before.Back}
	}
	for i, d := range []*directionSample{&s.Forward, &s.Back} {
		var p *float64
		_ = b.link.Inspect(ways[i], func(_ aqm.Time, a aqm.AQM) { p = probabilityOf(a) })
		*d = newDirectionSample(algorithms[i], []tunlink.DirectionStats{stats.A, stats.B}[i], p, now, last[i])
	}
	return s
}

// set changes the link. Algorithms are designed for the rate and the delays that are
// then in force.
func (b *lab) set(x setting) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !x.Forward && !x.Back {
		return errors.New("neither direction is to change")
	}
	stats := b.link.Stats()
	now := [2]tunlink.DirectionStats{stats.A, stats.B}
	chosen := [2]bool{x.Forward, x.Back}
	rtt := time.Duration(0)
	for i := range ways {
		if delay := now[i].Delay; chosen[i] && x.Delay != nil {
			rtt += *x.Delay
		} else {
			rtt += delay
		}
	}
	for i, w := range ways {
		if !chosen[i] {
			continue
		}
		c := tunlink.Change{Rate: x.Rate, Delay: x.Delay, Loss: x.Loss}
		rate := now[i].Rate
		if x.Rate != nil {
			rate = *x.Rate
		}
		if x.Algorithm != "" {
			var err error
			if c.AQM, err = b.algorithm(x.Algorithm, rate, rtt); err != nil {
				return err
			}
		}
		if err := b.link.Update(w, c); err != nil {
			return err
		}
		if x.Algorithm != "" {
			b.algorithms[i] = x.Algorithm
		}
	}
	return nil
}

// writeEnd says what became of all packets.
func (b *lab) writeEnd(w *strings.Builder) {
	s := b.link.Stats()
	t := table{head: []string{"direction", "algorithm", " arrived", " delivered", " marked", " dropped", " lost", " refused", " left inside"}}
	for i, d := range []tunlink.DirectionStats{s.A, s.B} {
		x := newDirectionSample(b.algorithms[i], d, nil, time.Now(), nil)
		t.add([]string{"forward", "back"}[i], x.Algorithm, x.Arrived, x.Delivered, x.Marks, x.total(), x.Lost, d.WriteErrors, d.Queue.Flushed.Packets+d.Abandoned)
	}
	t.write(w)
}
