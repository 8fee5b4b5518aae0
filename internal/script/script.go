// Package script has short programs of arrivals, departures and pauses, and the
// machine that runs them against one algorithm, or two in lockstep. Fuzz targets
// decode their bytes into a script, property tests draw one, and a failure prints
// it as Go code.
package script

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Kind is what an Op does.
type Kind uint8

// The kinds of operation.
const (
	Arrive Kind = iota // one packet arrives
	Depart             // one packet is dequeued, and every one that is dropped before it
	Flush              // the queue is emptied behind the algorithm's back

	numKinds = iota
)

// String returns the kind's name.
func (k Kind) String() string { return [...]string{"Arrive", "Depart", "Flush"}[k%numKinds] }

// Op is one operation, Wait after the one before. A negative Wait steps the clock
// back. Size, ECN and Class are an arriving packet's.
type Op struct {
	Kind  Kind
	Wait  time.Duration
	Size  uint32
	ECN   aqm.ECN
	Class aqm.Class
}

// Script is a sequence of operations.
type Script []Op

// String returns the script as Go code that can be pasted into a test.
func (s Script) String() string {
	var b strings.Builder
	b.WriteString("script.Script{\n")
	for _, op := range s {
		fmt.Fprintf(&b, "\t{Kind: script.%v, Wait: %d", op.Kind, int64(op.Wait))
		if op.Kind == Arrive {
			fmt.Fprintf(&b, ", Size: %d, ECN: %d, Class: %d", op.Size, op.ECN, op.Class)
		}
		b.WriteString("},\n")
	}
	b.WriteString("}")
	return b.String()
}

// waits maps a nibble to a pause: dense where a queue lives, with the idle hours
// and backward steps that break algorithms at the end.
var waits = [16]time.Duration{
	0, 0, 1, 500 * time.Nanosecond,
	10 * time.Microsecond, 100 * time.Microsecond, 300 * time.Microsecond, time.Millisecond,
	1200 * time.Microsecond, 5 * time.Millisecond, 16 * time.Millisecond, 110 * time.Millisecond,
	700 * time.Millisecond, 40 * time.Second, 3 * time.Hour, -2 * time.Millisecond,
}

// sizes maps a nibble to a packet size, from nothing to beyond 64 KiB.
var sizes = [16]uint32{0, 1, 40, 64, 72, 128, 500, 576, 1000, 1000, 1024, 1500, 1500, 1514, 9000, 70000}

// Decode turns any bytes into a script of at most limit operations, two bytes an
// operation. Every byte string means something, so that a fuzzer's mutations stay
// meaningful.
func Decode(data []byte, limit int) Script {
	var s Script
	for ; len(data) >= 2 && len(s) < limit; data = data[2:] {
		a, b := data[0], data[1]
		op := Op{Wait: waits[a&15], Size: sizes[b>>4], ECN: aqm.ECN(b & 3), Class: aqm.Class(1) << (b >> 2 & 3)}
		switch a >> 4 {
		case 0, 1, 2, 3, 4, 5:
			op.Kind = Depart
		case 6:
			op.Kind = Flush
			if b&0xf != 0 { // a flush is rare
				op.Kind = Depart
			}
		default:
			op.Kind = Arrive
		}
		s = append(s, op)
	}
	return s
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
