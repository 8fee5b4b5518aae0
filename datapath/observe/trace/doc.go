// Package trace writes what an observe.Observer sees, judgement by judgement: as CSV,
// and the marked and dropped packets themselves as pcapng, with the verdict as the
// packet's comment, for Wireshark and its kind.
//
//	csv, err := trace.NewCSV(file, 1<<14)
//	...
//	c := observe.DefaultConfig("uplink")
//	c.Tap = csv.Event
//	o, err := observe.New(a, c)
//	...
//	err = csv.Close() // and then close the file
//
// # Owner and writer
//
// Event and Packet belong to the goroutine that owns the queue. With slots they copy
// what they are given into a ring of that many, without allocation, and never wait: a
// goroutine of the trace's own writes. When that is slower than the queue for so long
// that the ring is full, what comes is lost and counted. Without slots, which is 0,
// they write themselves, through a buffer: nothing is lost, and equal runs give equal
// bytes, but the queue waits for the file.
//
// A packet's bytes are copied before Packet returns, so that its buffer may be used
// again at once.
package trace
