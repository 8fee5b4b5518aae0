// Package observeslog writes what an observe.Observer sees to a log/slog.Logger: a
// record for each queue and period, with what happened in it.
package observeslog

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/datapath/observe"
)

// patience is how long a queue that holds packets is waited for.
const patience = 100 * time.Millisecond

// Run writes a record for each of the Observers at once and then every period, which
// is >= 100 ms, until ctx ends; it writes the last ones then, and returns nil.
// Records are of level Info. Counts are of the period, and of the whole in the group
// total. A record without the attribute queued_packets is of a queue that holds packets
// and had no event.
func Run(ctx context.Context, log *slog.Logger, period time.Duration, observers ...*observe.Observer) error {
	if period < patience {
		return fmt.Errorf("observeslog: period = %v, must be >= %v: %w", period, patience, aqm.ErrConfig)
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	before := make([]*observe.Snapshot, len(observers))
	for {
		Write(context.WithoutCancel(ctx), log, before, observers...)
		if ctx.Err() != nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// Write writes one record for each Observer. It compares with the snapshots in before,
// as many as there are Observers, and puts those that it takes in their place; nil
// stands for the beginning.
func Write(ctx context.Context, log *slog.Logger, before []*observe.Snapshot, observers ...*observe.Observer) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now := make([]*observe.Snapshot, len(observers))
	errs := make([]error, len(observers))
	var wait sync.WaitGroup
	for i, o := range observers {
		wait.Go(func() { now[i], errs[i] = o.Snapshot(limited) })
	}
	wait.Wait()
	for i, s := range now {
		log.LogAttrs(ctx, slog.LevelInfo, "queue", attributes(before[i], s, errs[i] != nil)...)
		before[i] = s
	}
}

// attributes returns what happened between two snapshots.
func attributes(before, now *observe.Snapshot, stale bool) []slog.Attr {
	if before == nil {
		before = &observe.Snapshot{}
	}
	all := []slog.Attr{slog.String("queue", now.Name)}
	if !stale {
		all = append(all, slog.Int64("queued_packets", now.Packets), slog.Int64("queued_bytes", now.Bytes))
	}
	all = append(all, counts(before, now)...)
	if d := between(before.Sojourn, now.Sojourn); d.TotalCount() > 0 {
		all = append(all, slog.Group("sojourn",
			slog.Duration("p50", time.Duration(d.ValueAtPercentile(50))),
			slog.Duration("p99", time.Duration(d.ValueAtPercentile(99))),
			slog.Duration("max", time.Duration(d.Max()))))
	}
	if !math.IsNaN(now.Sample.Probability) {
		all = append(all, slog.Float64("probability", now.Sample.Probability))
	}
	var state []any
	for i, f := range now.Sample.Fields {
		state = append(state, slog.Float64(f.Layer+"."+f.Name, now.Sample.Values[i]))
	}
	return append(all, slog.Group("state", state...), slog.Attr{Key: "total", Value: slog.GroupValue(counts(&observe.Snapshot{}, now)...)})
}

// counts returns arrivals, deliveries, marks and drops, and of the drops where, why
// and of what.
func counts(before, now *observe.Snapshot) []slog.Attr {
	less := func(a, b aqm.Count) uint64 { return a.Packets - b.Packets }
	all := []slog.Attr{
		slog.Uint64("arrived", less(now.Arrived(), before.Arrived())),
		slog.Uint64("delivered", less(now.Delivered(), before.Delivered())),
		slog.Uint64("marked", less(now.Marked, before.Marked)),
		slog.Uint64("dropped", less(now.Dropped(), before.Dropped())),
	}
	var drops []any
	for end := range now.Counts {
		for g := range now.Counts[end] {
			for r := range now.Counts[end][g][aqm.Drop] {
				if n := less(now.Counts[end][g][aqm.Drop][r], before.Counts[end][g][aqm.Drop][r]); n > 0 {
					key := fmt.Sprint(observe.End(end), ".", observe.Group(g), ".", strings.ToLower(aqm.Reason(r).String()))
					drops = append(drops, slog.Uint64(key, n))
				}
			}
		}
	}
	return append(all, slog.Group("drops", drops...)) // an empty group is left out
}

// between returns the values recorded since before.
func between(before, now *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if before == nil {
		return now
	}
	d, b := now.Export(), before.Export()
	for i := range d.Counts {
		d.Counts[i] -= b.Counts[i]
	}
	return hdrhistogram.Import(d)
}
