package observe

import "github.com/aqmkit/aqmkit/aqm"

// Group is what a packet is in the counts: the bits of an [aqm.Class] made into one
// of a few.
type Group uint8

// The groups. A packet belongs to the first that fits.
const (
	SYN    Group = iota // TCP with SYN and without ACK
	SYNACK              // TCP with SYN and ACK
	RST                 // TCP with RST
	Data                // TCP with payload, the last segment of a transfer included
	FIN                 // TCP with FIN
	ACK                 // TCP with ACK, without payload
	Other               // the rest

	NumGroups = iota
)

// String returns the name that exporters use.
func (g Group) String() string {
	return [...]string{"syn", "synack", "rst", "data", "fin", "ack", "other"}[min(g, Other)]
}

// GroupOf returns the group of packets of class c.
func GroupOf(c aqm.Class) Group { return groups[c] }

var groups = func() (all [256]Group) {
	bits := [...]aqm.Class{SYN: aqm.SYN, SYNACK: aqm.SYNACK, RST: aqm.RST, Data: aqm.Data, FIN: aqm.FIN, ACK: aqm.PureACK}
	for c := range all {
		all[c] = Other
		for g := Group(len(bits)); g > 0; g-- { // the first that fits is set last
			if aqm.Class(c).Has(bits[g-1]) {
				all[c] = g - 1
			}
		}
	}
	return all
}()
