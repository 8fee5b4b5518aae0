package wireguard

// packet is a packet in a buffer of the queue's.
type packet struct{ bytes []byte }

const (
	keptPackets = 4096 // of the pool
	keptBytes   = 4096 // of a buffer; larger packets are rare, and would make all buffers large in the end
	newBytes    = 1600
)

// pool keeps packets whose buffers can be used again.
type pool struct {
	free []*packet

	// Of tests: what is in a buffer while it is here, and how many were found changed.
	poison  byte
	touched int
}

func (p *pool) get() *packet {
	if n := len(p.free); n > 0 {
		pk := p.free[n-1]
		p.free = p.free[:n-1]
		if p.poison != 0 {
			p.inspect(pk)
		}
		return pk
	}
	return &packet{bytes: make([]byte, 0, newBytes)}
}

func (p *pool) put(pk *packet) {
	if len(p.free) >= keptPackets || cap(pk.bytes) > keptBytes {
		return
	}
	if p.poison != 0 {
		b := pk.bytes[:cap(pk.bytes)]
		for i := range b {
			b[i] = p.poison
		}
	}
	p.free = append(p.free, pk)
}

func (p *pool) inspect(pk *packet) {
	for _, x := range pk.bytes[:cap(pk.bytes)] {
		if x != p.poison {
			p.touched++
			return
		}
	}
}
