package aqm

import "fmt"

// Action is what happens to a packet.
type Action uint8

// The three actions.
const (
	Pass Action = iota // leave the packet as it is
	Mark               // set CE on it
	Drop               // discard it

	NumActions = iota
)

// String returns the action's name.
func (a Action) String() string {
	switch a {
	case Pass:
		return "Pass"
	case Mark:
		return "Mark"
	case Drop:
		return "Drop"
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Reason is why a packet is marked or dropped.
type Reason uint8

// The reasons; see the package documentation.
const (
	None     Reason = iota // it is not
	Early                  // the control law asks for a signal
	Forced                 // the algorithm is past a hard limit of its own
	Overflow               // the buffer is full

	NumReasons = iota
)

// String returns the reason's name.
func (r Reason) String() string {
	switch r {
	case None:
		return "None"
	case Early:
		return "Early"
	case Forced:
		return "Forced"
	case Overflow:
		return "Overflow"
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Verdict is an AQM's answer. The zero value passes the packet.
type Verdict struct {
	Action Action
	Reason Reason
}

// String returns action and reason as "Mark/Early"; a pass is "Pass".
func (v Verdict) String() string {
	if v == (Verdict{}) {
		return "Pass"
	}
	return v.Action.String() + "/" + v.Reason.String()
}

// MarkOrDrop returns an algorithm's own answer to a packet with codepoint e when
// it signals for reason r. Early marks an ECN-capable packet and drops another,
// None passes, and any other reason drops.
func MarkOrDrop(e ECN, r Reason) Verdict {
	if r == Early && e.Capable() {
		return Verdict{Mark, Early}
	}
	if r == None {
		return Verdict{}
	}
	return Verdict{Drop, r}
}

// AQM decides about the packets of one queue. The package documentation lists
// what it may expect of its caller and what it owes.
type AQM interface {
	// Enqueue judges an arrival. q is the queue before the insertion.
	Enqueue(now Time, p Packet, q Occupancy) Verdict

	// Dequeue judges a packet taken from the head. q is the queue after the
	// removal.
	Dequeue(now Time, p Packet, q Occupancy) Verdict
}

// TailDrop refuses what does not fit and signals nothing: a queue without AQM.
type TailDrop struct{}

// Enqueue drops the packet if the queue is full.
func (TailDrop) Enqueue(_ Time, _ Packet, q Occupancy) Verdict {
	if q.Full {
		return Verdict{Drop, Overflow}
	}
	return Verdict{}
}

// Dequeue passes the packet.
func (TailDrop) Dequeue(Time, Packet, Occupancy) Verdict { return Verdict{} }
