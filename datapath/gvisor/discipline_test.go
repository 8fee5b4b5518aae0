package gvisor

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/aqmkit/aqmkit/aqm"
)

// script answers as it is told.
type script struct {
	enqueue, dequeue func(aqm.Packet) aqm.Verdict
}

func (s script) Enqueue(_ aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Full {
		return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Overflow}
	}
	if s.enqueue != nil {
		return s.enqueue(p)
	}
	return aqm.Verdict{}
}

func (s script) Dequeue(_ aqm.Time, p aqm.Packet, _ aqm.Occupancy) aqm.Verdict {
	if s.dequeue != nil {
		return s.dequeue(p)
	}
	return aqm.Verdict{}
}

func always(a aqm.Action) func(aqm.Packet) aqm.Verdict {
	return func(p aqm.Packet) aqm.Verdict {
		if a == aqm.Mark {
			return aqm.MarkOrDrop(p.ECN, aqm.Early)
		}
		return aqm.Verdict{Action: a, Reason: aqm.Early}
	}
}

// sink is a link that keeps copies of what it takes.
type sink struct {
	mu     sync.Mutex
	take   func(stack.PacketBufferList) (int, tcpip.Error) // nil takes all
	got    [][]byte
	calls  []int // packets in each
	at     []time.Duration
	clock  *virtualClock
	closed bool // nothing may come any more
	late   int
}

func (s *sink) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	s.mu.Lock()
	take := s.take
	s.mu.Unlock()
	n, err := list.Len(), tcpip.Error(nil)
	if take != nil {
		n, err = take(list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, list.Len())
	for _, pkt := range list.AsSlice()[:n] {
		s.got = append(s.got, ipOf(pkt))
		if s.clock != nil {
			s.at = append(s.at, s.clock.elapsed())
		}
		if s.closed {
			s.late++
		}
	}
	return n, err
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

func (s *sink) ids() (ids []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.got {
		ids = append(ids, b[len(b)-1])
	}
	return ids
}

// start returns an unpaced discipline with a queue for each algorithm.
func start(t testing.TB, s *sink, change func(*Config), algorithms ...aqm.AQM) *Discipline {
	t.Helper()
	c := Config{Clock: tcpip.NewStdClock(), LimitPackets: 100, AQMs: algorithms, Batch: DefaultBatch}
	if change != nil {
		change(&c)
	}
	d, err := New(s, c)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// send writes a packet as netstack does, which gives its reference up at once.
func send(d *Discipline, b []byte) tcpip.Error {
	pkt := outgoing(b, 0)
	defer pkt.DecRef()
	return d.WritePacket(pkt)
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// noLeak checks that all packets are gone once d is closed.
func noLeak(t *testing.T, d *Discipline) {
	t.Helper()
	d.Close()
	balance(t, d)
	assert.NoError(t, leaked())
}

// blocked is a link that waits in each WritePackets.
func blocked() (s *sink, release func()) {
	gate := make(chan struct{})
	return &sink{take: func(l stack.PacketBufferList) (int, tcpip.Error) {
		<-gate
		return l.Len(), nil
	}}, sync.OnceFunc(func() { close(gate) })
}

// TestReferences takes packets down every path on which one is given up.
func TestReferences(t *testing.T) {
	packet := func(id byte) []byte { return ipv4Bytes(100, aqm.ECT0, header.TCPFlagAck, id) }
	t.Run("sent", func(t *testing.T) {
		s := &sink{}
		d := start(t, s, nil, aqm.TailDrop{})
		for id := range byte(50) {
			require.Nil(t, send(d, packet(id)))
		}
		eventually(t, "all are sent", func() bool { return s.count() == 50 })
		for id, b := range s.got {
			require.Equal(t, packet(byte(id)), b)
		}
		noLeak(t, d)
		assert.Equal(t, uint64(50), d.Stats().Sent)
	})
	t.Run("dropped on the way in", func(t *testing.T) {
		d := start(t, &sink{}, nil, script{enqueue: always(aqm.Drop)})
		assert.IsType(t, &tcpip.ErrNoBufferSpace{}, send(d, packet(0)))
		noLeak(t, d)
		assert.Equal(t, uint64(1), d.Stats().Queues[0].Refused.Packets)
	})
	t.Run("overflow", func(t *testing.T) {
		s, release := blocked()
		d := start(t, s, func(c *Config) { c.LimitPackets, c.Batch = 5, 1 }, aqm.TailDrop{})
		refused := 0
		for id := range byte(20) {
			if send(d, packet(id)) != nil {
				refused++
			}
		}
		assert.GreaterOrEqual(t, refused, 14)
		release()
		noLeak(t, d)
	})
	t.Run("dropped on the way out", func(t *testing.T) {
		d := start(t, &sink{}, nil, script{dequeue: always(aqm.Drop)})
		for id := range byte(20) {
			require.Nil(t, send(d, packet(id)))
		}
		eventually(t, "all are dropped", func() bool { return d.Stats().Queues[0].Dropped.Packets == 20 })
		noLeak(t, d)
	})
	t.Run("refused by the link", func(t *testing.T) {
		for _, err := range []tcpip.Error{nil, &tcpip.ErrNoBufferSpace{}, &tcpip.ErrClosedForSend{}} {
			s := &sink{take: func(l stack.PacketBufferList) (int, tcpip.Error) { return l.Len() / 2, err }}
			d := start(t, s, nil, aqm.TailDrop{})
			for id := range byte(20) {
				require.Nil(t, send(d, packet(id)))
			}
			eventually(t, "all are gone", func() bool { st := d.Stats(); return st.Sent+st.Lost == 20 })
			assert.NotZero(t, d.Stats().Lost)
			noLeak(t, d)
		}
	})
	t.Run("refused for good in spite of RetryAfter", func(t *testing.T) {
		s := &sink{take: func(stack.PacketBufferList) (int, tcpip.Error) { return 0, &tcpip.ErrClosedForSend{} }}
		d := start(t, s, func(c *Config) { c.RetryAfter = time.Millisecond }, aqm.TailDrop{})
		require.Nil(t, send(d, packet(0)))
		eventually(t, "it is lost", func() bool { return d.Stats().Lost == 1 })
		noLeak(t, d)
	})
	t.Run("queued at Close", func(t *testing.T) {
		d := start(t, &sink{}, func(c *Config) { c.Rate = 1000 }, aqm.TailDrop{}, aqm.TailDrop{})
		for id := range byte(20) {
			require.Nil(t, send(d, packet(id)))
		}
		noLeak(t, d)
		flushed := uint64(0)
		for _, q := range d.Stats().Queues {
			flushed += q.Flushed.Packets
			assert.Zero(t, q.Queued)
		}
		assert.GreaterOrEqual(t, flushed, uint64(19))
	})
	t.Run("held at Close", func(t *testing.T) {
		s := &sink{take: func(stack.PacketBufferList) (int, tcpip.Error) { return 0, &tcpip.ErrWouldBlock{} }}
		d := start(t, s, func(c *Config) { c.RetryAfter = time.Second }, aqm.TailDrop{})
		for id := range byte(20) {
			require.Nil(t, send(d, packet(id)))
		}
		eventually(t, "the link has refused", func() bool { return d.Stats().Retries > 0 })
		assert.NotZero(t, d.Stats().Held)
		noLeak(t, d)
		assert.NotZero(t, d.Stats().Lost)
	})
	t.Run("after Close", func(t *testing.T) {
		d := start(t, &sink{}, nil, aqm.TailDrop{})
		d.Close()
		assert.IsType(t, &tcpip.ErrClosedForSend{}, send(d, packet(0)))
		noLeak(t, d)
	})
	t.Run("others hold it", func(t *testing.T) {
		s := &sink{}
		d := start(t, s, nil, script{enqueue: always(aqm.Mark)})
		pkt := outgoing(packet(7), 0)
		other := pkt.IncRef()
		require.Nil(t, d.WritePacket(pkt))
		eventually(t, "it is sent", func() bool { return s.count() == 1 })
		assert.Equal(t, aqm.CE, aqm.ECNFromTOS(s.got[0][1]))
		assert.Equal(t, packet(7), ipOf(other), "the others' packet is as it was")
		assert.EqualValues(t, 2, pkt.ReadRefs())
		pkt.DecRef()
		other.DecRef()
		noLeak(t, d)
	})
}

// TestMarks sees marks given at either end on the link, and never on NotECT.
func TestMarks(t *testing.T) {
	for _, a := range []script{{enqueue: always(aqm.Mark)}, {dequeue: always(aqm.Mark)}} {
		s := &sink{}
		d := start(t, s, nil, a)
		for _, make := range []func(int, aqm.ECN, header.TCPFlags, byte) []byte{ipv4Bytes, ipv6Bytes} {
			for _, e := range []aqm.ECN{aqm.ECT0, aqm.ECT1, aqm.CE} {
				require.Nil(t, send(d, make(100, e, header.TCPFlagAck, 0)))
			}
			_ = send(d, make(100, aqm.NotECT, header.TCPFlagAck, 0))
		}
		eventually(t, "all but NotECT arrive", func() bool { return s.count() == 6 })
		for _, b := range s.got {
			tos, _ := header.IPv4(b).TOS()
			if b[0]>>4 == 6 {
				tos, _ = header.IPv6(b).TOS()
			}
			assert.Equal(t, aqm.CE, aqm.ECNFromTOS(tos))
		}
		noLeak(t, d)
		assert.Equal(t, uint64(4), d.Stats().Queues[0].Marked.Packets)
		assert.Zero(t, d.Stats().Unmarkable)
	}
}

// TestPace looks at the instants at which packets leave: 1500 bytes take 1 ms.
func TestPace(t *testing.T) {
	s := &sink{clock: &virtualClock{}}
	d := start(t, s, func(c *Config) { c.Clock, c.Rate = s.clock, 12_000_000 }, aqm.TailDrop{})
	s.clock.run(time.Second)
	var due []time.Duration
	for id := range byte(10) {
		require.Nil(t, send(d, ipv4Bytes(1500, aqm.NotECT, header.TCPFlagAck, id)))
		due = append(due, time.Second+time.Duration(id)*time.Millisecond)
	}
	s.clock.run(time.Second)
	assert.Equal(t, due, s.at)
	noLeak(t, d)
}

// TestBackPressure leaves the queue to the algorithm while the link is busy.
func TestBackPressure(t *testing.T) {
	s, release := blocked()
	d := start(t, s, func(c *Config) { c.Batch = 4 }, aqm.TailDrop{})
	for id := range byte(60) {
		require.Nil(t, send(d, ipv4Bytes(100, aqm.NotECT, header.TCPFlagAck, id)))
	}
	assert.GreaterOrEqual(t, d.Stats().Queues[0].Queued.Packets, uint64(56), "no more than a batch is out of sight")
	release()
	eventually(t, "all arrive", func() bool { return s.count() == 60 })
	for i, id := range s.ids() {
		require.Equal(t, byte(i), id, "in order")
	}
	for _, n := range s.calls {
		assert.LessOrEqual(t, n, 4)
	}
	noLeak(t, d)
}

// TestRetry offers again what the link refused, in order, when the time is over or at a
// call of Ready.
func TestRetry(t *testing.T) {
	var room int
	var mu sync.Mutex
	s := &sink{take: func(l stack.PacketBufferList) (int, tcpip.Error) {
		mu.Lock()
		defer mu.Unlock()
		n := min(room, l.Len())
		room -= n
		return n, nil
	}}
	give := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		room += n
	}
	t.Run("after a while", func(t *testing.T) {
		d := start(t, s, func(c *Config) { c.RetryAfter = time.Millisecond }, aqm.TailDrop{})
		for id := range byte(30) {
			require.Nil(t, send(d, ipv4Bytes(100, aqm.NotECT, header.TCPFlagAck, id)))
		}
		for n := 5; n <= 30; n += 5 {
			give(5)
			eventually(t, "what there is room for", func() bool { return s.count() == n })
		}
		for i, id := range s.ids() {
			require.Equal(t, byte(i), id)
		}
		noLeak(t, d)
		assert.Zero(t, d.Stats().Lost)
	})
	t.Run("Ready", func(t *testing.T) {
		s.got = nil
		clock := &virtualClock{} // which stands still
		d := start(t, s, func(c *Config) { c.RetryAfter, c.Clock = time.Second, clock }, aqm.TailDrop{})
		require.Nil(t, send(d, ipv4Bytes(100, aqm.NotECT, header.TCPFlagAck, 1)))
		eventually(t, "it is refused", func() bool { return d.Stats().Retries > 0 })
		give(1)
		d.Ready()
		eventually(t, "it is taken", func() bool { return s.count() == 1 })
		noLeak(t, d)
	})
}

// TestClose closes at any time and from several sides: once it returns, the link is not
// written to.
func TestClose(t *testing.T) {
	t.Run("during a write", func(t *testing.T) {
		s, release := blocked()
		d := start(t, s, func(c *Config) { c.Batch = 1 }, aqm.TailDrop{})
		for id := range byte(10) {
			require.Nil(t, send(d, ipv4Bytes(100, aqm.NotECT, header.TCPFlagAck, id)))
		}
		eventually(t, "a write", func() bool { return d.Stats().Held == 1 })
		closed := make(chan struct{})
		go func() {
			d.Close()
			close(closed)
		}()
		select {
		case <-closed:
			t.Fatal("Close has not waited for the write")
		case <-time.After(10 * time.Millisecond):
		}
		release()
		<-closed
		d.Close()
		assert.Equal(t, 1, s.count())
		noLeak(t, d)
	})
	t.Run("under load", func(t *testing.T) {
		const seed = 11
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		runs := 50
		if raceEnabled {
			runs = 15
		}
		for range runs {
			s := &sink{}
			rate := uint64(r.IntN(2)) * 50_000_000
			d := start(t, s, func(c *Config) { c.Rate, c.LimitPackets = rate, 10 }, aqm.TailDrop{}, script{dequeue: always(aqm.Drop)})
			var senders sync.WaitGroup
			for range 2 {
				senders.Go(func() {
					for id := byte(0); ; id++ {
						pkt := outgoing(ipv4Bytes(100, aqm.NotECT, header.TCPFlagAck, id), 0)
						pkt.Hash = uint32(id) << 24
						err := d.WritePacket(pkt)
						pkt.DecRef()
						if _, ok := err.(*tcpip.ErrClosedForSend); ok {
							return
						}
					}
				})
			}
			time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
			var closers sync.WaitGroup
			for range 2 {
				closers.Go(func() {
					d.Close()
					s.mu.Lock()
					s.closed = true
					s.mu.Unlock()
				})
			}
			closers.Wait()
			senders.Wait()
			assert.Zero(t, s.late)
			noLeak(t, d)
		}
	})
}

// TestPoison overwrites each packet's memory as it is released: whatever reaches the link
// is whole, in order, and came once.
func TestPoison(t *testing.T) {
	const seed, poison = 5, 0xdb
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var random sync.Mutex
	some := func(p aqm.Packet) aqm.Verdict {
		random.Lock()
		defer random.Unlock()
		switch r.IntN(4) {
		case 0:
			return aqm.Verdict{Action: aqm.Drop, Reason: aqm.Forced}
		case 1:
			return aqm.MarkOrDrop(p.ECN, aqm.Early)
		}
		return aqm.Verdict{}
	}
	refuse := &sink{}
	refuse.take = func(l stack.PacketBufferList) (int, tcpip.Error) {
		random.Lock()
		defer random.Unlock()
		return r.IntN(l.Len() + 1), nil
	}
	d := start(t, refuse, func(c *Config) { c.LimitPackets, c.RetryAfter = 20, 50*time.Microsecond }, script{enqueue: some, dequeue: some})
	released := 0
	const packets = 3000
	for n := range packets {
		b := ipv4Bytes(200, aqm.ECT0, header.TCPFlagAck, 0)
		id := b[196:]
		id[0], id[1] = byte(n>>8), byte(n)
		payload := buffer.NewViewWithData(b[40:])
		memory := payload.AsSlice()
		pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{
			ReserveHeaderBytes: 40,
			Payload:            buffer.MakeWithView(payload),
			OnRelease: func() { // the memory is still the packet's
				for i := range memory {
					memory[i] = poison
				}
				random.Lock()
				released++
				random.Unlock()
			},
		})
		copy(pkt.TransportHeader().Push(20), b[20:])
		copy(pkt.NetworkHeader().Push(20), b)
		pkt.NetworkProtocolNumber = header.IPv4ProtocolNumber
		_ = d.WritePacket(pkt)
		pkt.DecRef()
		if n%16 == 0 {
			time.Sleep(50 * time.Microsecond)
		}
	}
	eventually(t, "the queue drains", func() bool { s := d.Stats(); return s.Held == 0 && s.Queues[0].Queued.Packets == 0 })
	noLeak(t, d)
	require.NotEmpty(t, refuse.got)
	last := -1
	for _, b := range refuse.got {
		n := int(b[196])<<8 | int(b[197])
		require.Greater(t, n, last, "in order and once")
		last = n
		require.Equal(t, uint16(0xffff), checksum16(b[:20]))
		for _, x := range b[40:196] {
			require.Zero(t, x, "poisoned: %x", b)
		}
	}
	assert.Equal(t, packets, released)
	s := d.Stats()
	assert.NotZero(t, s.Retries)
	assert.NotZero(t, s.Queues[0].Refused)
	assert.NotZero(t, s.Queues[0].Dropped)
	assert.NotZero(t, s.Queues[0].Marked)
}

// TestQueues separates flows: one that fills its queue does not drop the others'.
func TestQueues(t *testing.T) {
	s, release := blocked()
	defer release()
	d := start(t, s, func(c *Config) { c.LimitPackets, c.Batch = 10, 1 }, aqm.TailDrop{}, aqm.TailDrop{}, aqm.TailDrop{}, aqm.TailDrop{})
	for range 100 {
		_ = send(d, ipv4Bytes(100, aqm.NotECT, header.TCPFlagAck, 1)) // without Hash: by addresses and ports
	}
	used := 0
	for _, q := range d.Stats().Queues {
		if q.Arrived.Packets > 0 {
			used++
			assert.EqualValues(t, 100, q.Arrived.Packets, "a flow stays in its queue")
		}
	}
	assert.Equal(t, 1, used)
	for hash := range uint32(64) { // with a Hash of the stack's
		pkt := outgoing(ipv4Bytes(100, aqm.NotECT, header.TCPFlagAck, 2), 0)
		pkt.Hash = hash<<26 | 1
		_ = d.WritePacket(pkt)
		pkt.DecRef()
	}
	for i, q := range d.Stats().Queues {
		assert.GreaterOrEqual(t, q.Arrived.Packets, uint64(16), "queue %d", i)
	}
	release()
	noLeak(t, d)
}

// TestSetRate and Do, while packets pass.
func TestSetRate(t *testing.T) {
	s := &sink{}
	a := &script{}
	d := start(t, s, func(c *Config) { c.Rate = 100 }, a)
	for id := range byte(20) {
		require.Nil(t, send(d, ipv4Bytes(100, aqm.NotECT, header.TCPFlagAck, id)))
	}
	eventually(t, "the first", func() bool { return s.count() == 1 })
	d.Do(func() { a.dequeue = always(aqm.Drop) })
	d.SetRate(0)
	eventually(t, "the rest is dropped at once", func() bool { return d.Stats().Queues[0].Dropped.Packets == 19 })
	noLeak(t, d)
}
