package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/wire"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/datapath/observe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCSV(t *testing.T) {
	for _, slots := range []int{0, 4} {
		var b bytes.Buffer
		c, err := NewCSV(&b, slots)
		require.NoError(t, err)
		c.Event(observe.Event{At: -5, Packet: aqm.Packet{Size: 40, ECN: aqm.ECT0, Class: aqm.SYN | aqm.ECE}, Occupancy: aqm.Occupancy{Packets: 7, Bytes: 700}, Verdict: aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}})
		c.Event(observe.Event{End: observe.Dequeue, At: 2000, Packet: aqm.Packet{EnqueuedAt: 500, Size: 1500}})
		require.NoError(t, c.Close())
		require.NoError(t, c.Close(), "again")
		c.Event(observe.Event{})
		assert.EqualValues(t, 1, c.Lost(), "after Close")
		assert.Equal(t, "at_ns,end,size_bytes,ecn,class,action,reason,sojourn_ns,queue_packets,queue_bytes\n"+
			"-5,enqueue,40,ECT(0),SYN|ECE,Mark,Early,,7,700\n"+
			"2000,dequeue,1500,NotECT,Other,Pass,None,1500,0,0\n", b.String())
	}
	_, err := NewCSV(io.Discard, 3)
	assert.ErrorContains(t, err, "slots = 3, must be a power of two up to 1048576, or 0")
	assert.ErrorIs(t, err, aqm.ErrConfig)
}

func TestSamples(t *testing.T) {
	var b bytes.Buffer
	s := NewSamples(&b)
	a, err := codel.New(codel.DefaultConfig())
	require.NoError(t, err)
	c := observe.DefaultConfig("up")
	c.Samples = s.Sample
	o, err := observe.New(a, c)
	require.NoError(t, err)
	for n := range aqm.Time(3) {
		o.Dequeue(n*100e6, aqm.Packet{Size: 100, EnqueuedAt: n*100e6 - 2e6}, aqm.Occupancy{Packets: 2, Bytes: 200})
	}
	require.NoError(t, s.Close())
	lines := strings.Split(b.String(), "\n")
	assert.True(t, strings.HasPrefix(lines[0], "at_ns,queue_packets,queue_bytes,probability,CoDel.Dropping,CoDel.Count,"), lines[0])
	require.Len(t, lines, 5)
	assert.True(t, strings.HasPrefix(lines[2], "100000000,2,200,,0,0,"), lines[2])
}

// slow is a writer that is held up.
type slow struct {
	mu    sync.Mutex
	n     int
	begun atomic.Int64 // writes, finished or not
}

func (s *slow) Write(b []byte) (int, error) {
	s.begun.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += bytes.Count(b, []byte("\n"))
	return len(b), nil
}

// TestLost sees that a writer that is held up holds up nobody, and that what it
// missed is counted.
func TestLost(t *testing.T) {
	var s slow
	c, err := NewCSV(&s, 1024)
	require.NoError(t, err)
	s.mu.Lock()
	const events = 10_000
	for n := range events {
		c.Event(observe.Event{At: aqm.Time(n)})
	}
	assert.Greater(t, c.Lost(), uint64(0))
	s.mu.Unlock()
	require.NoError(t, c.Close())
	assert.EqualValues(t, events, uint64(s.n-1)+c.Lost(), "less the line of names")
}

// TestRing has an owner that pauses now and then, for the race detector: nothing is
// lost, twice or out of order.
func TestRing(t *testing.T) {
	var got []int
	var r ring[int]
	require.NoError(t, r.open(8, func() int { return 0 }, func(n *int) error { got = append(got, *n); return nil }, func() error { return nil }))
	var want []int
	for n := range 20_000 {
		if s := r.slot(); s != nil {
			*s = n
			r.put()
			want = append(want, n)
		} else {
			runtime.Gosched()
		}
		if n%1000 == 0 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	require.NoError(t, r.Close())
	assert.Equal(t, want, got)
	assert.EqualValues(t, 20_000-len(want), r.Lost())
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestErrors(t *testing.T) {
	for _, slots := range []int{0, 16} {
		c, err := NewCSV(full{}, slots)
		require.NoError(t, err)
		for range 10_000 {
			c.Event(observe.Event{})
		}
		assert.ErrorContains(t, c.Close(), "no space left")
		assert.Positive(t, c.Lost())
		p, err := NewCapture(full{}, CaptureConfig{Link: layers.LinkTypeRaw, Snap: 100, Slots: slots})
		require.NoError(t, err)
		p.Event(observe.Event{Verdict: aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}})
		p.Packet([]byte{1})
		assert.ErrorContains(t, p.Close(), "no space left")
		s := NewSamples(full{})
		s.Sample(observe.Sample{})
		assert.ErrorContains(t, s.Close(), "no space left")
	}
	_, err := NewCapture(io.Discard, CaptureConfig{Link: layers.LinkTypeRaw})
	assert.ErrorContains(t, err, "Snap = 0 bytes, must be in [1, 65535]")
}

// ipv4 returns an IPv4 packet of the codepoint, that ends in n.
func ipv4(ecn aqm.ECN, n byte) []byte {
	b := make([]byte, 100)
	copy(b, []byte{0x45, byte(ecn), 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	b[99] = n
	return b
}

// datapath is a queue of pooled buffers whose marked and dropped packets are captured.
type datapath struct {
	queue   *aqm.FIFO[*[]byte]
	capture *Capture
	poison  bool
}

func (d *datapath) release(b *[]byte) {
	if d.poison {
		for i := range *b {
			(*b)[i] = 0xdb
		}
	}
}

func newDatapath(t *testing.T, w io.Writer, a aqm.AQM, c CaptureConfig) *datapath {
	t.Helper()
	d := &datapath{poison: true}
	var err error
	d.capture, err = NewCapture(w, c)
	require.NoError(t, err)
	config := observe.DefaultConfig("up")
	config.Tap = d.capture.Event
	o, err := observe.New(a, config)
	require.NoError(t, err)
	d.queue, err = aqm.NewFIFO(aqm.FIFOConfig[*[]byte]{LimitPackets: 3, OnDrop: func(b *[]byte, _ aqm.Packet, _ aqm.Verdict) {
		d.capture.Packet(*b)
		d.release(b)
	}}, o)
	require.NoError(t, err)
	return d
}

func (d *datapath) arrive(now aqm.Time, b []byte) {
	p, _ := wire.ParseIP(b)
	v := d.queue.Enqueue(now, &b, p)
	d.capture.Packet(b)
	if v.Action == aqm.Drop {
		d.release(&b)
	}
}

func (d *datapath) depart(now aqm.Time) {
	b, p, ok := d.queue.Dequeue(now)
	if !ok {
		return
	}
	if p.ECN == aqm.CE {
		wire.SetCE(*b)
	}
	d.capture.Packet(*b)
	d.release(b)
}

// scripted answers in turn.
type scripted struct{ verdicts []aqm.Verdict }

func (s *scripted) next() (v aqm.Verdict) {
	v, s.verdicts = s.verdicts[0], s.verdicts[1:]
	return v
}
func (s *scripted) Enqueue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return s.next() }
func (s *scripted) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return s.next() }

// TestCapture has every way a packet can be signalled, with buffers that are
// overwritten as soon as they are released.
func TestCapture(t *testing.T) {
	drop, mark := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}, aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
	overflow := aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	epoch := time.Unix(1_700_000_000, 0).UTC()
	for _, slots := range []int{0, 16} {
		var b bytes.Buffer
		d := newDatapath(t, &b,
			&scripted{[]aqm.Verdict{{}, mark, drop, {}, overflow, drop, {}, mark}},
			CaptureConfig{Name: "up", Link: layers.LinkTypeRaw, Snap: 60, Slots: slots, Epoch: epoch})
		d.arrive(1e6, ipv4(aqm.NotECT, 1)) // passes, and is dropped at Dequeue
		d.arrive(2e6, ipv4(aqm.ECT0, 2))   // is marked
		d.arrive(3e6, ipv4(aqm.NotECT, 3)) // is dropped
		d.arrive(4e6, ipv4(aqm.ECT1, 4))   // passes, and is marked at Dequeue
		d.arrive(5e6, ipv4(aqm.ECT1, 5))   // finds the queue full
		d.depart(6e6)
		d.depart(7e6)
		require.NoError(t, d.capture.Close())
		assert.Zero(t, d.capture.Lost())

		r, err := pcapgo.NewNgReader(&b, pcapgo.DefaultNgReaderOptions)
		require.NoError(t, err)
		var got []string
		for {
			data, ci, options, err := r.ReadPacketDataWithOptions()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			assert.Len(t, data, 60)
			assert.Equal(t, 100, ci.Length)
			p, err := wire.ParseIP(append(data, make([]byte, 40)...))
			require.NoError(t, err, "it is a packet and no poison")
			got = append(got, fmt.Sprint(ci.Timestamp.Sub(epoch), " ", p.ECN, ": ", options.Comments[0]))
		}
		assert.Equal(t, []string{
			"2ms ECT(0): Mark/Early at enqueue, queue 1 packets 100 bytes",
			"3ms NotECT: Drop/Early at enqueue, queue 2 packets 200 bytes",
			"5ms ECT(1): Drop/Overflow at enqueue, queue 3 packets 300 bytes",
			"6ms NotECT: Drop/Early at dequeue after 5ms, queue 2 packets 200 bytes",
			"7ms CE: Mark/Early at dequeue after 3ms, queue 0 packets 0 bytes",
		}, got)
		i, err := r.Interface(0)
		require.NoError(t, err)
		assert.Equal(t, "up", i.Name)
	}
}

// TestTshark has another reader read the file, where it is installed.
func TestTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed; the file is read by gopacket in TestCapture")
	}
	name := filepath.Join(t.TempDir(), "a.pcapng")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	d := newDatapath(t, f, &scripted{[]aqm.Verdict{{Action: aqm.Drop, Reason: aqm.Forced}}}, CaptureConfig{Link: layers.LinkTypeRaw, Snap: 200})
	d.arrive(1e9, ipv4(aqm.NotECT, 1))
	require.NoError(t, d.capture.Close())
	out, err := exec.Command(tshark, "-r", name, "-T", "fields", "-e", "frame.comment", "-e", "ip.src").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "Drop/Forced at enqueue, queue 0 packets 0 bytes\t10.0.0.1")
}

// TestNoAllocation has the owner's side.
func TestNoAllocation(t *testing.T) {
	b := ipv4(aqm.NotECT, 1)
	e := observe.Event{Verdict: aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}}
	direct, err := NewCSV(io.Discard, 0)
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { direct.Event(e) }), "CSV without slots")
	require.NoError(t, direct.Close())

	// A ring that nothing is taken out of has no writer that allocates beside it.
	var s slow
	csv, err := NewCSV(&s, 1<<12)
	require.NoError(t, err)
	capture, err := NewCapture(&s, CaptureConfig{Link: layers.LinkTypeRaw, Snap: 100, Slots: 1 << 12})
	require.NoError(t, err)
	for !csv.sleeping.Load() || !capture.sleeping.Load() { // what files begin with is written
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	begun := s.begun.Load()
	csv.Event(e)
	capture.Event(e)
	capture.Packet(b)
	for csv.head.Load() != 1 || capture.head.Load() != 1 || s.begun.Load() != begun+2 { // both are held up
		time.Sleep(time.Millisecond)
	}
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		csv.Event(e)
		capture.Event(e)
		capture.Packet(b)
	}))
	s.mu.Unlock()
	require.NoError(t, csv.Close())
	require.NoError(t, capture.Close())
}
