package trace

import (
	"fmt"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/observe"
)

// CaptureConfig is the configuration of a Capture.
type CaptureConfig struct {
	Name  string          // of the queue: the file's interface
	Link  layers.LinkType // what a packet begins with: layers.LinkTypeRaw for an IP header, layers.LinkTypeEthernet
	Snap  int             // bytes; 1 to 65535; how much of each packet is kept
	Slots int             // as of a CSV; each takes Snap bytes
	Epoch time.Time       // the instant at which the queue's clock was 0
}

// Capture writes the packets that were marked or dropped to a pcapng file. The comment
// of each says what the verdict was, where, after how long, and what was queued.
type Capture struct {
	ring[captured]
	last  observe.Event
	snap  int
	epoch time.Time
	w     *pcapgo.NgWriter
}

// captured is a packet on its way to the file.
type captured struct {
	event observe.Event
	bytes []byte // of buf
	size  int
	buf   []byte
}

// NewCapture begins a pcapng file on w.
func NewCapture(w io.Writer, c CaptureConfig) (*Capture, error) {
	if c.Snap < 1 || c.Snap > 65535 {
		return nil, fmt.Errorf("trace: Snap = %d bytes, must be in [1, 65535]: %w", c.Snap, aqm.ErrConfig)
	}
	file := pcapgo.NgInterface{Name: c.Name, LinkType: c.Link, SnapLength: uint32(c.Snap)}
	options := pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: "aqmkit"}}
	ng, err := pcapgo.NewNgWriterInterface(w, file, options)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	t := &Capture{snap: c.Snap, epoch: c.Epoch, w: ng}
	fill := func() captured { return captured{buf: make([]byte, c.Snap)} }
	if err := t.open(c.Slots, fill, t.writePacket, ng.Flush); err != nil {
		return nil, err
	}
	return t, nil
}

// Event remembers a judgement until Packet has the packet it was about. It is made to
// be an observe.Config's Tap.
func (t *Capture) Event(e observe.Event) { t.last = e }

// Packet has the bytes of the packet of the last Event. The queue's owner calls it
// after every Enqueue and Dequeue, and, with an aqm.FIFO, in its OnDrop; it does
// nothing for a packet that passed. A packet that was marked is written as it is at the
// time, with CE if that has been set.
func (t *Capture) Packet(b []byte) {
	e := t.last
	t.last = observe.Event{}
	if e.Verdict.Action == aqm.Pass {
		return
	}
	if s := t.slot(); s != nil {
		s.event, s.size = e, len(b)
		s.bytes = s.buf[:copy(s.buf, b)]
		t.put()
	}
}

func (t *Capture) writePacket(p *captured) error {
	e := p.event
	comment := fmt.Sprintf("%v at %v, queue %d packets %d bytes", e.Verdict, e.End, e.Occupancy.Packets, e.Occupancy.Bytes)
	if e.End == observe.Dequeue {
		comment = fmt.Sprintf("%v at %v after %v, queue %d packets %d bytes", e.Verdict, e.End, e.Sojourn(), e.Occupancy.Packets, e.Occupancy.Bytes)
	}
	at := t.epoch.Add(time.Duration(e.At))
	if at.Before(time.Unix(0, 0)) { // a pcapng file has no such instant
		at = time.Unix(0, 0)
	}
	err := t.w.WritePacketWithOptions(
		gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(p.bytes), Length: p.size},
		p.bytes,
		pcapgo.NgPacketOptions{Comments: []string{comment}},
	)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}
