package record

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/aqmkit/aqmkit/aqm"
)

const (
	magic   = "AQMREC"
	version = 1

	frameQueue  = 1
	frameEvents = 2
	frameEnd    = 3

	maxFrame  = 1 << 20 // octets
	maxQueues = 1 << 12
	block     = 1 << 14 // octets of events, about, in a frame: small, because a frame is compressed by whoever fills it
)

// Writer writes a recording of any number of queues. It and all its queues are for
// one goroutine at a time.
type Writer struct {
	zip    *gzip.Writer
	queues []*queueWriter
	err    error // the first; nothing is written after it
	closed bool
}

// NewWriter begins a recording on w.
func NewWriter(w io.Writer) (*Writer, error) {
	if _, err := w.Write([]byte{'A', 'Q', 'M', 'R', 'E', 'C', version, '\n'}); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return &Writer{zip: zip}, nil
}

// Queue adds a queue to the recording and returns what takes a's place in it: every
// judgement of a is written. The tap does not fail: Close returns what went wrong.
func (w *Writer) Queue(h Header, a aqm.AQM) (aqm.AQM, error) {
	if a == nil {
		return nil, fmt.Errorf("record: algorithm of queue %q = nil: %w", h.Name, aqm.ErrConfig)
	}
	if err := h.validate(); err != nil {
		return nil, fmt.Errorf("record: %w: %w", err, aqm.ErrConfig)
	}
	payload, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if w.closed {
		return nil, errors.New("record: queue added after Close")
	}
	if len(w.queues) == maxQueues {
		return nil, fmt.Errorf("record: more than %d queues: %w", maxQueues, aqm.ErrConfig)
	}
	w.frame(frameQueue, payload)
	q := &queueWriter{writer: w, number: len(w.queues)}
	q.begin()
	w.queues = append(w.queues, q)
	return tap{a, q.add}, w.err
}

// Close completes the recording, after the last event of every queue, and returns the
// first error there was. It does not close the writer below.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	end := binary.AppendUvarint(nil, uint64(len(w.queues)))
	for _, q := range w.queues {
		w.frame(frameEvents, q.buf)
		end = binary.AppendUvarint(end, q.events)
	}
	w.frame(frameEnd, end)
	if err := w.zip.Close(); err != nil && w.err == nil {
		w.err = fmt.Errorf("record: %w", err)
	}
	return w.err
}

// frame writes a frame, unless something went wrong before.
func (w *Writer) frame(kind byte, payload []byte) {
	if w.err != nil {
		return
	}
	head := binary.AppendUvarint([]byte{kind}, uint64(len(payload)))
	for _, part := range [][]byte{head, payload} {
		if _, err := w.zip.Write(part); err != nil {
			w.err = fmt.Errorf("record: %w", err)
			return
		}
	}
}

// queueWriter encodes the events of one queue.
type queueWriter struct {
	writer *Writer
	number int
	events uint64
	at     aqm.Time   // of the event before
	shape  aqm.Packet // of the arrival before
	buf    []byte
}

func (q *queueWriter) begin() { q.buf = binary.AppendUvarint(q.buf[:0], uint64(q.number)) }

const (
	opShape = 1 << 6
	opWait  = 1 << 7
)

func (q *queueWriter) add(e Event) {
	q.events++
	op := byte(e.Kind) | byte(e.Verdict.Action)<<2 | byte(e.Verdict.Reason)<<4
	if e.At != q.at {
		op |= opWait
	}
	shaped := e.Kind == Arrival && e.Packet != q.shape
	if shaped {
		op |= opShape
	}
	q.buf = append(q.buf, op)
	if e.At != q.at {
		q.buf = binary.AppendVarint(q.buf, int64(e.At-q.at)) // wraps, and wraps back
		q.at = e.At
	}
	if shaped {
		q.buf = binary.AppendUvarint(q.buf, uint64(e.Packet.Size))
		q.buf = append(q.buf, byte(e.Packet.ECN), byte(e.Packet.Class))
		q.shape = e.Packet
	}
	if len(q.buf) >= block {
		q.writer.frame(frameEvents, q.buf)
		q.begin()
	}
}

// validate returns what makes h the header of no queue.
func (h Header) validate() error {
	for _, s := range []string{h.Command, h.Name, h.Algorithm} {
		if len(s) > 1000 || strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) >= 0 {
			return fmt.Errorf("text %.40q of a queue, must be printable and of at most 1000 octets", s)
		}
	}
	if h.LimitPackets < 1 || h.LimitPackets > aqm.MaxLimitPackets {
		return fmt.Errorf("limit of a queue = %d packets, must be in [1, %d]", h.LimitPackets, aqm.MaxLimitPackets)
	}
	if slices.Min([]int64{h.LimitBytes, int64(h.RTT), int64(h.Flows)}) < 0 {
		return fmt.Errorf("limit of %d bytes, RTT of %v, %d flows, must not be negative", h.LimitBytes, h.RTT, h.Flows)
	}
	return nil
}
