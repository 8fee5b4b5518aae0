package netmodel

import "github.com/aqmkit/aqmkit/aqm"

// Span is a range of sequence numbers, From included and To not.
type Span struct{ From, To int64 }

// Flags are TCP's flags.
type Flags uint8

// The flags.
const (
	ACK Flags = 1 << iota
	SYN
	FIN
	RST
	ECE
	CWR
)

// MaxSACK is the number of SACK blocks an ACK has room for (RFC 2018 section 3:
// three beside a timestamp).
const MaxSACK = 3

// SACK is the SACK option: the first N blocks.
type SACK struct {
	N      uint8
	Blocks [MaxSACK]Span
}

// Packet is a packet on its way. It comes from [Net.Packet] and goes back to
// [Net.Free] exactly once: by the link that drops it or the receiver that gets it.
// It fills one cache line.
type Packet struct {
	flow  *Flow
	SACK  *SACK // from Net.SACK; nil: none
	Seq   int64 // first byte's sequence number; they do not wrap
	Ack   int64
	Size  uint32 // bytes on the wire, headers included
	Len   uint32 // bytes of payload
	Gen   uint32 // the receiver's, to know a packet that is late by a connection
	ECN   aqm.ECN
	Class aqm.Class
	Flags Flags
	hop   uint8
	sent  aqm.Time // Flow.Send's
	_     [8]byte
}

// Receiver gets the packets that reach the end of their path, and owns them.
type Receiver interface {
	Receive(now aqm.Time, p *Packet)
}

// Kind is a row of the links' counters.
type Kind uint8

// The kinds of packets.
const (
	KindData Kind = iota
	KindPureACK
	KindSYN
	KindSYNACK
	KindOther

	NumKinds = iota
)

var kindNames = [NumKinds]string{"data", "pure ACK", "SYN", "SYN-ACK", "other"}

// String returns the kind's name.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "Kind(?)"
}

// kinds maps a class without its ECE bit to the kind.
var kinds = func() (t [128]Kind) {
	for c := range t {
		switch c := aqm.Class(c); {
		case c&aqm.Data != 0:
			t[c] = KindData
		case c&aqm.SYNACK != 0:
			t[c] = KindSYNACK
		case c&aqm.SYN != 0:
			t[c] = KindSYN
		case c&aqm.PureACK != 0:
			t[c] = KindPureACK
		default:
			t[c] = KindOther
		}
	}
	return t
}()

// KindOf returns the kind of a packet of class c: the first of data, SYN-ACK, SYN
// and pure ACK that it has.
func KindOf(c aqm.Class) Kind { return kinds[c&127] }
