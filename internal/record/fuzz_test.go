package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"

	"github.com/aqmkit/aqmkit/aqm"
)

// FuzzReader reads any bytes, as a file and as what a file holds compressed: events
// that a queue could have had, or an error about the format, and never a panic. What
// is read is replayed through drop-tail.
func FuzzReader(f *testing.F) {
	file, _ := simulate(f, 6, 1)
	f.Add(file, false)
	zip, err := gzip.NewReader(bytes.NewReader(file[len(magic)+2:]))
	if err != nil {
		f.Fatal(err)
	}
	frames, err := io.ReadAll(zip)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(frames, true)
	f.Add([]byte("\x01\x13{\"limit_packets\":3}\x02\x06\x00\x40\x64\x02\x20\x01\x03\x02\x01\x02"), true)
	f.Fuzz(func(t *testing.T, data []byte, frames bool) {
		open := func() (*Reader, error) {
			if frames { // as if decompressed, so that the fuzzer need not learn to compress
				return &Reader{file: bufio.NewReader(bytes.NewReader(nil)), in: bufio.NewReader(bytes.NewReader(data))}, nil
			}
			return NewReader(bytes.NewReader(data))
		}
		r, err := open()
		var headers []Header
		var events [][]Event
		if err == nil {
			headers, events, err = readAll(r)
		}
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Fatalf("an error of another kind: %v", err)
		}
		if r, _ = open(); r == nil {
			return
		}
		results, err2 := Replay(r, Options{
			New: func(_ int, h Header) (aqm.AQM, error) {
				if h.LimitPackets > 1000 {
					return nil, nil // NewFIFO allocates for all of them
				}
				return aqm.TailDrop{}, nil
			},
			Serve: true,
		})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("read: %v; replayed: %v", err, err2)
		}
		if err != nil {
			return
		}
		for _, result := range results {
			if result.Recorded != uint64(len(events[result.Queue])) {
				t.Fatalf("queue %+v: %d events replayed, %d read", headers[result.Queue], result.Recorded, len(events[result.Queue]))
			}
		}
	})
}

// FuzzRoundTrip writes any events and reads them back.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 0x80, 0, 0xff, 2, 0x80, 0xff, 9, 4, 3, 2, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var file bytes.Buffer
		w, err := NewWriter(&file)
		if err != nil {
			t.Fatal(err)
		}
		var want []Event
		h := Header{LimitPackets: 8, LimitBytes: 5000}
		a, err := w.Queue(h, tap{aqm.TailDrop{}, func(e Event) { want = append(want, e) }})
		if err != nil {
			t.Fatal(err)
		}
		queue, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: h.LimitPackets, LimitBytes: h.LimitBytes}, a)
		if err != nil {
			t.Fatal(err)
		}
		now := aqm.Time(0)
		for ; len(data) >= 4; data = data[4:] {
			now = now.Add(1 << (data[0] % 63))
			if data[0]&0x80 != 0 {
				queue.Dequeue(now)
				continue
			}
			queue.Enqueue(now, 0, aqm.Packet{Size: uint32(data[1]) << (data[2] % 24), ECN: aqm.ECN(data[2] >> 6), Class: aqm.Class(data[3])})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, got, err := read(t, file.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if len(got[0]) != len(want) {
			t.Fatalf("%d events, want %d", len(got[0]), len(want))
		}
		for i := range want {
			if got[0][i] != want[i] {
				t.Fatalf("event %d is %+v, want %+v", i, got[0][i], want[i])
			}
		}
	})
}
