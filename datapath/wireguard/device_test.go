package wireguard

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/tun"

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

func markOrDrop(p aqm.Packet) aqm.Verdict { return aqm.MarkOrDrop(p.ECN, aqm.Early) }

const poison = 0xdb

// open returns a device with poisoned buffers around a fake one.
func open(t testing.TB, f *fakeTUN, change func(*Config), algorithms ...aqm.AQM) *Device {
	t.Helper()
	c := Config{LimitPackets: 100, AQMs: algorithms, Batch: DefaultBatch}
	if change != nil {
		change(&c)
	}
	d, err := wrap(f, c)
	require.NoError(t, err)
	d.pool.poison = poison
	go d.pump()
	t.Cleanup(func() {
		assert.NoError(t, d.Close())
		assert.Zero(t, d.pool.touched, "buffers that were written to after their release")
		balance(t, d)
	})
	return d
}

// balance checks that every packet is accounted for.
func balance(t testing.TB, d *Device) {
	t.Helper()
	s := d.Stats()
	delivered := uint64(0)
	for _, q := range s.Queues {
		assert.Equal(t, q.Arrived.Packets, q.Refused.Packets+q.Delivered.Packets+q.Dropped.Packets+q.Flushed.Packets+q.Queued.Packets)
		delivered += q.Delivered.Packets
	}
	assert.Equal(t, delivered, s.Read+s.TooLong)
}

// eventually waits for what must come. The minute is no measure of anything: a machine
// may give the process no time for seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// buffers returns n buffers of size bytes full of 0xee, and where their sizes go.
func buffers(n, size int) (bufs [][]byte, sizes []int) {
	for range n {
		b := make([]byte, size)
		for i := range b {
			b[i] = 0xee
		}
		bufs = append(bufs, b)
	}
	return bufs, make([]int, n)
}

func numbered(n int, e aqm.ECN) (packets [][]byte) {
	for i := range n {
		packets = append(packets, ipPacket(addrA, addrB, 100+i, e, flagACK, uint32(i)))
	}
	return packets
}

// TestBatches reads in batches of the size and at the offset asked for, and writes
// nothing else into the buffers.
func TestBatches(t *testing.T) {
	for _, batch := range []int{1, 8, 128} {
		for _, offset := range []int{0, 16} {
			f := newFakeTUN(batch)
			d := open(t, f, nil, aqm.TailDrop{})
			assert.Equal(t, batch, d.BatchSize())
			packets := numbered(50, aqm.NotECT)
			f.send(packets...)
			eventually(t, "all are queued", func() bool { return d.Stats().Queues[0].Queued.Packets == 50 })
			got := 0
			for _, asked := range []int{1, 7, 40, 5} {
				bufs, sizes := buffers(asked, 300)
				n, err := d.Read(bufs, sizes, offset)
				require.NoError(t, err)
				assert.Equal(t, min(asked, 50-got), n)
				for i, b := range bufs[:n] {
					want := packets[got]
					require.Equal(t, len(want), sizes[i])
					require.Equal(t, want, b[offset:offset+sizes[i]])
					for _, x := range append(b[:offset:offset], b[offset+sizes[i]:]...) {
						require.EqualValues(t, 0xee, x)
					}
					got++
				}
			}
			assert.Equal(t, 50, got)
		}
	}
	t.Run("Config.Batch", func(t *testing.T) {
		f := newFakeTUN(128)
		d := open(t, f, func(c *Config) { c.Batch = 3 }, aqm.TailDrop{})
		f.send(numbered(10, aqm.NotECT)...)
		eventually(t, "all are queued", func() bool { return d.Stats().Queues[0].Queued.Packets == 10 })
		bufs, sizes := buffers(128, 300)
		n, err := d.Read(bufs, sizes, 0)
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		n, err = d.Read(nil, nil, 0)
		require.NoError(t, err)
		assert.Zero(t, n)
	})
}

// TestPassesThrough what is not egress.
func TestPassesThrough(t *testing.T) {
	f := newFakeTUN(4)
	d := open(t, f, nil, aqm.TailDrop{})
	bufs := [][]byte{{0, 0, 1}, {0, 0, 2, 3}}
	n, err := d.Write(bufs, 2)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.Equal(t, [][]byte{{1}, {2, 3}}, f.take())
	assert.Equal(t, []int{2}, f.offsets, "one call")
	name, err := d.Name()
	require.NoError(t, err)
	assert.Equal(t, "fake", name)
	mtu, err := d.MTU()
	require.NoError(t, err)
	assert.Equal(t, 1420, mtu)
	assert.Same(t, os.Stdin, d.File())
	f.events <- tun.EventMTUUpdate
	assert.EqualValues(t, tun.EventMTUUpdate, <-d.Events())
	require.NoError(t, d.Close())
	_, open := <-d.Events()
	assert.False(t, open)
}

// TestMarks sees CE in what is read, of IPv4 and of IPv6, with a right checksum, and drops
// instead of marks on NotECT.
func TestMarks(t *testing.T) {
	for _, a := range []script{{enqueue: markOrDrop}, {dequeue: markOrDrop}} {
		f := newFakeTUN(16)
		d := open(t, f, nil, a)
		for _, e := range []aqm.ECN{aqm.NotECT, aqm.ECT0, aqm.ECT1, aqm.CE} {
			f.send(ipPacket(addrA, addrB, 100, e, flagACK, 4), ipPacket(ip6A, ip6B, 100, e, flagACK, 6))
		}
		bufs, sizes := buffers(16, 200)
		for got := 0; got < 6; {
			n, err := d.Read(bufs, sizes, 16)
			require.NoError(t, err)
			for i, b := range bufs[:n] {
				b = b[16 : 16+sizes[i]]
				assert.Equal(t, aqm.CE, ecnOf(b))
				_, whole := numberOf(b)
				assert.True(t, whole)
				if b[0]>>4 == 4 {
					assert.Equal(t, uint16(0xffff), headerSum(b))
				}
			}
			got += n
		}
		q := d.Stats().Queues[0]
		assert.Equal(t, uint64(4), q.Marked.Packets)
		assert.Equal(t, uint64(2), q.Refused.Packets+q.Dropped.Packets)
	}
}

// TestRate paces what is read, with the overhead. It may take longer where the machine
// is slow, and not less; how much is caught up of that is package egress's to test.
func TestRate(t *testing.T) {
	f := newFakeTUN(128)
	d := open(t, f, func(c *Config) { c.Rate, c.Overhead = 8_000_000, 100 }, aqm.TailDrop{}) // 1000 bytes take 1 ms
	var packets [][]byte
	for i := range uint32(51) {
		packets = append(packets, ipPacket(addrA, addrB, 900, aqm.NotECT, flagACK, i))
	}
	start := time.Now()
	f.send(packets...)
	bufs, sizes := buffers(128, 1000)
	for got := 0; got < 51; {
		n, err := d.Read(bufs, sizes, 0)
		require.NoError(t, err)
		got += n
		assert.GreaterOrEqual(t, time.Since(start), time.Duration(got-1)*time.Millisecond)
	}
	t.Logf("51 packets of 1 ms took %v", time.Since(start))
	assert.Equal(t, uint64(51_000), d.Stats().Queues[0].Delivered.Bytes)

	time.Sleep(5 * time.Millisecond) // the last has left; else what is left of it leaves at the new rate
	d.SetRate(1)
	f.send(packets[:3]...)
	n, err := d.Read(bufs, sizes, 0)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	go d.SetRate(0) // while Read waits for hours
	n, err = d.Read(bufs, sizes, 0)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
}

// TestOddPackets: what is not IP passes, what is empty does not exist, what is too long
// for the reader's buffers is dropped.
func TestOddPackets(t *testing.T) {
	f := newFakeTUN(8)
	d := open(t, f, nil, aqm.TailDrop{})
	f.send([]byte("not IP"), nil, numbered(1, aqm.NotECT)[0], make([]byte, 65535), numbered(2, aqm.NotECT)[1])
	eventually(t, "all are queued", func() bool { return d.Stats().Queues[0].Queued.Packets == 4 })
	bufs, sizes := buffers(8, 16+101)
	n, err := d.Read(bufs, sizes, 16)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	assert.Equal(t, "not IP", string(bufs[0][16:16+sizes[0]]))
	assert.Equal(t, []int{6, 100, 101}, sizes[:3])
	s := d.Stats()
	assert.Equal(t, uint64(1), s.TooLong)
	assert.Equal(t, uint64(2), s.NotIP)
}

// TestErrors of the inner device.
func TestErrors(t *testing.T) {
	f := newFakeTUN(4)
	d := open(t, f, nil, aqm.TailDrop{})
	bufs, sizes := buffers(4, 200)
	f.out <- read{packets: numbered(2, aqm.NotECT), err: tun.ErrTooManySegments}
	n, err := d.Read(bufs, sizes, 0)
	require.NoError(t, err, "which is no reason to stop")
	assert.Equal(t, 2, n)
	eventually(t, "it is counted", func() bool { return d.Stats().ReadErrors == 1 })
	broken := errors.New("broken")
	got := make(chan error)
	go func() {
		_, err := d.Read(bufs, sizes, 0)
		got <- err
	}()
	f.out <- read{err: broken}
	assert.ErrorIs(t, <-got, broken)
	_, err = d.Read(bufs, sizes, 0)
	assert.ErrorIs(t, err, broken, "from now on")
}

// TestClose ends a Read that waits, closes the inner device once, and waits until that is
// not read any more.
func TestClose(t *testing.T) {
	for _, rate := range []uint64{0, 1} { // a packet takes minutes
		f := newFakeTUN(4)
		d := open(t, f, func(c *Config) { c.Rate = rate }, aqm.TailDrop{})
		bufs, sizes := buffers(4, 200)
		if rate > 0 { // one leaves at once, the others wait
			f.send(numbered(4, aqm.NotECT)...)
			n, err := d.Read(bufs, sizes, 0)
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}
		waiting := make(chan error)
		go func() {
			_, err := d.Read(bufs, sizes, 0)
			waiting <- err
		}()
		time.Sleep(5 * time.Millisecond)
		var closers sync.WaitGroup
		for range 3 {
			closers.Go(func() { assert.NoError(t, d.Close()) })
		}
		closers.Wait()
		assert.ErrorIs(t, <-waiting, os.ErrClosed)
		_, err := d.Read(bufs, sizes, 0)
		require.ErrorIs(t, err, os.ErrClosed)
		assert.Equal(t, 1, f.closes)
		q := d.Stats().Queues[0]
		assert.Zero(t, q.Queued)
		if rate > 0 {
			assert.Equal(t, uint64(3), q.Flushed.Packets)
		}
	}
}

// TestQueues gives each flow a queue, served in turn.
func TestQueues(t *testing.T) {
	f := newFakeTUN(128)
	var algorithms []aqm.AQM
	for range 64 {
		algorithms = append(algorithms, aqm.TailDrop{})
	}
	d := open(t, f, nil, algorithms...)
	var packets [][]byte
	for i := range uint32(80) {
		packets = append(packets, ipPacket(addrA, addrB, 1400, aqm.NotECT, flagACK, i))
	}
	others := 0
	for i := range byte(20) {
		b := ipPacket(addrA, addrB, 100, aqm.NotECT, flagACK, 1000)
		b[20], b[21] = 1, i // source port
		packets = append(packets, b)
	}
	f.send(packets...)
	queued := func() (n uint64) {
		for _, q := range d.Stats().Queues {
			n += q.Queued.Packets
		}
		return n
	}
	eventually(t, "all are queued", func() bool { return queued() == 100 })
	bufs, sizes := buffers(40, 1500)
	n, err := d.Read(bufs, sizes, 0)
	require.NoError(t, err)
	require.Equal(t, 40, n)
	for i, b := range bufs {
		if number, _ := numberOf(b[:sizes[i]]); number == 1000 {
			others++
		}
	}
	// One in 64 falls into the same queue as the bulk, on average.
	assert.GreaterOrEqual(t, others, 15, "they do not wait for the 80 before them")
}

func TestNotWrapped(t *testing.T) {
	_, err := Wrap(nil, Config{LimitPackets: 1, AQMs: []aqm.AQM{aqm.TailDrop{}}, Batch: 1})
	require.ErrorIs(t, err, aqm.ErrConfig)
	assert.ErrorContains(t, err, "inner = nil")
	f := newFakeTUN(1)
	_, err = Wrap(f, Config{})
	require.ErrorIs(t, err, aqm.ErrConfig)
	assert.Zero(t, f.closes)
}
