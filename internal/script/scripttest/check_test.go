package scripttest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
)

// late is a tail drop with a fault: a packet that stayed for a millisecond, with two
// more behind it, is marked.
type late struct {
	aqm.TailDrop
	panics bool
}

func (l late) Dequeue(now aqm.Time, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	if q.Packets < 2 || now.Sub(p.EnqueuedAt) < time.Millisecond {
		return aqm.Verdict{}
	}
	if l.panics {
		panic("late")
	}
	return aqm.Verdict{Action: aqm.Mark, Reason: aqm.Early}
}

// TestCheckIsShort runs a fault through scripts as long as a fuzz target's, and reads
// what is printed.
func TestCheckIsShort(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 4096))
	data := make([]byte, 2*4096)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	disturbed := script.Random(r, 4096, time.Millisecond)
	script.Disturb(r, disturbed, 16)
	for name, s := range map[string]script.Script{"decoded": script.Decode(data, 4096), "disturbed": disturbed} {
		for _, panics := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				require.Len(t, s, 4096)
				run := func(s script.Script) error {
					m := script.Machine{Judged: script.Agree(nil)}
					return m.Run(s, aqm.TailDrop{}, late{panics: panics})
				}
				err := Check(s, run)
				require.Error(t, err)
				out := err.Error()
				want := "verdicts differ: [Pass Mark/Early]"
				if panics {
					want = "panic: late"
				}
				assert.Contains(t, out, want)
				assert.Contains(t, out, "4 operations, shrunk from 4096: script.Script{")
				code := parse(t, out[strings.Index(out, "script.Script{"):])
				assert.Len(t, code, 4, out)
				assert.Error(t, guarded(code, run), "the code that is printed fails")
				for i, op := range code {
					assert.Zero(t, op.Wait%time.Microsecond, out)
					if i < 3 {
						assert.Equal(t, script.Op{Kind: script.Arrive, Wait: op.Wait, Size: 1500}, op, out)
					}
				}
			})
		}
	}
}

// TestCheck passes what passes, keeps what fails whatever is left out, and stops
// when its time is over.
func TestCheck(t *testing.T) {
	s := script.Script{{Kind: script.Arrive, Wait: 7}, {Kind: script.Depart}}
	runs := 0
	require.NoError(t, Check(s, func(script.Script) error { runs++; return nil }))
	assert.Equal(t, 1, runs)

	broken := errors.New("broken")
	err := Check(s, func(s script.Script) error {
		if len(s) < 2 {
			return nil
		}
		return broken
	})
	require.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, "2 operations, shrunk from 2: script.Script{")
	assert.ErrorContains(t, Check(s, func(script.Script) error { return broken }), "0 operations, shrunk from 2: script.Script{\n}")

	runs = 0
	over, cancel := context.WithCancel(t.Context())
	cancel()
	left, err := shorten(over, s, broken, func(script.Script) error { runs++; return nil })
	assert.Equal(t, s, left)
	assert.Equal(t, broken, err)
	assert.Zero(t, runs)
}
