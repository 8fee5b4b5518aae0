package egress

import (
	"reflect"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/check"
)

// MaxQueues is the most queues that one link has.
const MaxQueues = 1 << 16

// Config is the configuration of Queues.
type Config struct {
	Rate         uint64    // bit/s; 0 = whenever the link asks
	LimitPackets int       // packets; 1 to aqm.MaxLimitPackets; of each queue
	LimitBytes   int64     // bytes; >= 0; of each queue; 0 = no limit in bytes
	AQMs         []aqm.AQM // 1 to MaxQueues; one for each queue, instances of their own
}

// Require adds to l all that is wrong with c. The fields have the names that the
// adapters' configurations give them.
func (c Config) Require(l *check.List) {
	l.Require(c.LimitPackets >= 1 && c.LimitPackets <= aqm.MaxLimitPackets, "LimitPackets", c.LimitPackets, "packets", "in [1, %d]", aqm.MaxLimitPackets)
	l.Require(c.LimitBytes >= 0, "LimitBytes", c.LimitBytes, "bytes", ">= 0, where 0 means no limit")
	l.Require(len(c.AQMs) >= 1 && len(c.AQMs) <= MaxQueues, "len(AQMs)", len(c.AQMs), "queues", "in [1, %d]", MaxQueues)
	seen := map[uintptr]int{}
	for i, a := range c.AQMs {
		v := reflect.ValueOf(a)
		none := a == nil || v.Kind() == reflect.Pointer && v.IsNil() // also what a failed New returned
		if none {
			l.Require(false, field(i), "nil", "", "an algorithm; aqm.TailDrop{} is a queue without one")
			continue
		}
		if v.Kind() != reflect.Pointer || v.Type().Elem().Size() == 0 { // a value, or without state to share
			continue
		}
		first, shared := seen[v.Pointer()]
		l.Require(!shared, field(i), field(first), "", "another instance: each queue has its own")
		seen[v.Pointer()] = i
	}
}
