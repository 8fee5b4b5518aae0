package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/wire"
	"github.com/aqmkit/aqmkit/internal/record"
)

// Source yields arrivals, in the order in which they came, from a time near 0.
type Source interface {
	// Next returns the next arrival. At the end the error is io.EOF itself.
	Next() (at aqm.Time, p aqm.Packet, err error)

	// Done returns the share of the file that has been read.
	Done() float64

	Close() error
}

// Filter chooses packets of a capture. The zero Filter takes all of them.
type Filter struct {
	From, To netip.Prefix // the zero Prefix is any address
}

// file counts what is read of it.
type file struct {
	*os.File
	read, size int64
}

func (f *file) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.read += int64(n)
	return n, err
}

// Done returns the share of the file that has been read.
func (f *file) Done() float64 { return min(float64(f.read)/float64(max(f.size, 1)), 1) }

// Is reports what is in the file at path: "recording" or "capture".
func Is(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	var head [6]byte
	if _, err := io.ReadFull(f, head[:]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if string(head[:]) == "AQMREC" {
		return "recording", nil
	}
	for _, magic := range []string{"\n\r\r\n", "\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1", "\xa1\xb2\x3c\x4d"} {
		if bytes.HasPrefix(head[:], []byte(magic)) {
			return "capture", nil
		}
	}
	return "", fmt.Errorf("%s is neither a recording nor a pcap or pcapng file", path)
}

func open(path string) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &file{File: f, size: info.Size()}, nil
}

// Recording is a Source of the arrivals at one queue of a recording.
type Recording struct {
	*file
	reader   *record.Reader
	path     string
	queue    int
	chosen   bool
	recorded func(record.Event)
	start    aqm.Time
	begun    bool
}

// OpenRecording opens the recording at path. queue is the number of the queue whose
// arrivals are wanted; -1 stands for the only one there is, and is an error if there
// are more. recorded sees the queue's events, and may be nil.
func OpenRecording(path string, queue int, recorded func(record.Event)) (*Recording, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	r, err := record.NewReader(f)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Recording{file: f, reader: r, path: path, queue: max(queue, 0), chosen: queue >= 0, recorded: recorded}, nil
}

// Header returns how the queue was made. It is known after the first Next.
func (r *Recording) Header() record.Header { return r.reader.Header(r.queue) }

// Next implements Source.
func (r *Recording) Next() (aqm.Time, aqm.Packet, error) {
	for {
		number, e, err := r.reader.Next()
		if errors.Is(err, io.EOF) {
			return 0, aqm.Packet{}, r.end()
		}
		if err != nil {
			return 0, aqm.Packet{}, fmt.Errorf("%s: %w", r.path, err)
		}
		if r.reader.Queues() > 1 && !r.chosen {
			return 0, aqm.Packet{}, r.end()
		}
		if number != r.queue {
			continue
		}
		if r.recorded != nil {
			r.recorded(e)
		}
		if e.Kind == record.Arrival {
			if !r.begun {
				r.begun, r.start = true, e.At
			}
			return aqm.Time(e.At.Sub(r.start)), e.Packet, nil
		}
	}
}

// end returns io.EOF, or why the queue is not the one that was meant.
func (r *Recording) end() error {
	switch n := r.reader.Queues(); {
	case n > 1 && !r.chosen:
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("%d %q", i, r.reader.Header(i).Name))
		}
		return fmt.Errorf("%s has several queues: choose one with --queue; the first are %s", r.path, strings.Join(names, ", "))
	case n == 0:
		return fmt.Errorf("%s has no queues, and so nothing to replay", r.path)
	case r.queue >= n:
		return fmt.Errorf("--queue = %d, must be in [0, %d]: %s has no more", r.queue, n-1, r.path)
	}
	return io.EOF
}

// Capture is a Source of the IP packets of a pcap or pcapng file.
type Capture struct {
	*file
	path    string
	next    func() ([]byte, gopacket.CaptureInfo, error)
	link    layers.LinkType
	filter  Filter
	start   time.Time
	begun   bool
	scratch []byte

	Packets   uint64 // yielded
	Skipped   uint64 // not IP, or damaged
	Filtered  uint64
	Backwards uint64 // with a time before that of the packet before
	last      time.Time
}

// OpenCapture opens the capture at path.
func OpenCapture(path string, filter Filter) (*Capture, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	c := &Capture{file: f, path: path, filter: filter}
	if err := c.begin(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func (c *Capture) begin() error {
	var head [4]byte
	if _, err := io.ReadFull(c.file, head[:]); err != nil {
		return fmt.Errorf("it is cut off: %w", err)
	}
	all := io.MultiReader(bytes.NewReader(head[:]), c.file)
	if string(head[:]) == "\n\r\r\n" {
		r, err := pcapgo.NewNgReader(all, pcapgo.NgReaderOptions{ErrorOnMismatchingLinkType: true, SkipUnknownVersion: true})
		if err != nil {
			return err
		}
		c.next, c.link = r.ZeroCopyReadPacketData, r.LinkType()
	} else {
		r, err := pcapgo.NewReader(all)
		if err != nil {
			return err
		}
		c.next, c.link = r.ZeroCopyReadPacketData, r.LinkType()
	}
	if _, known := header(c.link, make([]byte, 100)); !known {
		return fmt.Errorf("its link type is %v (%d); known are Ethernet, raw IP, Linux cooked and BSD loopback", c.link, c.link)
	}
	return nil
}

// Next implements Source.
func (c *Capture) Next() (aqm.Time, aqm.Packet, error) {
	for {
		b, info, err := c.next()
		if errors.Is(err, io.EOF) {
			return 0, aqm.Packet{}, io.EOF
		}
		if err != nil {
			return 0, aqm.Packet{}, fmt.Errorf("%s: %w, after %d packets", c.path, err, c.Packets+c.Skipped+c.Filtered)
		}
		ip, _ := header(c.link, b)
		if ip < 0 || ip > len(b) {
			c.Skipped++
			continue
		}
		p, err := wire.ParseIP(c.whole(b[ip:], info.Length-ip))
		if err != nil {
			c.Skipped++
			continue
		}
		if !c.filter.takes(b[ip:]) {
			c.Filtered++
			continue
		}
		if !c.begun {
			c.begun, c.start = true, info.Timestamp
		}
		if info.Timestamp.Before(c.last) {
			c.Backwards++
		} else {
			c.last = info.Timestamp
		}
		c.Packets++
		return aqm.Time(info.Timestamp.Sub(c.start)), p, nil
	}
}

// whole returns b with what the capture has cut off, as far as it matters: zeros.
func (c *Capture) whole(b []byte, length int) []byte {
	if length <= len(b) || length > 1<<20 {
		return b
	}
	if cap(c.scratch) < length {
		c.scratch = make([]byte, length)
	}
	s := c.scratch[:length]
	clear(s[copy(s, b):])
	return s
}

// header returns where the IP header is in a packet of the link type, which is -1
// where there is none, and whether the link type is known.
func header(link layers.LinkType, b []byte) (ip int, known bool) {
	const (
		sll2 = 276 // LINKTYPE_LINUX_SLL2, which gopacket has no name for
	)
	after := func(n int, typeAt int) int {
		if len(b) < n {
			return -1
		}
		switch uint16(b[typeAt])<<8 | uint16(b[typeAt+1]) {
		case 0x0800, 0x86dd:
			return n
		}
		return -1
	}
	switch link {
	case layers.LinkTypeEthernet:
		for n := 14; ; n += 4 { // behind any VLAN tags [IEEE 802.1Q]
			if len(b) < n {
				return -1, true
			}
			switch uint16(b[n-2])<<8 | uint16(b[n-1]) {
			case 0x0800, 0x86dd:
				return n, true
			case 0x8100, 0x88a8:
			default:
				return -1, true
			}
		}
	case layers.LinkTypeRaw, layers.LinkTypeIPv4, layers.LinkTypeIPv6, 12, 14: // DLT_RAW of the BSDs and of OpenBSD
		return 0, true
	case layers.LinkTypeNull, layers.LinkTypeLoop:
		return 4, true
	case layers.LinkTypeLinuxSLL:
		return after(16, 14), true
	case sll2:
		return after(20, 0), true
	}
	return -1, false
}

// takes reports whether an IP packet is one of those chosen.
func (f Filter) takes(ip []byte) bool {
	if !f.From.IsValid() && !f.To.IsValid() {
		return true
	}
	var from, to netip.Addr
	switch {
	case ip[0]>>4 == 4 && len(ip) >= 20:
		from, _ = netip.AddrFromSlice(ip[12:16])
		to, _ = netip.AddrFromSlice(ip[16:20])
	case ip[0]>>4 == 6 && len(ip) >= 40:
		from, _ = netip.AddrFromSlice(ip[8:24])
		to, _ = netip.AddrFromSlice(ip[24:40])
	default:
		return false
	}
	return (!f.From.IsValid() || f.From.Contains(from)) && (!f.To.IsValid() || f.To.Contains(to))
}
