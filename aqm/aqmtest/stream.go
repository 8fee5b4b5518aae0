package aqmtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
)

// stream is traffic as one instance saw it: every question that a queue asked it, or
// would not have asked it, up to a panic.
type stream struct {
	asking
	verdicts []aqm.Verdict
}

// memo keeps what several laws use.
type memo struct {
	ordinary, sources, backward, hostile, grid []*stream

	long, soak *stream

	watched, lingers bool // whether an instance's goroutines stay

	paced, gapDone, compared, paired bool
	gap                              *Violation
	varies                           bool // from one run to the next
	differing                        *stream
	difference                       *breach // of another run over it, if varies
	single                           bool    // all instances are one
}

// The streams' numbers, which seed their traffic and their source.
const (
	mixedStream    = 100
	backwardStream = 200
	hostileStream  = 300
	sourcesStream  = 400
	heedlessStream = 500
	gridStream     = 600
)

// fullOften is the limit in packets that makes the queue full often.
const fullOften = 64

// load is traffic of up to ops operations, which run puts through a queue.
type load struct {
	ops int
	run func(*script.Machine, *recorder)
}

// ordinaryStreams returns what a queue asks an instance in traffic at each of the
// periods: traffic that heeds the signals and traffic that does not, and at last all
// periods in one. Time starts at 0.
func (s *session) ordinaryStreams() []*stream {
	if s.memo.ordinary == nil {
		var mixed script.Script
		for i, period := range s.periods {
			k := uint64(i)
			s.memo.ordinary = append(s.memo.ordinary,
				s.record(seeded(s.seed, k), s.responsive(k, s.packets, period)),
				s.record(seeded(s.seed, heedlessStream+k), s.halves(s.traffic(heedlessStream+k, s.packets, period))))
			part := s.traffic(mixedStream+k, s.packets/len(s.periods)+1, period)
			part[0].Wait = []time.Duration{0, time.Second, 40 * time.Second}[i%3] // longer ones are bounded-work's
			mixed = append(mixed, part...)
		}
		s.memo.ordinary = append(s.memo.ordinary, s.record(seeded(s.seed, mixedStream), s.halves(mixed)))
	}
	return s.memo.ordinary
}

// sourceStreams returns ordinary traffic for instances with hostile sources.
func (s *session) sourceStreams() []*stream {
	if s.memo.sources == nil {
		for i, src := range hostileSources() {
			ops := s.traffic(sourcesStream+uint64(i), s.packets/2, s.periods[(i+len(s.periods)-1)%len(s.periods)])
			s.memo.sources = append(s.memo.sources, s.record(src, s.halves(ops)))
		}
	}
	return s.memo.sources
}

// gridStreams returns traffic in which every instant is a whole number of
// milliseconds, with something in each of them: where an AQM's periods and intervals
// are whole milliseconds too, one of its instants is that of an event.
func (s *session) gridStreams() []*stream {
	if s.memo.grid == nil {
		const step = time.Millisecond
		for k := range uint64(2) {
			r := rand.New(rand.NewPCG(s.seed, gridStream+k))
			ops := s.traffic(gridStream+k, s.packets/2, step)
			for i := range ops {
				if op := &ops[i]; op.Wait < 20*step {
					op.Wait = step * time.Duration(r.IntN(2))
				} else {
					op.Wait = op.Wait.Round(step)
				}
			}
			l := s.halves(ops)
			if k == 1 { // a queue that stands
				l = load{len(ops), func(m *script.Machine, r *recorder) {
					m.LimitPackets = min(s.limit, fullOften)
					_ = m.Run(ops, r)
				}}
			}
			s.memo.grid = append(s.memo.grid, s.record(seeded(s.seed, gridStream+k), l))
		}
	}
	return s.memo.grid
}

// longStream returns the ordinary streams one after the other, again and again.
func (s *session) longStream() *stream {
	if s.memo.long != nil {
		return s.memo.long
	}
	const length = 24_000
	long := &stream{asking: asking{src: seeded(s.seed, 0)}}
	start := aqm.Time(0)
	for len(long.calls) < length {
		before := len(long.calls)
		for _, st := range s.ordinaryStreams() {
			for _, c := range st.calls {
				c.Now = start.Add(time.Duration(c.Now))
				c.Packet.EnqueuedAt = start.Add(time.Duration(c.Packet.EnqueuedAt))
				long.calls = append(long.calls, c)
			}
			if n := len(long.calls); n > 0 {
				start = long.calls[n-1].Now
			}
		}
		if len(long.calls) == before { // they end in a panic at once
			break
		}
	}
	s.memo.long = s.replayed(long.src, long.calls)
	return s.memo.long
}

// soakStream returns more than 2^16 packets, and of them more than 2^32 bytes, of the
// largest size on the wire.
func (s *session) soakStream() *stream {
	if s.memo.soak != nil {
		return s.memo.soak
	}
	const packets, size, deep = 70_000, 65_535, 48
	period := s.periods[len(s.periods)/2]
	calls := make([]Call, 0, 2*packets)
	now := aqm.Time(0)
	for i := range packets {
		n := i / 64 % (2 * deep) // it rises and falls
		n = min(n, 2*deep-n)
		now = now.Add(period)
		p := aqm.Packet{EnqueuedAt: now, Size: size, ECN: aqm.ECN(i % 4), Class: aqm.Data}
		q := aqm.Occupancy{Packets: n, Bytes: int64(n) * size}
		calls = append(calls, Call{Now: now, Packet: p, Occupancy: q})
		p.EnqueuedAt = now.Add(-time.Duration(n) * period)
		calls = append(calls, Call{AtDequeue: true, Now: now, Packet: p, Occupancy: q})
	}
	s.memo.soak = s.replayed(seeded(s.seed, 0), calls)
	return s.memo.soak
}

// backwardStreams returns the ordinary streams under a clock that steps back, for one
// call or for many.
func (s *session) backwardStreams() []*stream {
	if s.memo.backward == nil {
		furthest := time.Duration(1 << 62)
		if s.gap() != nil { // as in hostileStreams: the way back is a gap, to an AQM that believes it
			furthest = time.Second
		}
		for i, st := range s.ordinaryStreams() {
			k := backwardStream + uint64(i)
			r := rand.New(rand.NewPCG(s.seed, k))
			scale := float64(s.periods[i/2%len(s.periods)])
			calls := slices.Clone(st.calls)
			var back time.Duration
			for i, left := 0, 0; i < len(calls); i++ {
				if left--; left < 0 && r.IntN(8) == 0 {
					back = pick(r, 1, time.Duration(r.ExpFloat64()*scale), time.Duration(r.ExpFloat64()*20*scale), min(time.Hour, furthest), furthest)
					left = pick(r, 1, 1, 1, 30)
				}
				if c := &calls[i]; left > 0 {
					c.Now = c.Now.Add(-back)
				}
			}
			s.memo.backward = append(s.memo.backward, s.replayed(seeded(s.seed, k), calls))
		}
	}
	return s.memo.backward
}

// hostileStreams returns questions with values that no queue has, few of them amid
// ordinary ones and nothing but them.
func (s *session) hostileStreams() []*stream {
	if s.memo.hostile != nil {
		return s.memo.hostile
	}
	twists := []func(*rand.Rand, *Call){hostileSize, hostileCounts}
	if s.gap() == nil { // an AQM whose work grows with the gap would never be done
		twists = append(twists, hostileTimes)
	}
	n := s.packets / 4
	ordinary := s.ordinaryStreams()
	for i, twist := range twists {
		for j, st := range ordinary {
			k := hostileStream + uint64(i*len(ordinary)+j)
			r := rand.New(rand.NewPCG(s.seed, k))
			calls := slices.Clone(st.calls[:min(n, len(st.calls))])
			for c := range calls {
				if r.IntN(16) == 0 {
					twist(r, &calls[c])
				}
			}
			s.memo.hostile = append(s.memo.hostile, s.replayed(seeded(s.seed, k), calls))
		}
	}
	for i, src := range append(hostileSources(), seeded(s.seed, hostileStream)) {
		r := rand.New(rand.NewPCG(s.seed, hostileStream+90+uint64(i)))
		calls := make([]Call, n)
		for c := range calls {
			calls[c] = Call{
				AtDequeue: r.IntN(2) == 0,
				Now:       aqm.Time(c) * aqm.Time(s.periods[0]),
				Packet:    aqm.Packet{Size: 1500, ECN: aqm.ECN(r.IntN(4)), Class: aqm.Class(r.IntN(256))},
			}
			calls[c].Occupancy.Full = !calls[c].AtDequeue && r.IntN(8) == 0
			for _, twist := range twists {
				twist(r, &calls[c])
			}
		}
		s.memo.hostile = append(s.memo.hostile, s.replayed(src, calls))
	}
	return s.memo.hostile
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func hostileSize(r *rand.Rand, c *Call) {
	c.Packet.Size = pick[uint32](r, 0, 1, math.MaxUint32-1, math.MaxUint32)
}

func hostileCounts(r *rand.Rand, c *Call) {
	c.Occupancy.Packets = pick(r, math.MinInt, -1, 0, 1, c.Occupancy.Packets, math.MaxInt)
	c.Occupancy.Bytes = pick[int64](r, math.MinInt64, -1, 0, 1, c.Occupancy.Bytes, math.MaxInt64)
}

func hostileTimes(r *rand.Rand, c *Call) {
	hostile := func(t aqm.Time) aqm.Time {
		return pick(r, math.MinInt64, math.MinInt64+1, -1, 0, 1, t, t.Add(10*365*24*time.Hour), aqm.Time(r.Uint64()), math.MaxInt64-1, math.MaxInt64)
	}
	c.Now = hostile(c.Now)
	c.Packet.EnqueuedAt = hostile(c.Packet.EnqueuedAt)
}

// allStreams returns every stream there is but those of the time's origin and of age.
func (s *session) allStreams() []*stream {
	return slices.Concat(s.ordinaryStreams(), s.sourceStreams(), s.backwardStreams(), s.hostileStreams())
}

// traffic returns n operations at a mean distance of period, with several at the
// same instant, and the queue emptied now and then.
func (s *session) traffic(stream uint64, n int, period time.Duration) script.Script {
	r := rand.New(rand.NewPCG(s.seed, stream))
	ops := script.Random(r, n, period)
	for i := range ops {
		switch r.IntN(1024) {
		case 0:
			ops[i].Kind = script.Flush
		case 1, 2, 3, 4, 5, 6, 7:
			ops[i].Wait *= 64
		default:
			if r.IntN(4) == 0 {
				ops[i].Wait = 0
			}
		}
		if r.IntN(8) == 0 {
			ops[i].Class |= aqm.ECE
		}
	}
	return ops
}

// halves is a load of which the first half runs under the limit and the second under
// one that makes the queue full often.
func (s *session) halves(ops script.Script) load {
	return load{len(ops), func(m *script.Machine, r *recorder) {
		half := len(ops) / 2
		m.LimitPackets = s.limit
		_ = m.Run(ops[:half], r) // no Judged, no error
		m.LimitPackets = min(s.limit, fullOften)
		_ = m.Run(ops[half:], r)
	}}
}

// responsive is a load of n operations that heeds the signals, as flows in congestion
// avoidance do: its rate grows until there is one, and falls then. It keeps an AQM
// near where it is meant to work, as traffic that does not care never does for long.
func (s *session) responsive(stream uint64, n int, period time.Duration) load {
	const (
		increase = 0.001 // packets per period, in each period
		decrease = 0.96  // for each signal: one flow of a dozen halves; with increase, a signal to 2.5 % of the packets
	)
	return load{n, func(m *script.Machine, r *recorder) {
		m.LimitPackets = s.limit
		random := rand.New(rand.NewPCG(s.seed, stream))
		rate, credit := 0.8, 0.0
		for left := n; left > 0; {
			credit += float64(rate * 2 * random.Float64())
			arrivals := int(credit)
			credit -= float64(arrivals)
			gap := time.Duration(float64(period) * 2 * random.Float64() / float64(arrivals+1))
			ops := make(script.Script, 0, arrivals+1)
			for range arrivals {
				op := arrival(random)
				op.Wait = gap
				ops = append(ops, op)
			}
			ops = append(ops, script.Op{Kind: script.Depart, Wait: gap})
			ops = ops[:min(left, len(ops))]
			left -= len(ops)
			before := len(r.verdicts)
			_ = m.Run(ops, r)
			rate = min(2, rate+increase)
			for _, v := range r.verdicts[before:] {
				if v.Action != aqm.Pass {
					rate = max(0.3, rate*decrease)
				}
			}
		}
	}}
}

// arrival returns the arrival of a packet of any kind.
func arrival(r *rand.Rand) script.Op {
	op := script.Op{Kind: script.Arrive, Size: pick[uint32](r, 40, 576, 1500, 1500), ECN: aqm.ECN(r.IntN(4)), Class: aqm.Class(1) << r.IntN(7)}
	if r.IntN(8) == 0 {
		op.Class |= aqm.ECE
	}
	return op
}

// record runs the load under a fresh instance.
func (s *session) record(src source, l load) *stream {
	r := newRecorder(s, src, l.ops)
	s.asking.Store(&r.asking)
	c := catch(func() {
		r.aqm = s.make(src)
		l.run(new(script.Machine), r)
	})
	calls := r.calls[:r.n]
	if c != nil {
		c.at = max(0, r.n-1)
		s.suspect(src, calls, c)
	}
	return &stream{asking{src, calls[:len(r.verdicts)]}, r.verdicts}
}

// replayed asks a fresh instance the calls.
func (s *session) replayed(src source, calls []Call) *stream {
	verdicts, _ := s.answers(src, calls)
	return &stream{asking{src, calls[:len(verdicts)]}, verdicts}
}

// recorder is an AQM that keeps what it is asked.
type recorder struct {
	asking   // calls has room for all that there can be
	s        *session
	aqm      aqm.AQM
	n        int // asked so far
	verdicts []aqm.Verdict
}

// newRecorder returns a recorder for up to so many operations: an operation brings a
// packet or takes one out, and a packet is asked about twice at most.
func newRecorder(s *session, src source, operations int) *recorder {
	return &recorder{asking: asking{src, make([]Call, 2*operations)}, s: s, verdicts: make([]aqm.Verdict, 0, 2*operations)}
}

func (r *recorder) ask(c Call) aqm.Verdict {
	r.calls[r.n] = c
	r.n++
	v := r.s.ask(r.aqm, r.n-1, c)
	r.verdicts = append(r.verdicts, v)
	return v
}

// Enqueue asks the AQM.
func (r *recorder) Enqueue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return r.ask(Call{Now: now, Packet: p, Occupancy: q})
}

// Dequeue asks the AQM.
func (r *recorder) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return r.ask(Call{AtDequeue: true, Now: now, Packet: p, Occupancy: q})
}

// census returns how many of each verdict the ordinary traffic drew.
func (s *session) census() string {
	counts := map[aqm.Verdict]int{}
	for _, st := range s.ordinaryStreams() {
		for _, v := range st.verdicts {
			counts[v]++
		}
	}
	var parts []string
	for v, n := range counts {
		parts = append(parts, fmt.Sprintf("%v %d", v, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
