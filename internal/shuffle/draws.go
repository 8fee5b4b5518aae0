package shuffle

import (
	"math/rand/v2"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/num"
)

// The streams of random numbers: a PCG each, of the seed and one of these.
const (
	streamMaps = 1 + iota
	streamOrders
	streamService = 1 << 20 // plus the node
	streamPlain   = 2 << 20
	streamPorts   = 3 << 20 // plus the port
)

// PortRand returns the random numbers of a port's algorithm.
func PortRand(seed uint64, p Port) rand.Source {
	return rand.NewPCG(seed, streamPorts+uint64(p.Index))
}

// mapEnds returns when each map of each node is over, by node and then in order of
// their begin.
func (c *Config) mapEnds() []aqm.Time {
	src := rand.NewPCG(c.Seed, streamMaps)
	ends := make([]aqm.Time, 0, c.Network.Racks*c.Network.Nodes*c.Job.Maps)
	slots := make([]aqm.Time, c.Job.Slots)
	for range c.Network.Racks * c.Network.Nodes {
		clear(slots)
		for range c.Job.Maps {
			first := 0 // the slot that is free first
			for i, at := range slots {
				if at < slots[first] {
					first = i
				}
			}
			u := 2*num.Uniform(src.Uint64()) - 1
			slots[first] += aqm.Time(float64(c.Job.MapTime) * (1 + float64(c.Job.MapSpread*u)))
			ends = append(ends, slots[first])
		}
	}
	return ends
}

// part returns the size of a map's part for a reducer: a function of the seed and the
// two, so that no table is kept.
func (c *Config) part(mapper, reducer, reducers int) int64 {
	h := mix(mix(mix(c.Seed)^uint64(mapper)) ^ uint64(reducer))
	u := 2*num.Uniform(h) - 1
	mean := float64(c.Job.Output) / float64(reducers)
	return max(1, int64(mean*(1+float64(c.Job.Spread*u))))
}

// mix is the finaliser of SplitMix64 [Steele, Lea and Flood 2014].
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// arrivals are the requests of one node, in order.
type arrivals struct {
	rand *rand.Rand
	rate float64
	node int
	of   int
	at   float64 // ns
}

func newArrivals(seed, stream uint64, node, of int, rate float64) *arrivals {
	return &arrivals{rand: rand.New(rand.NewPCG(seed, stream+uint64(node))), rate: rate, node: node, of: of}
}

// next returns when the next request arrives, and whom it is for.
func (a *arrivals) next() (at aqm.Time, to int) {
	a.at += -num.Log(num.Uniform(a.rand.Uint64())) / a.rate * 1e9
	to = a.rand.IntN(a.of - 1)
	if to >= a.node {
		to++
	}
	return aqm.Time(a.at), to
}
