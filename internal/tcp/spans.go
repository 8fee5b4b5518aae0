package tcp

import "github.com/aqmkit/aqmkit/internal/netmodel"

// spans is a set of sequence numbers as ranges, ascending, with a gap between any
// two. It keeps its memory.
type spans struct {
	s     []netmodel.Span
	total int64 // the ranges' lengths added up
}

func (x *spans) reset() { x.s, x.total = x.s[:0], 0 }

// search returns the index of the first range that ends at or after seq.
func (x *spans) search(seq int64) int {
	lo, hi := 0, len(x.s)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); x.s[mid].To < seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// add adds [from, to) and returns how many of its numbers are new, and how many of
// those are below mark.
func (x *spans) add(from, to, mark int64) (fresh, below int64) {
	if from >= to {
		return 0, 0
	}
	i := x.search(from)
	j := i
	fresh, below = to-from, max(0, min(to, mark)-from)
	merged := netmodel.Span{From: from, To: to}
	for ; j < len(x.s) && x.s[j].From <= to; j++ {
		old := x.s[j]
		low, high := max(from, old.From), min(to, old.To)
		fresh -= max(0, high-low)
		below -= max(0, min(high, mark)-low)
		merged.From, merged.To = min(merged.From, old.From), max(merged.To, old.To)
	}
	if fresh == 0 {
		return 0, 0
	}
	x.total += fresh
	if i == j {
		x.s = append(x.s, netmodel.Span{})
		copy(x.s[i+1:], x.s[i:])
		x.s[i] = merged
		return fresh, below
	}
	x.s[i] = merged
	x.s = append(x.s[:i+1], x.s[j:]...)
	return fresh, below
}

// drop takes out all numbers below seq and returns how many they were.
func (x *spans) drop(seq int64) (gone int64) {
	i := 0
	for ; i < len(x.s) && x.s[i].To <= seq; i++ {
		gone += x.s[i].To - x.s[i].From
	}
	if i < len(x.s) && x.s[i].From < seq {
		gone += seq - x.s[i].From
		x.s[i].From = seq
	}
	if i > 0 {
		x.s = x.s[:copy(x.s, x.s[i:])]
	}
	x.total -= gone
	return gone
}

// count returns how many numbers of [from, to) are in the set.
func (x *spans) count(from, to int64) (n int64) {
	for i := x.search(from); i < len(x.s) && x.s[i].From < to; i++ {
		n += max(0, min(to, x.s[i].To)-max(from, x.s[i].From))
	}
	return n
}

// above returns how many numbers at or above seq are in the set, looking from the
// top.
func (x *spans) above(seq int64) (n int64) {
	for i := len(x.s) - 1; i >= 0 && x.s[i].To > seq; i-- {
		n += x.s[i].To - max(seq, x.s[i].From)
	}
	return n
}

// gap returns the first number at or after seq that is not in the set, and how many
// follow until one is, or until end.
func (x *spans) gap(seq, end int64) (at, n int64) {
	i := x.search(seq + 1)
	if i < len(x.s) && x.s[i].From <= seq {
		seq = x.s[i].To
		i++
	}
	if i < len(x.s) {
		end = min(end, x.s[i].From)
	}
	return seq, max(0, end-seq)
}

// top returns the end of the highest range, or 0.
func (x *spans) top() int64 {
	if len(x.s) == 0 {
		return 0
	}
	return x.s[len(x.s)-1].To
}

// lost returns the edge below which everything that is not in the set counts as
// lost, 0 if nothing does, and how many numbers at or above it are in the set: RFC
// 6675 section 4, IsLost, with DupThresh = 3. Above a lost number there are three
// separate ranges, or more than two segments.
func (x *spans) lost(mss int64) (edge, above int64) {
	for i := len(x.s) - 1; i >= 0; i-- {
		above += x.s[i].To - x.s[i].From
		if above > 2*mss || len(x.s)-i >= 3 {
			return x.s[i].From, above
		}
	}
	return 0, above
}
