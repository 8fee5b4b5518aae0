package netmodel

import "github.com/aqmkit/aqmkit/aqm"

// ring holds the packets in flight on a link, in the order of their arrival. It
// grows to what is needed and stays there.
type ring struct {
	slots      []flight
	head, tail uint32
}

type flight struct {
	at aqm.Time
	p  *Packet
}

func (r *ring) empty() bool { return r.head == r.tail }

func (r *ring) push(at aqm.Time, p *Packet) {
	if int(r.tail-r.head) == len(r.slots) {
		r.grow()
	}
	r.slots[r.tail&uint32(len(r.slots)-1)] = flight{at, p}
	r.tail++
}

func (r *ring) pop() *Packet {
	p := r.slots[r.head&uint32(len(r.slots)-1)].p
	r.head++
	return p
}

// first returns the first packet, if there is one.
func (r *ring) first() *Packet { return r.slots[r.head&uint32(len(r.slots)-1)].p }

// next returns when the first packet arrives, if there is one.
func (r *ring) next() aqm.Time { return r.slots[r.head&uint32(len(r.slots)-1)].at }

//go:noinline
func (r *ring) grow() {
	slots := make([]flight, max(8, 2*len(r.slots)))
	n := copy(slots, r.slots[min(int(r.head&uint32(max(len(r.slots), 1)-1)), len(r.slots)):])
	copy(slots[n:], r.slots[:len(r.slots)-n])
	r.head, r.tail, r.slots = 0, uint32(len(r.slots)), slots
}
