package record

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/aqmkit/aqmkit/aqm"
)

// ErrFormat is wrapped by the errors about a file that is not a complete recording.
var ErrFormat = errors.New("not a recording, or damaged")

// Reader reads a recording, event by event. It holds one frame and the packets that
// are queued.
type Reader struct {
	file   *bufio.Reader // the file behind its first line
	in     *bufio.Reader // what is compressed there
	frame  []byte        // what is left of the frame
	number int           // the queue that frame belongs to
	queues []*queueReader
	err    error // what Next goes on to return
}

// NewReader reads the beginning of a recording.
func NewReader(r io.Reader) (*Reader, error) {
	file := bufio.NewReader(r)
	var head [len(magic) + 2]byte
	if _, err := io.ReadFull(file, head[:]); err != nil {
		return nil, damaged(err)
	}
	if string(head[:len(magic)]) != magic || head[len(magic)+1] != '\n' {
		return nil, wrong("it does not begin as one")
	}
	if v := head[len(magic)]; v != version {
		return nil, wrong("its format is version %d, and this program knows version %d", v, version)
	}
	zip, err := gzip.NewReader(file)
	if err != nil {
		return nil, damaged(err)
	}
	zip.Multistream(false)
	return &Reader{file: file, in: bufio.NewReader(zip)}, nil
}

// wrong returns an error about the file's content.
func wrong(format string, args ...any) error {
	return fmt.Errorf("record: %w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// damaged turns an error of reading into one about the file if it is one.
func damaged(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wrong("it is cut off")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return wrong("%v", err)
	}
	return fmt.Errorf("record: %w", err)
}

// Next returns the next event and the number of its queue. At the end of a complete
// recording the error is io.EOF itself; any other says that what came before may not
// be trusted either.
func (r *Reader) Next() (int, Event, error) {
	for r.err == nil && len(r.frame) == 0 {
		r.err = r.nextFrame()
	}
	if r.err != nil {
		return 0, Event{}, r.err
	}
	var e Event
	if e, r.frame, r.err = r.queues[r.number].next(r.frame); r.err != nil {
		return 0, Event{}, r.err
	}
	return r.number, e, nil
}

// Queues returns the number of queues that Next has come by. It is complete at the
// end; a queue is there before its first event.
func (r *Reader) Queues() int { return len(r.queues) }

// Header returns the header of a queue, whose number is below Queues.
func (r *Reader) Header(queue int) Header { return r.queues[queue].header }

func (r *Reader) nextFrame() error {
	kind, err := r.in.ReadByte()
	if err != nil {
		return damaged(err) // at the very end too: there is a last frame
	}
	length, err := r.length()
	if err != nil {
		return err
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(r.in, payload); err != nil {
		return damaged(err)
	}
	switch kind {
	case frameQueue:
		return r.addQueue(payload)
	case frameEvents:
		return r.beginEvents(payload)
	case frameEnd:
		return r.end(payload)
	}
	return wrong("a frame is of kind %d", kind)
}

// length reads a frame's length. It stops before that can be too large to be stored.
func (r *Reader) length() (n uint, err error) {
	for shift := 0; n <= maxFrame; shift += 7 {
		b, err := r.in.ReadByte()
		if err != nil {
			return 0, damaged(err)
		}
		if shift > 21 {
			break
		}
		n |= uint(b&0x7f) << shift
		if b < 0x80 && n <= maxFrame {
			return n, nil
		}
	}
	return 0, wrong("a frame is too long")
}

func (r *Reader) addQueue(payload []byte) error {
	var h Header
	if err := json.Unmarshal(payload, &h); err != nil {
		return wrong("header of a queue: %v", err)
	}
	if err := h.validate(); err != nil {
		return wrong("%v", err)
	}
	if len(r.queues) == maxQueues {
		return wrong("it has more than %d queues", maxQueues)
	}
	r.queues = append(r.queues, &queueReader{header: h})
	return nil
}

func (r *Reader) beginEvents(payload []byte) error {
	number, n := binary.Uvarint(payload)
	if n <= 0 || number >= uint64(len(r.queues)) {
		return wrong("events of a queue that has no header")
	}
	r.number, r.frame = int(number), payload[n:]
	return nil
}

// end checks that nothing is missing and that nothing follows.
func (r *Reader) end(payload []byte) error {
	queues, n := binary.Uvarint(payload)
	if n <= 0 || queues != uint64(len(r.queues)) {
		return wrong("it has %d queues and says %d", len(r.queues), queues)
	}
	for i, q := range r.queues {
		payload = payload[n:]
		var events uint64
		if events, n = binary.Uvarint(payload); n <= 0 || events != q.events {
			return wrong("queue %d has %d events and says %d", i, q.events, events)
		}
	}
	if len(payload) != n {
		return wrong("its last frame is too long")
	}
	for _, rest := range []io.ByteReader{r.in, r.file} { // the first read checks the checksum
		if _, err := rest.ReadByte(); err == nil {
			return wrong("something follows its end")
		} else if !errors.Is(err, io.EOF) {
			return damaged(err)
		}
	}
	return io.EOF
}

// queueReader decodes the events of one queue.
type queueReader struct {
	header Header
	events uint64
	at     aqm.Time
	shape  aqm.Packet
	queued ring[aqm.Packet]
}

// next decodes the event at the start of b and returns what follows it.
func (q *queueReader) next(b []byte) (e Event, rest []byte, err error) {
	op := b[0]
	b = b[1:]
	e.Kind = Kind(op & 3)
	e.Verdict = aqm.Verdict{Action: aqm.Action(op >> 2 & 3), Reason: aqm.Reason(op >> 4 & 3)}
	if e.Kind >= numKinds || e.Verdict.Action >= aqm.NumActions ||
		(e.Verdict.Action == aqm.Pass) != (e.Verdict.Reason == aqm.None) {
		return e, nil, wrong("an event is 0x%02x", op)
	}
	if op&opWait != 0 {
		wait, n := binary.Varint(b)
		if n <= 0 {
			return e, nil, wrong("an event is cut off")
		}
		q.at += aqm.Time(wait)
		b = b[n:]
	}
	e.At = q.at
	q.events++
	if e.Kind == Departure {
		if op&opShape != 0 || q.queued.len() == 0 {
			return e, nil, wrong("a departure is 0x%02x with %d packets queued", op, q.queued.len())
		}
		e.Packet = q.queued.pop()
		return e, b, q.check(e)
	}
	if op&opShape != 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > 1<<32-1 || len(b) < n+2 || b[n] > uint8(aqm.CE) {
			return e, nil, wrong("the shape of a packet is damaged")
		}
		q.shape = aqm.Packet{Size: uint32(size), ECN: aqm.ECN(b[n]), Class: aqm.Class(b[n+1])}
		b = b[n+2:]
	}
	e.Packet = q.shape
	if err := q.check(e); err != nil {
		return e, nil, err
	}
	if e.Verdict.Action != aqm.Drop {
		if q.queued.len() == q.header.LimitPackets {
			return e, nil, wrong("more than %d packets are queued", q.header.LimitPackets)
		}
		p := e.Packet
		p.EnqueuedAt = e.At
		if e.Verdict.Action == aqm.Mark {
			p.ECN = aqm.CE
		}
		q.queued.push(p)
	}
	return e, b, nil
}

// check returns what no queue does.
func (q *queueReader) check(e Event) error {
	if e.Verdict.Action == aqm.Mark && !e.Packet.ECN.Capable() {
		return wrong("a packet that is not ECN-capable is marked")
	}
	if e.Verdict.Reason == aqm.Overflow && (e.Kind != Arrival || e.Verdict.Action != aqm.Drop) {
		return wrong("a %v is %v", e.Kind, e.Verdict)
	}
	return nil
}
