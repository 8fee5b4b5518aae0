package tcp

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/internal/netmodel"
)

// TestSpans holds the set against an array of bits.
func TestSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const size = 120
	for range 50 {
		var x spans
		var bits [size]bool
		bottom := 0
		for range 60 {
			from := bottom + r.IntN(size-bottom)
			to := from + r.IntN(size-from+1)
			mark := r.IntN(size)
			fresh, below := int64(0), int64(0)
			for i := from; i < to; i++ {
				if !bits[i] {
					fresh++
					if i < mark {
						below++
					}
				}
				bits[i] = true
			}
			f, b := x.add(int64(from), int64(to), int64(mark))
			require.Equal(t, fresh, f)
			require.Equal(t, below, b)
			if r.IntN(10) == 0 {
				n := int64(0)
				for next := bottom + r.IntN(size-bottom); bottom < next; bottom++ {
					if bits[bottom] {
						n++
					}
					bits[bottom] = false
				}
				require.Equal(t, n, x.drop(int64(bottom)))
			}
			checkSpans(t, &x, bits[:])
		}
	}
}

func checkSpans(t *testing.T, x *spans, bits []bool) {
	t.Helper()
	var want []netmodel.Span
	total := int64(0)
	for i, set := range bits {
		if !set {
			continue
		}
		total++
		if n := len(want); n > 0 && want[n-1].To == int64(i) {
			want[n-1].To++
		} else {
			want = append(want, netmodel.Span{From: int64(i), To: int64(i) + 1})
		}
	}
	require.Equal(t, total, x.total)
	require.Equal(t, len(want), len(x.s))
	for i := range want {
		require.Equal(t, want[i], x.s[i])
	}
	for seq := range bits {
		n := int64(0)
		for _, set := range bits[seq:] {
			if set {
				n++
			}
		}
		require.Equal(t, n, x.above(int64(seq)))
		require.Equal(t, n, x.count(int64(seq), int64(len(bits))))
		at := seq
		for at < len(bits) && bits[at] {
			at++
		}
		end := at
		for end < len(bits) && !bits[end] {
			end++
		}
		a, g := x.gap(int64(seq), int64(len(bits)))
		require.Equal(t, int64(at), a)
		require.Equal(t, int64(end-at), g)
	}
	// RFC 6675 section 4, IsLost, word for word, with segments of 10.
	edge, _ := x.lost(10)
	for seq, set := range bits {
		if set {
			continue
		}
		blocks, bytes := 0, int64(0)
		for _, s := range want {
			if s.From > int64(seq) {
				blocks++
				bytes += s.To - s.From
			}
		}
		require.Equal(t, blocks >= 3 || bytes > 20, int64(seq) < edge, "%d of %v", seq, want)
	}
}
