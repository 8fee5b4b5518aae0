package record

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/serve"
	"github.com/aqmkit/aqmkit/threshold"
)

// coin signals at random, at both ends.
type coin struct {
	rand *rand.Rand
	odds int
}

func (c coin) signal(p aqm.Packet, full bool) aqm.Verdict {
	switch {
	case full:
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	case c.rand.IntN(c.odds) == 0:
		return aqm.MarkOrDrop(p.ECN, aqm.Early)
	case c.rand.IntN(c.odds) == 0:
		return aqm.MarkOrDrop(p.ECN, aqm.Forced)
	}
	return aqm.Verdict{}
}

func (c coin) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	return c.signal(p, q.Full)
}

func (c coin) Dequeue(_ aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	return c.signal(p, false)
}

func newCoin(_ int, h Header) (aqm.AQM, error) { return coin{rand.New(h.Source()), 6}, nil }

func header(name string, stream uint64) Header {
	return Header{
		Command: "record test", Name: name, Algorithm: "coin", Seed: 42, Stream: stream,
		Rate: 50e6, RTT: 20 * time.Millisecond, Flows: 8, LimitPackets: 30, LimitBytes: 40_000,
	}
}

// simulate records a link of two directions whose events interleave, and returns the
// file, and the events of each queue as a second tap saw them.
func simulate(t testing.TB, arrivals int, seed uint64) ([]byte, [2][]Event) {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file)
	require.NoError(t, err)
	var seen [2][]Event
	var links [2]*serve.Server[struct{}]
	for i := range links {
		h := header("direction", uint64(i))
		a, err := newCoin(i, h)
		require.NoError(t, err)
		a, err = w.Queue(h, tap{a, func(e Event) { seen[i] = append(seen[i], e) }})
		require.NoError(t, err)
		links[i], err = serve.New(aqm.FIFOConfig[struct{}]{LimitPackets: h.LimitPackets, LimitBytes: h.LimitBytes}, h.Rate, a,
			func(struct{}, aqm.Packet, aqm.Time, aqm.Time) {})
		require.NoError(t, err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	now := aqm.Time(-5e9)
	for range arrivals {
		now += aqm.Time(r.IntN(120_000))
		p := aqm.Packet{Size: 1500, ECN: aqm.ECN(r.IntN(4)), Class: aqm.Data}
		if r.IntN(3) == 0 {
			p.Size, p.Class = uint32(r.IntN(1500)), aqm.PureACK|aqm.ECE
		}
		links[r.IntN(2)].Arrive(now, struct{}{}, p)
	}
	for _, link := range links { // a recording does not end with an arrival
		link.Advance(now.Add(time.Second))
	}
	require.NoError(t, w.Close())
	return file.Bytes(), seen
}

func read(t testing.TB, file []byte) (headers []Header, events [][]Event, err error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, nil, err
	}
	return readAll(r)
}

func readAll(r *Reader) (headers []Header, events [][]Event, err error) {
	for {
		n, e, err := r.Next()
		for len(headers) < r.Queues() {
			headers, events = append(headers, r.Header(len(headers))), append(events, nil)
		}
		if errors.Is(err, io.EOF) {
			return headers, events, nil
		}
		if err != nil {
			return nil, nil, err
		}
		events[n] = append(events[n], e)
	}
}

// TestRoundTrip writes many frames and reads every event back as it was.
func TestRoundTrip(t *testing.T) {
	file, want := simulate(t, 20_000, 3)
	headers, got, err := read(t, file)
	require.NoError(t, err)
	assert.Equal(t, []Header{header("direction", 0), header("direction", 1)}, headers)
	require.Len(t, got, 2)
	kinds := map[aqm.Verdict]int{}
	for i := range got {
		assert.Equal(t, want[i], got[i])
		for _, e := range got[i] {
			kinds[e.Verdict]++
		}
	}
	assert.Len(t, kinds, 5, "every verdict that occurs: pass, mark, three kinds of drop: %v", kinds)
	events := len(want[0]) + len(want[1])
	assert.Less(t, len(file), 9*events, "octets for %d events", events)
	t.Logf("%.1f octets an event", float64(len(file))/float64(events))
}

// TestCompact writes what is like the event before in an octet.
func TestCompact(t *testing.T) {
	w, err := NewWriter(io.Discard)
	require.NoError(t, err)
	a, err := w.Queue(Header{LimitPackets: 1000}, aqm.TailDrop{})
	require.NoError(t, err)
	for range 1000 {
		a.Enqueue(0, aqm.Packet{Size: 1500, ECN: aqm.ECT0, Class: aqm.Data}, aqm.Occupancy{})
		a.Dequeue(0, aqm.Packet{}, aqm.Occupancy{})
	}
	assert.Len(t, w.queues[0].buf, 1+4+2000, "the queue's number, the shape once, the events")
}

// TestReplay gets the same verdicts from an equal instance, at the recorded
// opportunities and from a link that is served anew.
func TestReplay(t *testing.T) {
	file, want := simulate(t, 5000, 4)
	for _, anew := range []bool{false, true} {
		r, err := NewReader(bytes.NewReader(file))
		require.NoError(t, err)
		var recorded, replayed [2][]Event
		results, err := Replay(r, Options{
			New: newCoin, Serve: anew,
			Recorded: func(n int, e Event) { recorded[n] = append(recorded[n], e) },
			Replayed: func(n int, e Event) { replayed[n] = append(replayed[n], e) },
		})
		require.NoError(t, err)
		require.Len(t, results, 2)
		for n, result := range results {
			assert.Nil(t, result.Difference, "served anew %v: %v", anew, result.Difference)
			assert.Equal(t, uint64(len(want[n])), result.Recorded)
			assert.Equal(t, uint64(len(want[n])), result.Replayed)
			assert.Equal(t, n, result.Queue)
			assert.Equal(t, header("direction", uint64(n)), result.Header)
		}
		assert.Equal(t, want, recorded)
		assert.Equal(t, want, replayed)
	}
}

// TestReplayDiffers finds the first verdict that another seed changes, and none before
// it.
func TestReplayDiffers(t *testing.T) {
	file, want := simulate(t, 2000, 5)
	for _, anew := range []bool{false, true} {
		r, err := NewReader(bytes.NewReader(file))
		require.NoError(t, err)
		var replayed []Event
		results, err := Replay(r, Options{
			New: func(n int, h Header) (aqm.AQM, error) {
				if n == 1 {
					return nil, nil // left out
				}
				h.Seed++
				return newCoin(n, h)
			},
			Serve:    anew,
			Replayed: func(_ int, e Event) { replayed = append(replayed, e) },
		})
		require.NoError(t, err)
		require.Len(t, results, 1)
		d := results[0].Difference
		require.NotNil(t, d)
		require.NotNil(t, d.Recorded)
		require.NotNil(t, d.Replayed)
		assert.Equal(t, want[0][:d.Index], replayed[:d.Index])
		assert.Equal(t, want[0][d.Index], *d.Recorded)
		assert.Equal(t, replayed[d.Index], *d.Replayed)
		assert.NotEqual(t, *d.Recorded, *d.Replayed)
		assert.Contains(t, d.String(), "replayed arrival at -")
	}
}

// TestReplayThroughAnother serves the arrivals to a threshold: the link stays as busy,
// and nothing is dropped but by the limits.
func TestReplayThroughAnother(t *testing.T) {
	file, want := simulate(t, 5000, 6)
	r, err := NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	marks, arrivals := 0, [2]int{}
	_, err = Replay(r, Options{
		New: func(int, Header) (aqm.AQM, error) {
			return threshold.New(threshold.Config{Packets: 5})
		},
		Serve: true,
		Replayed: func(n int, e Event) {
			if e.Kind == Arrival {
				arrivals[n]++
			}
			if e.Verdict.Action == aqm.Mark {
				marks++
			}
			assert.NotEqual(t, aqm.Verdict{Action: aqm.Drop, Reason: aqm.Early}, e.Verdict)
		},
	})
	require.NoError(t, err)
	assert.NotZero(t, marks)
	for n := range want {
		recorded := 0
		for _, e := range want[n] {
			if e.Kind == Arrival {
				recorded++
			}
		}
		assert.Equal(t, recorded, arrivals[n])
	}
}

// TestReplayStops ends where it is told to.
func TestReplayStops(t *testing.T) {
	file, _ := simulate(t, 10, 7)
	for _, failing := range []string{"New", "Stop"} {
		r, err := NewReader(bytes.NewReader(file))
		require.NoError(t, err)
		enough := errors.New("enough")
		o := Options{New: newCoin, Stop: func() error { return nil }}
		if failing == "New" {
			o.New = func(int, Header) (aqm.AQM, error) { return nil, enough }
		} else {
			o.Stop = func() error { return enough }
		}
		_, err = Replay(r, o)
		assert.ErrorIs(t, err, enough, failing)
	}
}

// TestReplayWithoutRate goes by the recorded opportunities.
func TestReplayWithoutRate(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	require.NoError(t, err)
	h := header("no link", 0)
	h.Rate = 0
	a, err := newCoin(0, h)
	require.NoError(t, err)
	a, err = w.Queue(h, a)
	require.NoError(t, err)
	queue, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: h.LimitPackets, LimitBytes: h.LimitBytes}, a)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(8, 8))
	for now := range aqm.Time(3000) {
		if r.IntN(2) == 0 {
			queue.Enqueue(now, 0, aqm.Packet{Size: 100, ECN: aqm.ECT0})
		} else {
			queue.Dequeue(now) // now and then all of the queue is dropped
		}
	}
	require.NoError(t, w.Close())
	reader, err := NewReader(&file)
	require.NoError(t, err)
	results, err := Replay(reader, Options{New: newCoin, Serve: true})
	require.NoError(t, err)
	assert.Nil(t, results[0].Difference, "%v", results[0].Difference)
	assert.NotZero(t, results[0].Recorded)
}

// TestEndsEarly compares runs of unequal length.
func TestEndsEarly(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	require.NoError(t, err)
	a, err := w.Queue(Header{LimitPackets: 9, Rate: 8e9}, aqm.TailDrop{})
	require.NoError(t, err)
	p := aqm.Packet{Size: 100}
	a.Enqueue(0, p, aqm.Occupancy{})
	a.Enqueue(0, p, aqm.Occupancy{Packets: 1, Bytes: 100})
	a.Enqueue(500, p, aqm.Occupancy{Packets: 2, Bytes: 200}) // without a departure, which a link would have had
	require.NoError(t, w.Close())
	reader, err := NewReader(&file)
	require.NoError(t, err)
	results, err := Replay(reader, Options{New: func(int, Header) (aqm.AQM, error) { return aqm.TailDrop{}, nil }, Serve: true})
	require.NoError(t, err)
	d := results[0].Difference
	require.NotNil(t, d)
	assert.Equal(t, uint64(1), d.Index)
	assert.Equal(t, Departure, d.Replayed.Kind)
}

// TestDamage sees an error for every truncation and for changes of any octet, but for
// the few of gzip's header that say nothing about the content.
func TestDamage(t *testing.T) {
	file, _ := simulate(t, 200, 9)
	_, want, err := read(t, file)
	require.NoError(t, err)
	for n := range file {
		_, _, err := read(t, file[:n])
		require.ErrorIs(t, err, ErrFormat, "cut off after %d of %d octets", n, len(file))
	}
	silent := 0
	for i := range file {
		bad := bytes.Clone(file)
		bad[i] ^= 0x41
		_, got, err := read(t, bad)
		if err == nil {
			silent++
			require.Equal(t, want, got, "octet %d", i)
			continue
		}
		require.ErrorIs(t, err, ErrFormat, "octet %d", i)
	}
	assert.LessOrEqual(t, silent, 7, "MTIME, XFL and OS [RFC 1952 2.3.1]")
	_, _, err = read(t, append(bytes.Clone(file), 0))
	assert.ErrorContains(t, err, "something follows its end")
	_, _, err = read(t, []byte("arrival,size\n1,1500\n"))
	assert.ErrorContains(t, err, "it does not begin as one")
	_, _, err = read(t, []byte("AQMREC\x02\nwhatever"))
	assert.ErrorContains(t, err, "version 2, and this program knows version 1")
}

// pack compresses frames, each a kind and its payload, into a file.
func pack(frames ...[]byte) []byte {
	file := bytes.NewBufferString("AQMREC\x01\n")
	zip := gzip.NewWriter(file)
	for _, f := range frames {
		zip.Write(binary.AppendUvarint([]byte{f[0]}, uint64(len(f)-1)))
		zip.Write(f[1:])
	}
	zip.Close()
	return file.Bytes()
}

// TestImpossible refuses what no queue does, whatever the checksums say.
func TestImpossible(t *testing.T) {
	queue := []byte("\x01" + `{"limit_packets":1,"name":"q","field_of_the_future":1}`)
	const arrive, depart = 0 | opShape, 1
	ect := []byte{100, byte(aqm.ECT0), byte(aqm.Data)}
	events := func(b ...byte) []byte { return append([]byte{frameEvents, 0}, b...) }
	end := func(b ...byte) []byte { return append([]byte{frameEnd}, b...) }
	one := append([]byte{arrive}, ect...)
	for _, tc := range []struct {
		name   string
		frames [][]byte
		want   string // "" = it is well
	}{
		{"no queue", [][]byte{end(0)}, ""},
		{"one of each", [][]byte{queue, events(append(one, depart)...), end(1, 2)}, ""},
		{"a second packet over the limit", [][]byte{queue, events(append(one, 0)...), end(1, 2)}, "more than 1 packets are queued"},
		{"departure from an empty queue", [][]byte{queue, events(depart), end(1, 1)}, "with 0 packets queued"},
		{"events of no queue", [][]byte{events(depart)}, "no header"},
		{"kind of event", [][]byte{queue, events(2)}, "an event is 0x02"},
		{"pass with a reason", [][]byte{queue, events(1<<4 | arrive)}, "an event is"},
		{"mark without a reason", [][]byte{queue, events(1<<2 | arrive)}, "an event is"},
		{"no such action", [][]byte{queue, events(3<<2 | 1<<4 | arrive)}, "an event is"},
		{"NotECT marked", [][]byte{queue, events(1<<2|1<<4|arrive, 100, 0, 1)}, "not ECN-capable"},
		{"mark for overflow", [][]byte{queue, events(append([]byte{1<<2 | 3<<4 | arrive}, ect...)...)}, "Mark/Overflow"},
		{"ECN field", [][]byte{queue, events(arrive, 100, 4, 1)}, "shape"},
		{"size", [][]byte{queue, events(arrive, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 1)}, "shape"},
		{"half a shape", [][]byte{queue, events(arrive, 100)}, "shape"},
		{"half a wait", [][]byte{queue, events(opWait|arrive, 0x80)}, "cut off"},
		{"count of events", [][]byte{queue, events(one...), end(1, 2)}, "queue 0 has 1 events and says 2"},
		{"count of queues", [][]byte{queue, end(0)}, "it has 1 queues and says 0"},
		{"long end", [][]byte{queue, end(1, 0, 0)}, "last frame is too long"},
		{"short end", [][]byte{queue, end(1)}, "says 0"},
		{"frame behind the end", [][]byte{end(0), queue}, "something follows"},
		{"no end", [][]byte{queue}, "cut off"},
		{"kind of frame", [][]byte{{9}}, "kind 9"},
		{"JSON", [][]byte{{1, '{'}}, "header of a queue"},
		{"limit", [][]byte{[]byte("\x01{}")}, "limit of a queue = 0 packets"},
		{"negative", [][]byte{[]byte("\x01" + `{"limit_packets":1,"flows":-1}`)}, "must not be negative"},
		{"text", [][]byte{[]byte("\x01" + `{"limit_packets":1,"name":"\u001b[2J"}`)}, "must be printable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := read(t, pack(tc.frames...))
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrFormat)
			assert.ErrorContains(t, err, tc.want)
		})
	}
	_, _, err := read(t, pack(append([]byte{frameQueue}, make([]byte, maxFrame+1)...)))
	assert.ErrorContains(t, err, "a frame is too long")
	_, _, err = read(t, pack(append([]byte{frameQueue}, make([]byte, maxFrame)...)))
	assert.ErrorContains(t, err, "header of a queue")
}

// TestInstants keeps any instants apart, the ends of the range included.
func TestInstants(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	require.NoError(t, err)
	a, err := w.Queue(Header{LimitPackets: 9}, aqm.TailDrop{})
	require.NoError(t, err)
	want := []aqm.Time{0, 0, math.MaxInt64, math.MinInt64, -1, 1, math.MinInt64, math.MaxInt64}
	for _, now := range want {
		a.Enqueue(now, aqm.Packet{Size: math.MaxUint32}, aqm.Occupancy{})
	}
	require.NoError(t, w.Close())
	_, events, err := read(t, file.Bytes())
	require.NoError(t, err)
	var got []aqm.Time
	for _, e := range events[0] {
		got = append(got, e.At)
		assert.Equal(t, uint32(math.MaxUint32), e.Packet.Size)
	}
	assert.Equal(t, want, got)
}

// rogue breaks the contract.
type rogue struct{ aqm.Verdict }

func (r rogue) Enqueue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return r.Verdict }
func (r rogue) Dequeue(aqm.Time, aqm.Packet, aqm.Occupancy) aqm.Verdict { return r.Verdict }

// TestRogue records what the queue did, not what the algorithm said.
func TestRogue(t *testing.T) {
	for action := range aqm.Action(aqm.NumActions + 1) {
		for reason := range aqm.Reason(aqm.NumReasons + 1) {
			for _, e := range []aqm.ECN{aqm.NotECT, aqm.ECT0} {
				var got []aqm.Verdict
				a := tap{rogue{aqm.Verdict{Action: action, Reason: reason}}, func(e Event) { got = append(got, e.Verdict) }}
				queue, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 1}, a)
				require.NoError(t, err)
				first := queue.Enqueue(0, 0, aqm.Packet{ECN: e})
				second := queue.Enqueue(0, 0, aqm.Packet{ECN: e})
				assert.Equal(t, []aqm.Verdict{first, second}, got, "%v/%v", action, reason)
			}
		}
	}
}

// full takes n octets.
type full struct{ n int }

func (f *full) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, errors.New("disk is full")
	}
	return len(b), nil
}

// TestWriteErrors reports a write that failed, at the latest at Close.
func TestWriteErrors(t *testing.T) {
	_, err := NewWriter(&full{0})
	require.ErrorContains(t, err, "disk is full")
	w, err := NewWriter(&full{20})
	require.NoError(t, err)
	a, err := w.Queue(header("q", 0), aqm.TailDrop{})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		a.Enqueue(aqm.Time(r.Uint64()), aqm.Packet{}, aqm.Occupancy{Full: true})
	}
	require.ErrorContains(t, w.Close(), "disk is full")
	require.ErrorContains(t, w.Close(), "disk is full")
	_, err = w.Queue(header("q", 0), aqm.TailDrop{})
	require.ErrorContains(t, err, "after Close")

	w, err = NewWriter(io.Discard)
	require.NoError(t, err)
	_, err = w.Queue(Header{}, aqm.TailDrop{})
	assert.ErrorIs(t, err, aqm.ErrConfig)
	_, err = w.Queue(header("q", 0), nil)
	assert.ErrorIs(t, err, aqm.ErrConfig)
}

// TestFile sees no file until it is complete, and none of a recording that failed.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.aqmrec")
	names := func() (list []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	f, err := Create(path)
	require.NoError(t, err)
	a, err := f.Queue(header("q", 0), aqm.TailDrop{})
	require.NoError(t, err)
	a.Enqueue(1, aqm.Packet{Size: 7}, aqm.Occupancy{})
	assert.NoFileExists(t, path)
	require.NoError(t, f.Close())
	assert.Equal(t, []string{"run.aqmrec"}, names())
	f.Discard()
	r, closer, err := Open(path)
	require.NoError(t, err)
	_, e, err := r.Next()
	require.NoError(t, err)
	assert.Equal(t, Event{Arrival, 1, aqm.Packet{Size: 7}, aqm.Verdict{}}, e)
	require.NoError(t, closer.Close())

	old, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err = Create(path)
	require.NoError(t, err)
	f.Discard()
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, old, now, "a discarded recording leaves the old one")

	f, err = Create(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(path, "x"), nil, 0o644))
	require.Error(t, f.Close(), "it cannot be given its name")
	assert.Equal(t, []string{"run.aqmrec"}, names(), "nothing is left of it")

	_, err = Create(path)
	assert.ErrorContains(t, err, "not a regular file")
	_, err = Create(filepath.Join(dir, "none", "run"))
	assert.Error(t, err)
	_, _, err = Open(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, _, err = Open(filepath.Join(path, "x"))
	assert.ErrorIs(t, err, ErrFormat)
}
