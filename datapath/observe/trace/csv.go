package trace

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/observe"
)

// CSV writes a line for every judgement, under a line of names:
//
//	at_ns,end,size_bytes,ecn,class,action,reason,sojourn_ns,queue_packets,queue_bytes
//
// The queue is as the algorithm was told it is, without the packet. sojourn_ns is
// empty at Enqueue. A packet of several classes has them all, joined by "|".
type CSV struct {
	ring[observe.Event]
	w    *bufio.Writer
	line []byte
}

// NewCSV begins a trace on w with a ring of slots events; see the package's
// documentation.
func NewCSV(w io.Writer, slots int) (*CSV, error) {
	c := &CSV{w: bufio.NewWriterSize(w, 1<<16)}
	if _, err := c.w.WriteString("at_ns,end,size_bytes,ecn,class,action,reason,sojourn_ns,queue_packets,queue_bytes\n"); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if err := c.open(slots, func() (e observe.Event) { return }, c.writeLine, c.w.Flush); err != nil {
		return nil, err
	}
	return c, nil
}

// Event writes a line for e. It is made to be an observe.Config's Tap.
func (c *CSV) Event(e observe.Event) {
	if s := c.slot(); s != nil {
		*s = e
		c.put()
	}
}

var classes = func() (all [256]string) {
	for c := range all {
		all[c] = aqm.Class(c).String()
	}
	return all
}()

func (c *CSV) writeLine(e *observe.Event) error {
	b := strconv.AppendInt(c.line[:0], int64(e.At), 10)
	b = append(append(b, ','), e.End.String()...)
	b = strconv.AppendUint(append(b, ','), uint64(e.Packet.Size), 10)
	b = append(append(b, ','), (e.Packet.ECN & 0b11).String()...)
	b = append(append(b, ','), classes[e.Packet.Class]...)
	b = append(append(b, ','), e.Verdict.Action.String()...)
	b = append(append(b, ','), e.Verdict.Reason.String()...)
	b = append(b, ',')
	if e.End == observe.Dequeue {
		b = strconv.AppendInt(b, int64(e.Sojourn()), 10)
	}
	b = strconv.AppendInt(append(b, ','), int64(e.Occupancy.Packets), 10)
	b = strconv.AppendInt(append(b, ','), e.Occupancy.Bytes, 10)
	c.line = append(b, '\n')
	if _, err := c.w.Write(c.line); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}

// Samples writes a line for every sample of the algorithm's State, under a line of
// names: at_ns, queue_packets, queue_bytes, probability, which is empty where there is
// none, and the fields as Layer.Name. It writes itself, in the queue's goroutine.
type Samples struct {
	w    *bufio.Writer
	line []byte
	err  error
}

// NewSamples begins a file of samples on w.
func NewSamples(w io.Writer) *Samples { return &Samples{w: bufio.NewWriter(w)} }

// Sample writes a line for s. It is made to be an observe.Config's Samples.
func (t *Samples) Sample(s observe.Sample) {
	if t.line == nil {
		names := []string{"at_ns", "queue_packets", "queue_bytes", "probability"}
		for _, f := range s.Fields {
			names = append(names, f.Layer+"."+f.Name)
		}
		t.line = []byte(strings.Join(names, ",") + "\n")
		t.write()
	}
	b := strconv.AppendInt(t.line[:0], int64(s.At), 10)
	b = strconv.AppendInt(append(b, ','), s.Packets, 10)
	b = strconv.AppendInt(append(b, ','), s.Bytes, 10)
	b = append(b, ',')
	if !math.IsNaN(s.Probability) {
		b = strconv.AppendFloat(b, s.Probability, 'g', -1, 64)
	}
	for _, x := range s.Values {
		b = strconv.AppendFloat(append(b, ','), x, 'g', -1, 64)
	}
	t.line = append(b, '\n')
	t.write()
}

func (t *Samples) write() {
	if t.err != nil {
		return
	}
	if _, err := t.w.Write(t.line); err != nil {
		t.err = fmt.Errorf("trace: %w", err)
	}
}

// Close writes what is left, and returns the first error there was.
func (t *Samples) Close() error {
	if err := t.w.Flush(); err != nil && t.err == nil {
		t.err = fmt.Errorf("trace: %w", err)
	}
	return t.err
}
