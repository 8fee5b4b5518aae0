package gvisor

import (
	"runtime"
	"sync/atomic"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/qdisc/fifo"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
)

// counter is a link that takes everything.
type counter struct{ packets atomic.Int64 }

func (c *counter) WritePackets(l stack.PacketBufferList) (int, tcpip.Error) {
	c.packets.Add(int64(l.Len()))
	return l.Len(), nil
}

// direct is what a NIC does without a queueing discipline.
type direct struct{ stack.LinkWriter }

func (d direct) WritePacket(pkt *stack.PacketBuffer) tcpip.Error {
	var l stack.PacketBufferList
	l.PushBack(pkt)
	_, err := d.WritePackets(l)
	return err
}

func (direct) Close() {}

// BenchmarkWritePacket sends packets of 1500 bytes through a queueing discipline to a link
// that costs nothing. The clone that each packet is takes its share, in every row; none is
// what remains without a queue. Run with -cpu 1 for the packets per second of one core.
func BenchmarkWritePacket(b *testing.B) {
	const limit = 1 << 10 // packets, in all queues together
	ours := func(algorithms ...aqm.AQM) func(stack.LinkWriter) stack.QueueingDiscipline {
		return func(lower stack.LinkWriter) stack.QueueingDiscipline {
			d, err := New(lower, Config{Clock: tcpip.NewStdClock(), LimitPackets: limit / len(algorithms), AQMs: algorithms, Batch: DefaultBatch})
			if err != nil {
				b.Fatal(err)
			}
			return d
		}
	}
	r := red.DefaultConfig()
	r.MinTh, r.MaxTh, r.Rate, r.MeanPacket = limit/2, limit-1, 10_000_000_000, 1500
	var queues []aqm.AQM
	for range 16 {
		queues = append(queues, must(codel.New(codel.DefaultConfig())))
	}
	for _, c := range []struct {
		name string
		make func(stack.LinkWriter) stack.QueueingDiscipline
	}{
		{"none", func(lower stack.LinkWriter) stack.QueueingDiscipline { return direct{lower} }},
		{"gVisor-fifo", func(lower stack.LinkWriter) stack.QueueingDiscipline { return fifo.New(lower, 1, limit) }},
		{"drop-tail", ours(aqm.TailDrop{})},
		{"CoDel", ours(must(codel.New(codel.DefaultConfig())))},
		{"PIE", ours(must(pie.New(pie.DefaultConfig())))},
		{"RED", ours(must(red.New(r)))},
		{"CoDel-16-queues", ours(queues...)},
	} {
		b.Run(c.name, func(b *testing.B) {
			link := &counter{}
			d := c.make(link)
			defer d.Close()
			template := outgoing(ipv4Bytes(1500, aqm.NotECT, header.TCPFlagAck, 1), 14)
			defer template.DecRef()
			b.ReportAllocs()
			b.ResetTimer()
			sent := int64(0)
			for i := range b.N {
				pkt := template.Clone()
				pkt.Hash = uint32(i) << 26
				if d.WritePacket(pkt) == nil {
					sent++
				} else { // full: let the other side work
					runtime.Gosched()
				}
				pkt.DecRef()
			}
			dropped := int64(0) // on the way out
			for link.packets.Load()+dropped < sent {
				runtime.Gosched()
				if d, ok := d.(*Discipline); ok {
					dropped = 0
					for _, q := range d.Stats().Queues {
						dropped += int64(q.Dropped.Packets)
					}
				}
			}
			b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "packets/s")
			b.ReportMetric(100*float64(int64(b.N)-sent+dropped)/float64(b.N), "%dropped")
		})
	}
}
