package aqmtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// The models.
const (
	fluid   = "fluid"
	packets = "packets"
)

// silence is how long the link is idle before the last phase: long enough to show
// what winds up.
const silence = 10 * time.Minute

// A phase has twice blocks of Settle/blocks, and perBlock samples in each of them.
const (
	blocks   = 10
	perBlock = 100
)

// closedLoop is a point of a domain.
type closedLoop struct {
	domain Domain
	point  Point
}

// run has the AQM in both models. It ends with the first phase that breaks a promise.
func (l *closedLoop) run() (phases []Phase, err error) {
	a, err := l.make()
	if err != nil {
		return nil, err
	}
	if p := probabilityOf(a); p != nil && l.domain.Sender != DCTCP {
		if phases, err = l.fluid(a, p); err != nil {
			return phases, err
		}
		if a, err = l.make(); err != nil {
			return phases, err
		}
	}
	more, err := l.packets(a)
	return append(phases, more...), err
}

func (l *closedLoop) make() (aqm.AQM, error) {
	a, err := l.domain.Design(l.point, rand.NewPCG(l.point.Seed, uint64(l.point.Index)))
	if err == nil && a == nil {
		err = errors.New("it is nil")
	}
	if err != nil {
		return nil, fmt.Errorf("aqmtest: no AQM at %v: %w", l.point, err)
	}
	return a, nil
}

func (l *closedLoop) setRate(a aqm.AQM, rate uint64) error {
	if l.domain.SetRate == nil {
		return nil
	}
	if err := l.domain.SetRate(a, rate); err != nil {
		return fmt.Errorf("aqmtest: Domain.SetRate to %d bit/s at %v: %w", rate, l.point, err)
	}
	return nil
}

// probabilityOf returns the method of a, or of what it decorates.
func probabilityOf(a aqm.AQM) func() float64 {
	for range 16 {
		if p, ok := a.(interface{ Probability() float64 }); ok {
			return p.Probability
		}
		u, ok := a.(interface{ Unwrap() aqm.AQM })
		if !ok {
			return nil
		}
		a = u.Unwrap()
	}
	return nil
}

// steps returns the phases that are to be measured, but for the last, which is a
// matter of idle times.
func (l *closedLoop) steps(model string) []Phase {
	n, c, u := l.point.Flows, l.point.Rate, l.domain.Unit
	steps := []Phase{
		{Step: "start", Flows: n, Rate: c},
		{Step: "flows x2", Flows: 2 * n, Rate: c},
		{Step: "flows /2", Flows: n, Rate: c},
		{Step: "rate /2", Flows: n, Rate: c / 2},
		{Step: "rate x2", Flows: n, Rate: c},
		{Step: restart, Flows: n, Rate: c},
	}
	if model == fluid {
		steps = steps[:5]
	}
	for i := range steps {
		steps[i].Model, steps[i].Unit = model, u
	}
	return steps
}

// restart is the name of the step after the silence.
const restart = "start after 10m of silence"

// judge fills in what the samples of a phase say, which are in Unit and at equal
// intervals, and returns the first promise that it breaks.
func (l *closedLoop) judge(p *Phase, samples []float64) error {
	d := l.domain
	share := func(x float64) float64 { return x / d.Target }
	least, most := d.Band.Low*max(0, 1-d.Swing), d.Band.High*(1+d.Swing)
	low, high := 0, 0 // blocks out of bounds, once they must not be
	block := len(samples) / (2 * blocks)
	for i := range 2 * blocks {
		m := share(meanOf(samples[i*block : (i+1)*block]))
		if m >= least && m <= most {
			continue
		}
		p.Settled = time.Duration(i+1) * d.Settle / blocks
		if i >= blocks && m < least {
			low++
		} else if i >= blocks {
			high++
		}
	}
	late := slices.Clone(samples[blocks*block:])
	p.Mean = meanOf(late)
	slices.Sort(late)
	p.Swing = (late[len(late)*95/100] - late[len(late)*5/100]) / 2

	var errs []error
	require := func(ok bool, promise Law, format string, args ...any) {
		if !ok {
			errs = append(errs, &Instability{promise, l.point, *p, fmt.Sprintf(format, args...)})
		}
	}
	require(low+high == 0, settles, "of %d means over %v that begin %v after the step, %d are below and %d above [%.3g, %.3g] of the target of %v %v",
		blocks, d.Settle/blocks, d.Settle, low, high, least, most, d.Target, d.Unit)
	m := share(p.Mean)
	require(m >= d.Band.Low && m <= d.Band.High, mean, "the mean is %.3g of the target of %v %v, must be in [%v, %v]", m, d.Target, d.Unit, d.Band.Low, d.Band.High)
	require(p.Swing <= d.Swing*p.Mean, oscillation, "the swing is %.3g of the mean, must be <= %v", p.Swing/p.Mean, d.Swing)
	require(p.Model == fluid || p.Utilisation >= d.Utilisation, utilisation, "the link is busy for %.3g of the time, must be >= %v", p.Utilisation, d.Utilisation)
	return errors.Join(errs...)
}

func meanOf(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(len(x), 1))
}

// packets has the AQM in a simulation of every packet.
func (l *closedLoop) packets(a aqm.AQM) (phases []Phase, err error) {
	d := l.domain
	net := netmodel.New()
	all := 2 * l.point.Flows
	left := make([]time.Duration, all)
	for i := range left {
		// The golden ratio spreads any number of the first flows evenly.
		left[i] = time.Duration(float64(i)*0.6180339887498949*float64(l.point.RTT/4)) % max(l.point.RTT/4, 1)
	}
	bell, err := net.Dumbbell(netmodel.DumbbellConfig{
		Bottleneck: netmodel.QueueConfig{Rate: l.point.Rate, Delay: l.point.RTT / 8, Limit: d.buffer(l.point), AQM: a},
		Access:     10 * l.point.Rate,
		Left:       left,
		Right:      []time.Duration{l.point.RTT / 8},
	})
	if err != nil {
		return nil, fmt.Errorf("aqmtest: at %v: %w", l.point, err)
	}
	c := tcp.DefaultConfig()
	c.MSS = packetSize - c.Header
	c.Variant = [...]tcp.Variant{Reno: tcp.NewReno, CUBIC: tcp.CUBIC, DCTCP: tcp.DCTCP}[d.Sender]
	pool, err := tcp.NewPool(net, c)
	if err != nil {
		return nil, err
	}

	flows := make([]*longLived, all)
	active := 0
	load := func(n int) {
		now := net.Now()
		for ; active > n; active-- {
			flows[active-1].stop()
		}
		for i := active; i < n; i++ {
			at := now + aqm.Time(l.point.RTT)*aqm.Time(i-active)/aqm.Time(n-active)
			net.Sim().At(at, func(now aqm.Time) {
				if flows[i] == nil {
					flows[i] = &longLived{}
					flows[i].end = &pool.Dial(now, bell.Routes[i], i, flows[i], nil).Client
				}
				flows[i].start(now)
			})
		}
		active = n
	}

	const samples = 2 * blocks * perBlock
	every := d.Settle / (blocks * perBlock)
	link := bell.Bottleneck
	for _, p := range l.steps(packets) {
		if p.Step == restart {
			load(0)
			net.Run(net.Now() + aqm.Time(silence))
		}
		if p.Rate != link.Rate() {
			link.SetRate(p.Rate)
			if err := l.setRate(a, p.Rate); err != nil {
				return phases, err
			}
		}
		load(p.Flows)
		queue := make([]float64, samples)
		for i := range queue {
			if i == samples/2 {
				link.Measure()
			}
			net.Run(net.Now() + aqm.Time(every))
			switch d.Unit {
			case aqm.Packets:
				queue[i] = float64(link.Len())
			case aqm.Bytes:
				queue[i] = float64(link.Bytes())
			case aqm.Delay:
				queue[i] = float64(link.Bytes()) * 8 / float64(p.Rate)
			}
		}
		s := link.Stats()
		p.Utilisation = s.Utilisation()
		err := l.judge(&p, queue)
		phases = append(phases, p)
		if err != nil {
			return phases, err
		}
	}
	return phases, nil
}

// longLived is an application that has always two windows to send, until it is told to
// stop.
type longLived struct {
	tcp.NoApp
	end       *tcp.End
	written   int64 // bytes; of them, those not acknowledged
	connected bool
	on        bool
}

func (f *longLived) start(now aqm.Time) {
	f.on = true
	f.fill(now)
}

func (f *longLived) stop() { f.on = false }

func (f *longLived) fill(now aqm.Time) {
	if !f.on || !f.connected {
		return
	}
	window, _ := f.end.Window()
	if n := 2*int64(window) + packetSize - f.written; n > 0 {
		f.written += n
		f.end.Write(now, n)
	}
}

// Connected begins to send.
func (f *longLived) Connected(now aqm.Time, _ *tcp.End) {
	f.connected = true
	f.fill(now)
}

// Acked sends more.
func (f *longLived) Acked(now aqm.Time, _ *tcp.End, n int64) {
	f.written -= n
	f.fill(now)
}
