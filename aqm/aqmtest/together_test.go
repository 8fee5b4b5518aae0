package aqmtest

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
)

// cached is a square root that all instances have in common: right in each verdict, and
// a data race where two of them compute at a time.
var cached struct {
	n    int
	root float64
}

func squareRoot(n int) float64 {
	if cached.n != n {
		cached.n, cached.root = n, math.Sqrt(float64(n))
	}
	return cached.root
}

// racing signals at ever shorter distances, as CoDel does, while the queue is long.
var racing = owning(own{enqueue: func(o *own, p aqm.Packet, q aqm.Occupancy) aqm.Verdict {
	switch {
	case q.Packets < 20:
		o.n = 0
		return aqm.Verdict{}
	case o.n > 0 && o.clock < o.was:
		return aqm.Verdict{}
	}
	o.n++
	o.was = o.clock.Add(time.Duration(float64(100*time.Millisecond) / squareRoot(o.n)))
	return aqm.MarkOrDrop(p.ECN, aqm.Early)
}})

// TestTogether has the race detector see two instances share a variable, in a program
// of its own, since the test there fails.
func TestTogether(t *testing.T) {
	if os.Getenv("AQMTEST_RACE") != "" {
		TestAQM(t, racing, Packets(1000), Only(noSharedState.Name))
		return
	}
	if !raceDetector {
		t.Skip("only the race detector sees it, and this test is built without: go test -race")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestTogether$", "-test.v")
	cmd.Env = append(os.Environ(), "AQMTEST_RACE=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err, string(out))
	assert.Contains(t, string(out), "WARNING: DATA RACE")
	assert.Contains(t, string(out), ".squareRoot(")
	assert.Contains(t, string(out), "--- FAIL: TestTogether/no-shared-state ")
}

// TestTogetherGood sees good AQMs give their verdicts when two are asked at a time, and
// one that panics there leave the panic to survival.
func TestTogetherGood(t *testing.T) {
	for name, mk := range goodAQMs {
		s, err := newSession(mk, []Option{Packets(1000)})
		require.NoError(t, err)
		assert.Nil(t, s.together(), name)
	}
	made := 0
	s, err := newSession(func(rand.Source) aqm.AQM {
		if made++; made == 10 { // after the session's own and those that record the streams
			panic("a planted fault")
		}
		return aqm.TailDrop{}
	}, []Option{Packets(1000)})
	require.NoError(t, err)
	s.ordinaryStreams()
	made = 9
	assert.Nil(t, s.together())
}
