// Package observe watches an AQM at work: what was asked and answered, by class of
// packet, how long packets were queued, and what the algorithm's State says. An
// [Observer] goes around any [aqm.AQM], and is one itself.
//
//	a, err := codel.New(codel.DefaultConfig())
//	...
//	o, err := observe.New(a, observe.DefaultConfig("uplink"))
//	...
//	queue, err := aqm.NewFIFO(aqm.FIFOConfig[*Packet]{LimitPackets: 1000}, o)
//	...
//	prometheus.MustRegister(prom.NewCollector(o)) // package prom, beside this one
//
// Packages prom and observeslog, in the folders beside this one, export it to
// Prometheus and to log/slog; package trace writes single judgements to CSV and
// pcapng files.
//
// # Transparency
//
// An Observer passes every question and every answer on as they are. What else the
// algorithm can do is found with Unwrap, or with [As], which looks through any number
// of decorators.
//
// Counted is what a queue makes of an answer: Drop for reason Overflow if the queue
// is full, and Pass where an algorithm that breaks the contract would mark a packet
// that is not ECN-capable.
//
// # Readers
//
// Enqueue, Dequeue and Idle belong to the goroutine that owns the queue, as with any
// AQM. Snapshot may be called by any goroutine at any time. The owner never waits for
// a reader, takes no lock and allocates nothing per packet.
//
// What is counted is kept in a ledger that changes hands whole. A reader brings an
// empty one and puts it down where the owner looks at each event, which is the load of
// one pointer. The owner picks it up, goes on with it, and hands over the full one,
// between two events. A snapshot is the sum of all the ledgers handed over: every
// event is in it completely or not at all, and those before a missing one are not
// missing.
//
// An idle queue has no events. So the owner puts down its ledger when the queue is
// left empty, where a reader may exchange it without waiting, and takes back what it
// finds there at the next event. Of a queue that is not empty and still has no events,
// since its link stands still or since it was flushed, a reader learns nothing new: it
// waits as long as its context says and returns what it has. The owner of such a queue
// may call Idle before it goes to sleep.
//
// An algorithm's State and Probability are read by the owner as well: when a reader
// waits, and every Config.Every of the queue's time. That allocates nothing for the
// algorithms of this module and ecnpolicy; a State of any other type is read through
// package reflect, which does.
package observe
