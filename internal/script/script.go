// Package script has short programs of arrivals, departures and pauses, and the
// machine that runs them against one algorithm, or two in lockstep. Fuzz targets
// decode their bytes into a script, property tests draw one with package scripttest,
// and a failure prints it as Go code.
package script

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Kind is what an Op does.
type Kind uint8

// The kinds of operation.
const (
	Arrive       Kind = iota // one packet arrives
	Depart                   // one packet is dequeued, and every one that is dropped before it
	Flush                    // the queue is emptied behind the algorithm's back
	Reconfigure              // the algorithm gets its configuration number N
	LimitPackets             // the queue's limit becomes N packets
	LimitBytes               // the queue's limit becomes N bytes, or none for 0

	numKinds = iota
)

// String returns the kind's name.
func (k Kind) String() string {
	return [...]string{"Arrive", "Depart", "Flush", "Reconfigure", "LimitPackets", "LimitBytes"}[k%numKinds]
}

// Op is one operation, Wait after the one before. A negative Wait steps the clock
// back. Size, ECN and Class are an arriving packet's.
type Op struct {
	Kind  Kind
	Wait  time.Duration
	Size  uint32
	ECN   aqm.ECN
	Class aqm.Class
	N     int // of Reconfigure and the limits
}

// Script is a sequence of operations.
type Script []Op

// String returns the script as Go code that can be pasted into a test.
func (s Script) String() string {
	b := []byte("script.Script{\n")
	field := func(name string, n int64) {
		b = append(append(b, ", "...), name...)
		b = strconv.AppendInt(append(b, ": "...), n, 10)
	}
	for _, op := range s {
		b = append(append(b, "\t{Kind: script."...), op.Kind.String()...)
		field("Wait", int64(op.Wait))
		switch op.Kind {
		case Arrive:
			field("Size", int64(op.Size))
			field("ECN", int64(op.ECN))
			field("Class", int64(op.Class))
		case Reconfigure, LimitPackets, LimitBytes:
			field("N", int64(op.N))
		}
		b = append(b, "},\n"...)
	}
	return string(append(b, '}'))
}

// waits maps a nibble to a pause: dense where a queue lives, with the idle hours
// and backward steps that break algorithms at the end, and one that is 0 in 32 bits.
var waits = [16]time.Duration{
	0, 1 << 32, 1, 500 * time.Nanosecond,
	10 * time.Microsecond, 100 * time.Microsecond, 300 * time.Microsecond, time.Millisecond,
	1200 * time.Microsecond, 5 * time.Millisecond, 16 * time.Millisecond, 110 * time.Millisecond,
	700 * time.Millisecond, 40 * time.Second, 3 * time.Hour, -2 * time.Millisecond,
}

// sizes maps a nibble to a packet size, from nothing to beyond 64 KiB.
var sizes = [16]uint32{0, 1, 40, 64, 72, 128, 500, 576, 1000, 1000, 1024, 1500, 1500, 1514, 9000, 70000}

// classes maps the low two bits of a size's nibble and two more bits to a Class:
// every class, without ECE and with it, none, and several at once.
var classes = [16]aqm.Class{
	aqm.Data, aqm.PureACK, aqm.SYN, aqm.Other,
	aqm.Data | aqm.ECE, aqm.PureACK | aqm.ECE, aqm.SYNACK, 0,
	aqm.Data, aqm.SYN | aqm.ECE, aqm.FIN, aqm.ECE,
	aqm.PureACK, aqm.SYNACK | aqm.ECE, aqm.RST, aqm.RST | aqm.FIN,
}

// limits are a queue's, in packets and in bytes.
var (
	limitPackets = [8]int{1, 2, 5, 10, 20, 40, 100, 1000}
	limitBytes   = [8]int{0, 1, 1500, 3000, 15_000, 60_000, 100_000, 1_000_000}
)

// Decode turns any bytes into a script of at most limit operations, two bytes an
// operation. Every byte string means something, so that a fuzzer's mutations stay
// meaningful.
//
// The first byte is the kind and the pause. The second is the packet's size, class
// and codepoint; or where the kind is 6, a change: what changes, and to what.
func Decode(data []byte, limit int) Script {
	var s Script
	for ; len(data) >= 2 && len(s) < limit; data = data[2:] {
		a, b := data[0], data[1]
		op := Op{Wait: waits[a&15]}
		switch a >> 4 {
		case 0, 1, 2, 3, 4, 5:
			op.Kind = Depart
		case 6:
			op.change(b)
		default:
			op = Op{Kind: Arrive, Wait: op.Wait, Size: sizes[b>>4], ECN: aqm.ECN(b & 3), Class: classes[b>>2&3<<2|b>>4&3]}
		}
		s = append(s, op)
	}
	return s
}

// Awake returns s with no more than a day in pauses that are longer than a minute: what
// is over waits a minute. An oracle whose timer ticks one by one needs as many ticks
// for the thousand hours that any bytes may mean as would keep a fuzzer waiting.
func (s Script) Awake() Script {
	s = slices.Clone(s)
	left := 24 * time.Hour
	for i := range s {
		if s[i].Wait > time.Minute {
			s[i].Wait = max(time.Minute, min(left, s[i].Wait))
			left -= s[i].Wait
		}
	}
	return s
}

// change makes op one of the rare operations, or a departure.
func (op *Op) change(b byte) {
	n := int(b >> 4)
	switch b & 15 {
	case 0:
		op.Kind = Flush
	case 1, 2, 3:
		op.Kind, op.N = Reconfigure, n
	case 4:
		op.Kind, op.N = LimitPackets, limitPackets[n&7]
	case 5:
		op.Kind, op.N = LimitBytes, limitBytes[n&7]
	case 6:
		op.Kind, op.Wait = Depart, -time.Hour
	default:
		op.Kind = Depart
	}
}

// starts are instants for a script to begin at: zero and both sides of it, both ends
// of time, and what gets to the end after a while.
var starts = [...]aqm.Time{
	0, -1_000_000, 1 << 40, math.MinInt64,
	math.MaxInt64 - 50_000_000, math.MaxInt64, math.MaxInt64 - 100_000_000_000, -100_000_000_000,
}

// Start returns one of 8 instants for a script to begin at, the n-th modulo 8. The
// first is 0.
func Start(n byte) aqm.Time { return starts[n%byte(len(starts))] }

// Starts returns the instants to run a script from: Start(n), and 0 where that is so
// close to the end of time that most of the script would see time stand still.
func Starts(n byte) []aqm.Time {
	if t := Start(n); t > 1<<62 {
		return []aqm.Time{t, 0}
	}
	return []aqm.Time{Start(n)}
}

// Random draws a script of n operations in phases of filling, balance, draining
// and silence, so that a queue served by it passes through every regime. period is
// the mean time between two packets in balance.
func Random(r *rand.Rand, n int, period time.Duration) Script {
	s := make(Script, 0, n)
	for len(s) < n {
		arrive := []float64{0.9, 0.7, 0.5, 0.5, 0.3}[r.IntN(5)]
		if r.IntN(8) == 0 {
			s = append(s, Op{Kind: Depart, Wait: time.Duration(r.ExpFloat64() * float64(1000*period))})
		}
		for phase := 50 + r.IntN(1000); phase > 0 && len(s) < n; phase-- {
			op := Op{Kind: Depart, Wait: time.Duration(r.ExpFloat64() * float64(period) / 2)}
			if r.Float64() < arrive {
				op.Kind = Arrive
				op.Size = []uint32{40, 576, 1500, 1500}[r.IntN(4)]
				op.ECN = aqm.ECN(r.IntN(4))
				op.Class = aqm.Class(1) << r.IntN(7)
			}
			s = append(s, op)
		}
	}
	return s
}

// Disturb puts what Random does not draw in the place of about one operation in
// every: pauses from none to hours, steps back, extreme sizes, all classes, flushes,
// reconfigurations and new limits.
func Disturb(r *rand.Rand, s Script, every int) {
	for i := range s {
		if r.IntN(every) != 0 {
			continue
		}
		op := &s[i]
		switch r.IntN(5) {
		case 0:
			op.Wait = waits[r.IntN(len(waits))]
		case 1:
			op.change(byte(r.IntN(256)))
		case 2: // a queue that is full of packets, and then silent
			op.Kind = Flush
			if i+1 < len(s) {
				s[i+1].Wait = waits[len(waits)/2+r.IntN(len(waits)/2-1)]
			}
		default:
			if op.Kind == Arrive {
				op.Size, op.Class = sizes[r.IntN(len(sizes))], classes[r.IntN(len(classes))]
			}
		}
		if op.Kind != Arrive {
			op.Size, op.ECN, op.Class = 0, 0, 0
		}
	}
}
