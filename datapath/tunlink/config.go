package tunlink

import (
	"fmt"
	"net/netip"
	"reflect"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
)

// DefaultMTU is the MTU of Ethernet, in bytes.
const DefaultMTU = 1500

const (
	minMTU    = 68      // what every IPv4 link carries [RFC 791 3.2]
	maxMTU    = 1 << 16 // bytes; that of Linux's TUN device is 65 535
	maxDelay  = 10 * time.Second
	maxDevice = 15 // octets in a device's name (IFNAMSIZ less the final 0)
)

// Config is the configuration of a Link.
type Config struct {
	A Direction // of the packets that enter at end A and leave at end B
	B Direction // of the packets that enter at end B and leave at end A

	EndA, EndB End

	MTU int // bytes; 68 to 65535; of both devices
}

// Direction is what one direction of a link does to its packets. The two may differ
// in everything.
type Direction struct {
	Rate         uint64        // bit/s; > 0
	Delay        time.Duration // 0 to 10 s; propagation: from a packet's last bit at one end to its arrival at the other
	Loss         float64       // probability; 0 to 1; that a packet is lost behind the queue, each independently
	Seed         uint64        // of the losses; with it the same packets of a sequence are lost
	LimitPackets int           // packets; 1 to aqm.MaxLimitPackets; the queue's limit
	LimitBytes   int64         // bytes; >= 0; likewise; 0 means no limit in bytes
	AQM          aqm.AQM       // an instance of its own; aqm.TailDrop{} for none
}

// End is a TUN device: one end of a link.
type End struct {
	Namespace string         // a name as in ip-netns(8), or a path with a slash; empty for the caller's own
	Device    string         // at most 15 octets; empty for a name that the kernel picks
	Address   netip.Prefix   // IPv4 or IPv6; the zero Prefix gives the device no address
	Also      []netip.Prefix // further addresses, such as one of the other family
}

// addresses returns all of them.
func (e End) addresses() []netip.Prefix {
	if e.Address == (netip.Prefix{}) {
		return e.Also
	}
	return append([]netip.Prefix{e.Address}, e.Also...)
}

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("tunlink")
	c.A.validate(l, "A")
	c.B.validate(l, "B")
	c.EndA.validate(l, "EndA")
	c.EndB.validate(l, "EndB")
	l.Require(!sameInstance(c.A.AQM, c.B.AQM), "B.AQM", "A.AQM", "", "another instance: each direction has its own")
	l.Require(c.MTU >= minMTU && c.MTU < maxMTU, "MTU", c.MTU, "bytes", "in [%d, %d]", minMTU, maxMTU-1)
	return l.Err()
}

func (d Direction) validate(l *check.List, name string) {
	l.Require(d.Rate > 0, name+".Rate", d.Rate, "bit/s", "> 0")
	l.Require(d.Delay >= 0 && d.Delay <= maxDelay, name+".Delay", d.Delay, "", "in [0s, %v]", maxDelay)
	l.Require(d.Loss >= 0 && d.Loss <= 1, name+".Loss", d.Loss, "", "in [0, 1]")
	l.Require(d.LimitPackets >= 1 && d.LimitPackets <= aqm.MaxLimitPackets, name+".LimitPackets", d.LimitPackets, "packets", "in [1, %d]", aqm.MaxLimitPackets)
	l.Require(d.LimitBytes >= 0, name+".LimitBytes", d.LimitBytes, "bytes", ">= 0, where 0 means no limit")
	l.Require(isInstance(d.AQM), name+".AQM", d.AQM, "", "an algorithm; aqm.TailDrop{} is a queue without one")
}

func (e End) validate(l *check.List, name string) {
	l.Require(len(e.Device) <= maxDevice, name+".Device", e.Device, "", "at most %d octets long", maxDevice)
	l.Require(e.Address.IsValid() || e.Address == netip.Prefix{}, name+".Address", e.Address, "", "an address and a prefix length, or netip.Prefix{}")
	for i, also := range e.Also {
		l.Require(also.IsValid(), fmt.Sprintf("%s.Also[%d]", name, i), also, "", "an address and a prefix length")
	}
}

// isInstance reports whether a is an algorithm; a nil pointer, which is what a failed
// New returns, is none.
func isInstance(a aqm.AQM) bool {
	v := reflect.ValueOf(a)
	return a != nil && (v.Kind() != reflect.Pointer || !v.IsNil())
}

// sameInstance reports whether a and b are pointers to the same algorithm.
func sameInstance(a, b aqm.AQM) bool {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	return v.Kind() == reflect.Pointer && w.Kind() == reflect.Pointer && v.Type() == w.Type() && v.UnsafePointer() == w.UnsafePointer()
}
