package tcp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

type forever struct{ tcp.NoApp }

// Connected implements tcp.App.
func (forever) Connected(now aqm.Time, e *tcp.End) { e.WriteForever(now) }

// TestSmallQueues: where the host's own link is the bottleneck, its queue holds two
// segments of each connection and is never without work; without small queues the
// windows fill it. Latency is measured from the host on.
func TestSmallQueues(t *testing.T) {
	run := func(small bool) (backlog time.Duration, latency time.Duration, bytes uint64) {
		net := netmodel.New()
		host := netmodel.QueueConfig{Rate: 1e9, Delay: 20 * time.Microsecond, Limit: 1000}
		ls, err := net.LeafSpine(netmodel.LeafSpineConfig{
			Racks: 1, Hosts: 4, Spines: 1, Host: host, Core: host,
			MakeAQM: func(string) (aqm.AQM, error) { return aqm.TailDrop{}, nil },
		})
		require.NoError(t, err)
		c := tcp.DefaultConfig()
		c.SmallQueues, c.ReceiveWindow = small, 256<<10
		pool, err := tcp.NewPool(net, c)
		require.NoError(t, err)
		var own netmodel.Flow
		for to := 1; to < 4; to++ {
			r, err := ls.Route(0, to, 0)
			require.NoError(t, err)
			own = r.Forward.Flow(nil, 0)
			pool.Dial(0, r, 0, forever{}, nil)
		}
		net.Run(10e6)
		lat := net.MeasureLatency()
		sent := uint64(0)
		for _, l := range ls.Down[1:] {
			l.Measure()
		}
		for at := aqm.Time(10e6); at <= 50e6; at += 50e3 {
			net.Run(at)
			backlog = max(backlog, own.Departure().Sub(at))
		}
		for _, l := range ls.Down[1:] {
			st := l.Stats()
			sent += st.SentBytes
		}
		return backlog, lat[netmodel.KindData].Mean(), sent
	}
	const segment = 12 * time.Microsecond
	backlog, latency, bytes := run(true)
	assert.LessOrEqual(t, backlog, 6*segment)
	assert.Greater(t, backlog, 2*segment)
	assert.InEpsilon(t, 40e-3*1e9/8, bytes, .01)
	// Five packets before it at the most, its own two transmissions, two links.
	assert.LessOrEqual(t, latency, 7*segment+40*time.Microsecond)
	assert.GreaterOrEqual(t, latency, 2*segment+40*time.Microsecond)
	backlog, latency, bytes = run(false)
	assert.Greater(t, backlog, 300*segment)
	assert.Greater(t, latency, 300*segment)
	assert.InEpsilon(t, 40e-3*1e9/8, bytes, .01)
}
