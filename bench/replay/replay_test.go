package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/record"
	"github.com/aqmkit/aqmkit/internal/serve"
)

// packet returns a TCP segment of so many bytes in all, from 10.0.0.from.
func packet(from byte, ecn aqm.ECN, flags byte, size int) []byte {
	b := make([]byte, size)
	copy(b, []byte{0x45, byte(ecn), 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, 9})
	binary.BigEndian.PutUint16(b[2:], uint16(size))
	b[32], b[33] = 5<<4, flags
	return b
}

const (
	flagSYN = 0x02
	flagACK = 0x10
)

// stream returns packets of a Poisson process that is a quarter more than 10 Mb/s.
func stream(n int) (at []time.Duration, packets [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Duration(0)
	for range n {
		now += time.Duration(r.ExpFloat64() * float64(time.Millisecond) * .72)
		p := packet(1, aqm.ECT0, flagACK, 1500)
		switch r.IntN(10) {
		case 0:
			p = packet(2, aqm.NotECT, flagACK, 40)
		case 1:
			p = packet(2, aqm.NotECT, flagSYN, 60)
		case 2:
			p = packet(1, aqm.NotECT, flagACK, 1500)
		}
		at, packets = append(at, now), append(packets, p)
	}
	return at, packets
}

// writeFile writes a file in a folder of the test's.
func writeFile(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// capture writes the packets behind prefix, cut to snap bytes, as pcapng or pcap.
func capture(t *testing.T, ng bool, link layers.LinkType, prefix []byte, snap int, at []time.Duration, packets [][]byte) string {
	t.Helper()
	var b bytes.Buffer
	var write func(gopacket.CaptureInfo, []byte) error
	flush := func() error { return nil }
	if ng {
		w, err := pcapgo.NewNgWriter(&b, link)
		require.NoError(t, err)
		write = w.WritePacket
		flush = w.Flush
	} else {
		w := pcapgo.NewWriterNanos(&b)
		require.NoError(t, w.WriteFileHeader(uint32(snap), link))
		write = w.WritePacket
	}
	for i, p := range packets {
		p = append(bytes.Clone(prefix), p...)
		info := gopacket.CaptureInfo{Timestamp: time.Unix(1_700_000_000, 0).Add(at[i]), Length: len(p), CaptureLength: min(len(p), snap)}
		require.NoError(t, write(info, p[:info.CaptureLength]))
	}
	require.NoError(t, flush())
	return writeFile(t, "a.pcap", b.Bytes())
}

var ten = Link{Rate: 10e6, RTT: 50 * time.Millisecond, Flows: 8, LimitPackets: 200, Settings: "design", Seed: 1}

func runCapture(t *testing.T, path string, f Filter, l Link, names ...string) *Report {
	t.Helper()
	s, err := OpenCapture(path, f)
	require.NoError(t, err)
	defer s.Close()
	r, err := Run(s, l, names, nil)
	require.NoError(t, err)
	assert.InDelta(t, 1, s.Done(), 1e-9)
	return r
}

// TestCapture has the same packets in captures of every kind: the results are equal.
func TestCapture(t *testing.T) {
	at, packets := stream(5000)
	ethernet := append(make([]byte, 12), 0x08, 0x00)
	vlan := append(make([]byte, 12), 0x81, 0x00, 0, 7, 0x08, 0x00)
	sll := append(make([]byte, 14), 0x08, 0x00)
	sll2 := append([]byte{0x08, 0x00}, make([]byte, 18)...)
	var want *Report
	for _, tc := range []struct {
		name   string
		ng     bool
		link   layers.LinkType
		prefix []byte
		snap   int
	}{
		{"raw pcapng", true, layers.LinkTypeRaw, nil, 2000},
		{"raw pcap, headers only", false, layers.LinkTypeRaw, nil, 40},
		{"Ethernet", false, layers.LinkTypeEthernet, ethernet, 2000},
		{"Ethernet pcapng, headers only", true, layers.LinkTypeEthernet, ethernet, 60},
		{"VLAN", true, layers.LinkTypeEthernet, vlan, 100},
		{"SLL", false, layers.LinkTypeLinuxSLL, sll, 2000},
		{"SLL2", false, 276, sll2, 2000},
		{"loopback", false, layers.LinkTypeNull, []byte{2, 0, 0, 0}, 2000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := runCapture(t, capture(t, tc.ng, tc.link, tc.prefix, tc.snap, at, packets), Filter{}, ten, "droptail", "red", "codel")
			if want == nil {
				want = r
			}
			assert.Equal(t, want, r)
		})
	}
	require.Len(t, want.Results, 3)
	assert.EqualValues(t, 5000, want.Packets)
	droptail, red, codel := want.Results[0], want.Results[1], want.Results[2]
	assert.EqualValues(t, 5000, droptail.Delivered+droptail.Total.Dropped())
	assert.Zero(t, droptail.Total.Marked+droptail.Total.Early+droptail.Total.Forced)
	assert.Positive(t, droptail.Total.Overflow)
	assert.InDelta(t, 1, droptail.Utilisation, .01)
	assert.InDelta(t, want.Offered, 1.25, .2)
	assert.Greater(t, droptail.DelayP50, 150., "ms; 200 packets take 240")
	assert.Less(t, red.DelayP50, droptail.DelayP50/2)
	assert.Positive(t, red.Classes[ack].Dropped(), "the collateral damage that ecnpolicy is about")
	assert.Positive(t, codel.Total.Marked)
	assert.Zero(t, codel.Classes[ack].Marked+codel.Classes[syn].Marked)
	for _, x := range want.Results {
		var sum uint64
		for _, c := range x.Classes {
			sum += c.Arrived
		}
		assert.EqualValues(t, 5000, sum)
		assert.Positive(t, x.Classes[syn].Arrived)
	}
}

func TestFilterAndDamage(t *testing.T) {
	at := []time.Duration{0, 2e6, 1e6, 3e6, 4e6}
	packets := [][]byte{packet(1, 0, flagACK, 100), packet(2, 0, flagSYN, 60), packet(1, 0, flagACK, 40), {0x99, 1, 2}, packet(7, 0, flagACK, 50)}
	path := capture(t, false, layers.LinkTypeRaw, nil, 2000, at, packets)
	r := runCapture(t, path, Filter{}, ten, "droptail")
	assert.EqualValues(t, 4, r.Packets)
	assert.EqualValues(t, 1, r.Skipped)
	assert.EqualValues(t, 1, r.Backwards)
	r = runCapture(t, path, Filter{From: netip.MustParsePrefix("10.0.0.0/30")}, ten, "droptail")
	assert.EqualValues(t, 3, r.Packets)
	assert.EqualValues(t, 1, r.Filtered)
	s, err := OpenCapture(path, Filter{To: netip.MustParsePrefix("10.0.0.0/30")})
	require.NoError(t, err)
	defer s.Close()
	_, err = Run(s, ten, []string{"droptail"}, nil)
	assert.EqualError(t, err, "there are no arrivals to replay")

	b, err := os.ReadFile(path)
	require.NoError(t, err)
	cut, err := OpenCapture(writeFile(t, "cut.pcap", b[:len(b)-10]), Filter{})
	require.NoError(t, err)
	defer cut.Close()
	_, err = Run(cut, ten, []string{"droptail"}, nil)
	assert.ErrorContains(t, err, "after 4 packets")

	_, err = OpenCapture(capture(t, false, layers.LinkTypeIEEE802_11, nil, 2000, at, packets), Filter{})
	assert.ErrorContains(t, err, "known are Ethernet, raw IP, Linux cooked and BSD loopback")
	for _, bad := range [][]byte{nil, {1}, []byte("hello, world")} {
		_, err = Is(writeFile(t, "x", bad))
		assert.ErrorContains(t, err, "is neither a recording nor a pcap or pcapng file")
	}
	what, err := Is(path)
	require.NoError(t, err)
	assert.Equal(t, "capture", what)
}

// recording records queues under the algorithms, each served at 10 Mb/s with seed 5.
func recording(t *testing.T, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := record.NewWriter(&b)
	require.NoError(t, err)
	at, packets := stream(5000)
	for _, name := range names {
		e, err := catalog.Find(name)
		require.NoError(t, err)
		h := record.Header{Command: "test", Name: "to the " + name, Algorithm: name, Seed: 5, Stream: 6, Rate: 10e6, RTT: 50 * time.Millisecond, Flows: 8, LimitPackets: 200}
		a, err := e.New(h.Rate, h.RTT, h.Flows, h.Source())
		require.NoError(t, err)
		a, err = w.Queue(h, a)
		require.NoError(t, err)
		link, err := serve.New(aqm.FIFOConfig[int]{LimitPackets: h.LimitPackets}, h.Rate, a, func(int, aqm.Packet, aqm.Time, aqm.Time) {})
		require.NoError(t, err)
		for i, p := range packets {
			q := aqm.Packet{Size: uint32(len(p)), ECN: aqm.ECNFromTOS(p[1]), Class: aqm.Data}
			link.Arrive(aqm.Time(at[i])+12345, i, q)
		}
		link.Advance(aqm.Time(at[len(at)-1]) + 1e12)
	}
	require.NoError(t, w.Close())
	return writeFile(t, "a.rec", b.Bytes())
}

// TestRecording sees that the algorithm that was recorded gives what was recorded.
func TestRecording(t *testing.T) {
	path := recording(t, "red", "pie")
	for queue, name := range []string{"red", "pie"} {
		recorder := NewRecorder()
		s, err := OpenRecording(path, queue, recorder.Event)
		require.NoError(t, err)
		defer s.Close()
		l := ten
		l.Seed, l.Stream = 5, 6
		r, err := Run(s, l, []string{name, "codel"}, nil)
		require.NoError(t, err)
		assert.Equal(t, name, s.Header().Algorithm)
		recorded := recorder.Result(l.Rate)
		assert.Positive(t, recorded.Total.Marked)
		assert.Equal(t, "recorded", recorded.Algorithm)
		recorded.Algorithm = name
		same := r.Results[0]
		assert.InDelta(t, recorded.Utilisation, same.Utilisation, 1e-3, "the recording does not say when the last packet had left")
		recorded.Utilisation = same.Utilisation
		assert.Equal(t, recorded, same)
		assert.NotEqual(t, same.Total.Marked, r.Results[1].Total.Marked)
	}
	s, err := OpenRecording(path, -1, nil)
	require.NoError(t, err)
	defer s.Close()
	for err == nil {
		_, _, err = s.Next()
	}
	assert.ErrorContains(t, err, `has several queues: choose one with --queue; the first are 0 "to the red", 1 "to the pie"`)
	s, err = OpenRecording(path, 2, nil)
	require.NoError(t, err)
	defer s.Close()
	for err == nil {
		_, _, err = s.Next()
	}
	assert.ErrorContains(t, err, "--queue = 2, must be in [0, 1]")
	s, err = OpenRecording(recording(t, "red"), -1, nil)
	require.NoError(t, err)
	defer s.Close()
	_, _, err = s.Next()
	assert.NoError(t, err, "the only one there is")
	what, err := Is(path)
	require.NoError(t, err)
	assert.Equal(t, "recording", what)
}

func TestPolicyAndSettings(t *testing.T) {
	at, packets := stream(5000)
	path := capture(t, false, layers.LinkTypeRaw, nil, 2000, at, packets)
	bare := runCapture(t, path, Filter{}, ten, "red").Results[0]
	protected := ten
	protected.Policy = ecnpolicy.Config{Protect: ecnpolicy.ACKSYN}
	spared := runCapture(t, path, Filter{}, protected, "red").Results[0]
	assert.Positive(t, bare.Classes[syn].Early+bare.Classes[syn].Forced)
	assert.Zero(t, spared.Classes[syn].Early+spared.Classes[syn].Forced)
	for _, settings := range []string{"default", "paper"} {
		l := ten
		l.Settings = settings
		assert.NotEqual(t, bare, runCapture(t, path, Filter{}, l, "red").Results[0])
	}
	l := ten
	l.Seed = 2
	assert.NotEqual(t, bare, runCapture(t, path, Filter{}, l, "red").Results[0])
}

func TestStopped(t *testing.T) {
	at, packets := stream(100)
	s, err := OpenCapture(capture(t, false, layers.LinkTypeRaw, nil, 2000, at, packets), Filter{})
	require.NoError(t, err)
	defer s.Close()
	stop := errors.New("stop")
	_, err = Run(s, ten, []string{"red"}, func(float64) error { return stop })
	assert.ErrorIs(t, err, stop)
}

func TestLink(t *testing.T) {
	for want, change := range map[string]func(*Link){
		"rate = 0 bit/s, must be in [1k, 1000G]":         func(l *Link) { l.Rate = 0 },
		"rtt = 0s, must be in [10us, 10s]":               func(l *Link) { l.RTT = 0 },
		"flows = 0, must be in [1, 1000000]":             func(l *Link) { l.Flows = 0 },
		"limit = 0 packets, must be in [1, 16777216]":    func(l *Link) { l.LimitPackets = 0 },
		"limit = -1 bytes, must be >= 0, where 0 means ": func(l *Link) { l.LimitBytes = -1 },
	} {
		l := ten
		change(&l)
		assert.ErrorContains(t, l.Validate(), want)
	}
	_, err := NewRuns(ten, []string{"blue"})
	assert.ErrorContains(t, err, `unknown algorithm "blue"`)
}

func TestFormats(t *testing.T) {
	at, packets := stream(1000)
	r := runCapture(t, capture(t, false, layers.LinkTypeRaw, nil, 2000, at, packets), Filter{}, ten, catalog.Names()...)
	r.File = "a.pcap"
	var table, again, lines strings.Builder
	require.NoError(t, r.WriteTable(&table))
	require.NoError(t, r.WriteTable(&again))
	assert.Equal(t, table.String(), again.String())
	assert.Contains(t, table.String(), "a.pcap: 1000 packets")
	require.NoError(t, r.WriteCSV(&lines))
	rows := strings.Split(strings.TrimSpace(lines.String()), "\n")
	require.Len(t, rows, 1+len(catalog.Names()))
	for i, row := range rows {
		assert.Equal(t, strings.Count(rows[0], ","), strings.Count(row, ","))
		if i > 0 {
			assert.True(t, strings.HasPrefix(row, catalog.Names()[i-1]+",design,10000000,50,8,200,1,1000,"), row)
		}
	}
}
