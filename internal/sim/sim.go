package sim

import (
	"math"

	"github.com/aqmkit/aqmkit/aqm"
)

// Never is the time of the next event of a source that has none.
const Never aqm.Time = math.MaxInt64

// Source is what has events: a link, a timer, a traffic generator.
type Source interface {
	// Fire has the source's event happen, at its time, and returns the time of its
	// next one, or Never. A time before now counts as now. Fire may call Sim.Set for
	// other sources; for its own, what it returns counts.
	Fire(now aqm.Time) (next aqm.Time)
}

// ID names a source of one Sim.
type ID uint32

const asleep = math.MaxUint64

// Sim is a virtual clock and its sources, for one goroutine at a time. The zero Sim
// is not ready for use; see New.
type Sim struct {
	tree    []uint64 // tree[1] is the winner; the leaf of source i is tree[len/2+i]
	now     aqm.Time
	shift   uint
	horizon aqm.Time
	events  uint64

	sources []Source
	free    []ID
	agenda  *agenda
}

// New returns a clock at 0 without sources.
func New() *Sim {
	s := &Sim{}
	s.grow(6)
	return s
}

// grow makes room for 2^shift sources.
func (s *Sim) grow(shift uint) {
	old, leaves := s.tree, uint64(1)<<shift
	tree := make([]uint64, 2*leaves)
	for i := range tree {
		tree[i] = asleep
	}
	for i, k := range old[len(old)/2:] {
		if k != asleep {
			tree[leaves+uint64(i)] = k>>s.shift<<shift | uint64(i)
		}
	}
	for i := leaves - 1; i > 0; i-- {
		tree[i] = min(tree[2*i], tree[2*i+1])
	}
	s.tree, s.shift = tree, shift
	s.horizon = aqm.Time(math.MaxInt64>>shift) - 1
}

// Add adds a source without a pending event.
func (s *Sim) Add(src Source) ID {
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		s.sources[id] = src
		return id
	}
	if len(s.sources) == len(s.tree)/2 {
		s.grow(s.shift + 1)
	}
	s.sources = append(s.sources, src)
	return ID(len(s.sources) - 1)
}

// Remove takes a source out. Its ID is given to a source that is added later.
func (s *Sim) Remove(id ID) {
	s.Set(id, Never)
	s.sources[id] = nil
	s.free = append(s.free, id)
}

// Set makes at the time of the source's next event, in place of the one it had.
// A time before now counts as now; Never cancels.
func (s *Sim) Set(id ID, at aqm.Time) {
	at = max(at, s.now)
	k := uint64(at)<<s.shift | uint64(id)
	if at > s.horizon {
		k = asleep
	}
	t := s.tree
	i := uint64(len(t)>>1) + uint64(id)
	t[i] = k
	for i > 1 {
		k = min(k, t[i^1])
		i >>= 1
		t[i] = k
	}
}

// Run has every event up to until happen, those at until included, and leaves the
// clock there. It does nothing if until has passed. A time beyond the horizon
// counts as the horizon.
func (s *Sim) Run(until aqm.Time) {
	until = min(until, s.horizon)
	for {
		k := s.tree[1]
		at := aqm.Time(k >> s.shift)
		if at > until || k == asleep {
			break
		}
		s.now = at
		s.events++
		id := ID(k & (1<<s.shift - 1))
		s.Set(id, s.sources[id].Fire(at))
	}
	s.now = max(s.now, until)
}

// Now returns the time of the event that is happening, or where Run has ended.
func (s *Sim) Now() aqm.Time { return s.now }

// Next returns the time of the next event, or Never. Run(Next()) is a single step,
// but for events at one time.
func (s *Sim) Next() aqm.Time {
	if s.tree[1] == asleep {
		return Never
	}
	return aqm.Time(s.tree[1] >> s.shift)
}

// Horizon returns the latest time an event can have. It is less with more sources.
func (s *Sim) Horizon() aqm.Time { return s.horizon }

// Events returns how many events have happened.
func (s *Sim) Events() uint64 { return s.events }
