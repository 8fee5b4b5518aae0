package observeslog

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/observe"
	"github.com/aqmkit/aqmkit/pie"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func observer(t *testing.T, name string) *observe.Observer {
	t.Helper()
	a, err := pie.New(pie.DefaultConfig())
	require.NoError(t, err)
	o, err := observe.New(a, observe.DefaultConfig(name))
	require.NoError(t, err)
	return o
}

// records parses what was written.
func records(t *testing.T, b *bytes.Buffer) (all []map[string]any) {
	t.Helper()
	for d := json.NewDecoder(b); d.More(); {
		var r map[string]any
		require.NoError(t, d.Decode(&r))
		delete(r, "time")
		all = append(all, r)
	}
	return all
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&b, nil))
	o, idle := observer(t, "up"), observer(t, "idle")
	before := make([]*observe.Snapshot, 2)
	pass := func(n int, wait aqm.Time) {
		for range n {
			o.Enqueue(0, aqm.Packet{Size: 100, Class: aqm.Data}, aqm.Occupancy{})
			o.Dequeue(wait, aqm.Packet{Size: 100, Class: aqm.Data}, aqm.Occupancy{})
		}
	}
	pass(3, 1e6)
	o.Enqueue(0, aqm.Packet{Size: 40, Class: aqm.SYN}, aqm.Occupancy{Full: true})
	Write(t.Context(), log, before, o, idle)
	pass(2, 8e6)
	Write(t.Context(), log, before, o, idle)
	all := records(t, &b)
	require.Len(t, all, 4)

	first, second := all[0], all[2]
	assert.Equal(t, "up", first["queue"])
	assert.Equal(t, 4., first["arrived"])
	assert.Equal(t, 3., first["delivered"])
	assert.Equal(t, 1., first["dropped"])
	assert.Equal(t, map[string]any{"enqueue.syn.overflow": 1.}, first["drops"])
	assert.Equal(t, 0., first["queued_packets"])
	assert.Equal(t, 0., first["probability"])
	assert.Contains(t, first["state"], "PIE.Burst")
	assert.InEpsilon(t, 1e6, first["sojourn"].(map[string]any)["p99"], .01)

	assert.Equal(t, 2., second["arrived"], "since the record before")
	assert.NotContains(t, second, "drops")
	assert.InEpsilon(t, 8e6, second["sojourn"].(map[string]any)["p50"], .01)
	total := second["total"].(map[string]any)
	assert.Equal(t, 6., total["arrived"])
	assert.Equal(t, map[string]any{"enqueue.syn.overflow": 1.}, total["drops"])

	assert.Equal(t, "idle", all[1]["queue"])
	assert.NotContains(t, all[1], "sojourn")
}

// TestRun has virtual time: each record waits for the queue as long as there is
// patience.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(slog.NewJSONHandler(&b, nil))
		o := observer(t, "stuck")
		o.Enqueue(0, aqm.Packet{Size: 100}, aqm.Occupancy{}) // and no event after it
		ctx, cancel := context.WithCancel(t.Context())
		start, done := time.Now(), make(chan error)
		go func() { done <- Run(ctx, log, 150*time.Millisecond, o) }()
		time.Sleep(275 * time.Millisecond)
		cancel()
		require.NoError(t, <-done)
		assert.Equal(t, 275*time.Millisecond+patience, time.Since(start))
		all := records(t, &b)
		assert.Len(t, all, 3, "at once, after a period, and at the end")
		for _, r := range all {
			assert.NotContains(t, r, "queued_packets")
		}
		assert.ErrorIs(t, Run(t.Context(), log, time.Millisecond), aqm.ErrConfig)
	})
}
