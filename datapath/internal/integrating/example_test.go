package integrating_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/aqm/aqmtest"
	"github.com/aqmkit/aqmkit/aqm/wire"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/datapath/observe"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/threshold"
)

// udp returns an IPv4 packet of 100 bytes with the codepoint.
func udp(ecn aqm.ECN) []byte {
	b := make([]byte, 100)
	copy(b, []byte{0x45, byte(ecn), 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	return b
}

// Clock is what now comes from: the monotonic clock, from an origin of your own.
type Clock struct{ start time.Time }

func NewClock() Clock { return Clock{time.Now()} }

func (c Clock) Now() aqm.Time { return aqm.Time(time.Since(c.start)) }

func Example_clock() {
	c := NewClock()
	first := c.Now()
	second := c.Now()
	fmt.Println(first <= second)
	// Output: true
}

// Buffer is a packet in pooled memory.
type Buffer struct{ Bytes []byte }

// Path is a queue of pooled buffers in front of a link. It is for one goroutine at a
// time.
type Path struct {
	queue *aqm.FIFO[*Buffer]
	pool  sync.Pool
}

func NewPath(a aqm.AQM) (*Path, error) {
	p := &Path{}
	var err error
	p.queue, err = aqm.NewFIFO(aqm.FIFOConfig[*Buffer]{
		LimitPackets: 1000,
		OnDrop:       func(b *Buffer, _ aqm.Packet, _ aqm.Verdict) { p.pool.Put(b) }, // dropped at Dequeue
	}, a)
	return p, err
}

// Receive takes a packet in. The buffer is the Path's from here on.
func (p *Path) Receive(now aqm.Time, b *Buffer) {
	meta, err := wire.ParseIP(b.Bytes)
	if err != nil { // not IP, or damaged: pass it on, and never mark it
		meta = aqm.Packet{Size: uint32(len(b.Bytes)), Class: aqm.Other}
	}
	if v := p.queue.Enqueue(now, b, meta); v.Action == aqm.Drop {
		p.pool.Put(b) // refused: it is still ours, and OnDrop is not called
	}
}

// Send hands the next packet to the link, if there is one.
func (p *Path) Send(now aqm.Time, write func([]byte)) bool {
	b, meta, ok := p.queue.Dequeue(now)
	if !ok {
		return false
	}
	if meta.ECN == aqm.CE {
		wire.SetCE(b.Bytes) // harmless on a packet that arrived with CE
	}
	write(b.Bytes)
	p.pool.Put(b)
	return true
}

// Close gives back what is left.
func (p *Path) Close() {
	p.queue.Flush(func(b *Buffer, _ aqm.Packet) { p.pool.Put(b) })
}

func Example_ownership() {
	a, err := threshold.New(threshold.Config{Packets: 1}) // marks from the third packet on
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := NewPath(a)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		p.Receive(0, &Buffer{udp(aqm.ECT0)})
	}
	for p.Send(0, func(b []byte) { fmt.Println(aqm.ECNFromTOS(b[1])) }) {
	}
	p.Close()
	// Output:
	// ECT(0)
	// ECT(0)
	// CE
}

// ReceiveBatch takes in what one system call has read. One reading of the clock does
// for all of it.
func (p *Path) ReceiveBatch(now aqm.Time, batch []*Buffer) {
	for _, b := range batch {
		p.Receive(now, b)
	}
}

// SendBatch hands over packets of up to limit bytes, for one system call.
func (p *Path) SendBatch(now aqm.Time, limit int, write func([]byte)) {
	for sent := 0; sent < limit; {
		if !p.Send(now, func(b []byte) { sent += len(b); write(b) }) {
			return
		}
	}
}

func Example_batches() {
	p, err := NewPath(aqm.TailDrop{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.ReceiveBatch(0, []*Buffer{{udp(aqm.ECT0)}, {udp(aqm.ECT0)}, {udp(aqm.ECT0)}})
	n := 0
	p.SendBatch(0, 150, func([]byte) { n++ })
	fmt.Println(n, "packets")
	// Output: 2 packets
}

// Shards are queues with an AQM each. A flow stays in one, so that it is not reordered.
type Shards []*Shard

// Shard is one of them.
type Shard struct {
	mu   sync.Mutex // or a goroutine that owns the Shard, fed by a channel
	path *Path
}

func NewShards(n int, make func() (aqm.AQM, error)) (Shards, error) {
	var all Shards
	for range n {
		a, err := make() // an instance of its own, with a random source of its own
		if err != nil {
			return nil, err
		}
		p, err := NewPath(a)
		if err != nil {
			return nil, err
		}
		all = append(all, &Shard{path: p})
	}
	return all, nil
}

// Receive may be called by any goroutine.
func (s Shards) Receive(clock Clock, flow uint32, b *Buffer) {
	shard := s[flow%uint32(len(s))]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	shard.path.Receive(clock.Now(), b) // the clock is read under the lock, so that now does not go back
}

func Example_shards() {
	s, err := NewShards(4, func() (aqm.AQM, error) { return codel.New(codel.DefaultConfig()) })
	if err != nil {
		fmt.Println(err)
		return
	}
	clock := NewClock()
	var wait sync.WaitGroup
	for flow := range uint32(8) {
		wait.Go(func() {
			for range 100 {
				s.Receive(clock, flow, &Buffer{udp(aqm.ECT0)})
			}
		})
	}
	wait.Wait()
	for _, shard := range s {
		fmt.Print(shard.path.queue.Len(), " ")
	}
	// Output: 200 200 200 200
}

// mark carries out a Mark on an Ethernet frame.
func mark(frame []byte) (aqm.Packet, bool) {
	p, ip, err := wire.ParseEthernet(frame)
	if err != nil || ip < 0 {
		return p, false // no IP: there is nothing to mark
	}
	return p, wire.SetCE(frame[ip:])
}

func Example_mark() {
	frame := append(make([]byte, 12), 0x08, 0x00)
	frame = append(frame, udp(aqm.ECT1)...)
	p, ok := mark(frame)
	fmt.Println(p.ECN, "marked:", ok, aqm.ECNFromTOS(frame[15]))
	p, ok = mark(append(frame[:14:14], udp(aqm.NotECT)...))
	fmt.Println(p.ECN, "marked:", ok)
	// Output:
	// ECT(1) marked: true CE
	// NotECT marked: false
}

// setRate tells an algorithm that its link has another rate, whatever policies and
// observers are around it. It belongs to the goroutine that owns the queue.
func setRate(a aqm.AQM, rate uint64) error {
	find := observe.As[*red.RED] // looks through decorators
	r, ok := find(a)
	if !ok {
		return nil // CoDel, PIE and a threshold in time measure the delay itself
	}
	c, err := red.Design(rate, 5*time.Millisecond, 1500)
	if err != nil {
		return err
	}
	return r.Reconfigure(c) // on an error, the old configuration stands
}

func Example_capacity() {
	c, err := red.Design(100_000_000, 5*time.Millisecond, 1500)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := red.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	watched, err := observe.New(a, observe.DefaultConfig("uplink"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(setRate(watched, 20_000_000))
	fmt.Println(setRate(watched, 0))
	// Output:
	// <nil>
	// red: rate = 0 bit/s, must be in [1, 1e+15]: invalid configuration
}

// choose returns an algorithm for a link.
func choose(rate uint64, rtt time.Duration) (aqm.AQM, error) {
	if rate == 0 { // unknown or changing: measure the time in the queue
		return codel.New(codel.DefaultConfig())
	}
	if rtt < time.Millisecond { // a data centre, whose senders are DCTCP's
		c, err := threshold.Design(threshold.DCTCP, rate, rtt, 1, 1500, 0)
		if err != nil {
			return nil, err
		}
		return threshold.New(c)
	}
	c, err := pie.Design(rate, rtt, 1500)
	if err != nil {
		return nil, err
	}
	return pie.New(c)
}

func Example_choose() {
	for _, link := range []struct {
		rate uint64
		rtt  time.Duration
	}{{0, 0}, {10_000_000_000, 100 * time.Microsecond}, {50_000_000, 30 * time.Millisecond}} {
		a, err := choose(link.rate, link.rtt)
		fmt.Printf("%T %v\n", a, err)
	}
	// Output:
	// *codel.CoDel <nil>
	// *threshold.Threshold <nil>
	// *pie.PIE <nil>
}

// spareControl keeps ACKs and SYNs, which cannot be marked, from being dropped where
// data would be marked. The signal goes to the next packet that can carry it, and no
// more than 1 Mb/s of such packets are spared.
func spareControl(a aqm.AQM) (*ecnpolicy.Policy, error) {
	return ecnpolicy.New(a, ecnpolicy.Config{
		Protect: ecnpolicy.ACKSYN, Carry: true,
		BudgetRate: 1_000_000, BudgetBurst: 15_000,
	})
}

func Example_notECT() {
	c, err := threshold.New(threshold.Config{Packets: 1, DropNotECT: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	spared, err := spareControl(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	ack := aqm.Packet{Size: 40, Class: aqm.PureACK}
	busy := aqm.Occupancy{Packets: 10, Bytes: 15_000}
	fmt.Println(c.Enqueue(0, ack, busy), spared.Enqueue(0, ack, busy))
	// Output: Drop/Early Pass
}

// hardened has no more than half of the ECN-capable packets marked for long: from there
// on signals are drops. A sender that does not answer to marks gains nothing by being
// ECN-capable.
func hardened(a aqm.AQM) (*ecnpolicy.Policy, error) {
	return ecnpolicy.New(a, ecnpolicy.Config{MarkLimit: 0.5})
}

func Example_floods() {
	c, err := threshold.New(threshold.Config{Packets: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := hardened(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := aqm.NewFIFO(aqm.FIFOConfig[int]{LimitPackets: 100, LimitBytes: 150_000}, a)
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range 10_000 { // ten arrivals for nine departures
		now := aqm.Time(n) * 1e5
		q.Enqueue(now, n, aqm.Packet{Size: 1500, ECN: aqm.ECT0})
		if n%10 != 0 {
			q.Dequeue(now)
		}
	}
	s := q.Stats()
	fmt.Println(s.AtEnqueue[aqm.Drop][aqm.Forced] > 0, q.Len() <= 100)
	// Output: true true
}

// Ring is a queue of your own: whatever keeps order, and counts what it holds.
type Ring struct {
	aqm   aqm.AQM
	items chan item
	bytes int64
}

type item struct {
	bytes []byte
	meta  aqm.Packet
}

// Put asks before it stores, and does what it is told.
func (r *Ring) Put(now aqm.Time, b []byte, meta aqm.Packet) bool {
	meta.EnqueuedAt = now
	q := aqm.Occupancy{Packets: len(r.items), Bytes: r.bytes, Full: len(r.items) == cap(r.items)}
	switch r.aqm.Enqueue(now, meta, q).Action {
	case aqm.Drop:
		return false
	case aqm.Mark:
		meta.ECN = aqm.CE
	}
	r.items <- item{b, meta}
	r.bytes += int64(meta.Size)
	return true
}

// Take asks after it has removed, and goes on to the next packet after a drop.
func (r *Ring) Take(now aqm.Time) ([]byte, bool) {
	for len(r.items) > 0 {
		i := <-r.items
		r.bytes -= int64(i.meta.Size)
		switch r.aqm.Dequeue(now, i.meta, aqm.Occupancy{Packets: len(r.items), Bytes: r.bytes}).Action {
		case aqm.Drop:
			continue
		case aqm.Mark:
			i.meta.ECN = aqm.CE
		}
		if i.meta.ECN == aqm.CE {
			wire.SetCE(i.bytes)
		}
		return i.bytes, true
	}
	return nil, false
}

func Example_ownQueue() {
	a, err := threshold.New(threshold.Config{Sojourn: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := &Ring{aqm: a, items: make(chan item, 1)}
	b := udp(aqm.ECT0)
	meta, _ := wire.ParseIP(b)
	fmt.Println(r.Put(0, b, meta), r.Put(0, b, meta))
	b, _ = r.Take(2_000_000)
	fmt.Println(aqm.ECNFromTOS(b[1]))
	// Output:
	// true false
	// CE
}

// TestMyAQM holds an algorithm, with all that is around it, to the contract.
func TestMyAQM(t *testing.T) {
	aqmtest.TestAQM(t, func(src rand.Source) aqm.AQM {
		c := pie.DefaultConfig()
		c.Rand = src
		a, err := pie.New(c)
		require.NoError(t, err)
		p, err := spareControl(a)
		require.NoError(t, err)
		return p
	}, aqmtest.Packets(500))
}

// TestMyPath sees that every packet comes out, is dropped or is left, and that none is
// touched after it was given back: released buffers are poisoned.
func TestMyPath(t *testing.T) {
	a, err := codel.New(codel.DefaultConfig())
	require.NoError(t, err)
	p, err := NewPath(a)
	require.NoError(t, err)
	p.pool.New = func() any { return &Buffer{} }
	r := rand.New(rand.NewPCG(1, 2))
	var now aqm.Time
	for range 20_000 {
		now += aqm.Time(r.IntN(1_000_000))
		if r.IntN(100) < 51 {
			b := p.pool.Get().(*Buffer)
			b.Bytes = udp(aqm.ECN(r.IntN(4)))
			p.Receive(now, b)
			continue
		}
		p.Send(now, func(b []byte) {
			require.Equal(t, byte(0x45), b[0], "not poison")
			for i := range b { // whoever looks at it from here on finds out
				b[i] = 0xdb
			}
		})
	}
	s := p.queue.Stats()
	assert.Equal(t, s.Arrived.Packets, s.Refused.Packets+s.Delivered.Packets+s.Dropped.Packets+uint64(p.queue.Len()))
	assert.Positive(t, s.Dropped.Packets)
	assert.Positive(t, s.Marked.Packets)
	p.Close()
	assert.Zero(t, p.queue.Len())
}
