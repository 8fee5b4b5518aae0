package aqmtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aqmkit/aqmkit/aqm"
)

// Call is one question to an AQM.
type Call struct {
	AtDequeue bool
	Now       aqm.Time
	Packet    aqm.Packet
	Occupancy aqm.Occupancy
}

// Ask asks a and returns its answer.
func (c Call) Ask(a aqm.AQM) aqm.Verdict {
	if c.AtDequeue {
		return a.Dequeue(c.Now, c.Packet, c.Occupancy)
	}
	return a.Enqueue(c.Now, c.Packet, c.Occupancy)
}

// String returns the call as Go code, less the receiver.
func (c Call) String() string {
	return c.code(fmt.Sprint(int64(c.Now)), fmt.Sprint(int64(c.Packet.EnqueuedAt)))
}

// code is String with expressions for the two instants.
func (c Call) code(now, enqueuedAt string) string {
	method := "Enqueue"
	if c.AtDequeue {
		method = "Dequeue"
	}
	var p, q fields
	p.add("EnqueuedAt", enqueuedAt != "0", enqueuedAt)
	p.add("Size", c.Packet.Size != 0, c.Packet.Size)
	p.add("ECN", c.Packet.ECN != aqm.NotECT, ecnCode(c.Packet.ECN))
	p.add("Class", c.Packet.Class != 0, classCode(c.Packet.Class))
	q.add("Packets", c.Occupancy.Packets != 0, c.Occupancy.Packets)
	q.add("Bytes", c.Occupancy.Bytes != 0, c.Occupancy.Bytes)
	q.add("Full", c.Occupancy.Full, true)
	return fmt.Sprintf("%s(%s, aqm.Packet{%v}, aqm.Occupancy{%v})", method, now, p, q)
}

// fields are the elements of a composite literal that are not zero.
type fields []string

func (f *fields) add(name string, set bool, value any) {
	if set {
		*f = append(*f, fmt.Sprintf("%s: %v", name, value))
	}
}

func (f fields) String() string { return strings.Join(f, ", ") }

func ecnCode(e aqm.ECN) string {
	if e > aqm.CE {
		return fmt.Sprint(uint8(e))
	}
	return "aqm." + [...]string{"NotECT", "ECT1", "ECT0", "CE"}[e]
}

func classCode(c aqm.Class) string { return "aqm." + strings.ReplaceAll(c.String(), "|", "|aqm.") }

// Violation is a law that is broken, with the questions that show it.
type Violation struct {
	Law    Law
	Detail string // what happened at the last of Calls
	Seed   uint64

	// Source is the source given to MakeAQM, as Go code, and Calls are the questions
	// that lead to the violation: few, but not always the fewest. There are none
	// where the violation is not about one call.
	Source string
	Calls  []Call

	Verdicts []aqm.Verdict // the answers to Calls, as far as there are any
	Stack    []string      // where it panicked or did not return, innermost first

	twin *twin
}

// shown is how many calls and loops of them an error message has, of each of two
// instances if they are compared.
const shown = 24

// Error returns the law's name and sentence, what happened, and the calls that lead
// there as Go code, two dozen at most. Program returns all of them.
func (v *Violation) Error() string { return v.text(shown) }

// text returns the error message with so many lines of the program, the last, for
// each instance.
func (v *Violation) text(shown int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "aqmtest: law %s is broken: %q\n\t%s\n", v.Law.Name, v.Law.Sentence, v.Detail)
	for _, s := range v.Stack {
		fmt.Fprintf(&b, "\t\t%s\n", s)
	}
	fmt.Fprintf(&b, "\tseed %d", v.Seed)
	for _, lines := range v.parts() {
		fmt.Fprintf(&b, "\n\t%s", lines[0])
		if hidden := len(lines) - 1 - shown; hidden > 0 {
			fmt.Fprintf(&b, "\n\t// %d more come first: go test -v prints them where TestAQM is used, and Violation.Program returns them", hidden)
			lines = lines[hidden:]
		}
		for _, line := range lines[1:] {
			fmt.Fprintf(&b, "\n\t%s", strings.ReplaceAll(line, "\n", "\n\t"))
		}
	}
	return b.String()
}

// Program returns the calls as Go code that can be pasted into a test, where mk is
// the MakeAQM and t the testing.T. Where a law compares two runs it has both, and
// fails.
func (v *Violation) Program() string {
	var lines []string
	for _, part := range v.parts() {
		lines = append(lines, part...)
	}
	return strings.Join(lines, "\n")
}

// parts returns the lines of the program, for each of the instances.
func (v *Violation) parts() [][]string {
	if v.Source == "" {
		return nil
	}
	comment := func(i int) string {
		if i < len(v.Verdicts) {
			return fmt.Sprintf(" // %v", v.Verdicts[i])
		}
		return ""
	}
	first := append([]string{fmt.Sprintf("a := mk(%s)", v.Source)}, folded("a", v.Calls, comment)...)
	if v.twin == nil || len(v.Calls) == 0 || len(v.twin.calls) != len(v.Calls) {
		return [][]string{first}
	}
	first[len(first)-1] = "want := " + first[len(first)-1]
	return [][]string{first, v.twin.lines()}
}

// Violations returns the violations that err, an error of Check, consists of.
func Violations(err error) []*Violation {
	var all []*Violation
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, Violations(e)...)
		}
		return all
	}
	var v *Violation
	if errors.As(err, &v) {
		all = append(all, v)
	}
	return all
}
