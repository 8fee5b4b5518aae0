package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// job is one run of an experiment.
type job struct {
	name string
	rate uint64 // bit/s, of the link: what it costs the machine
	run  func(context.Context) error
}

// atOnce runs the jobs, at most parallel at once, of which the rates add up to no more
// than load; one of more runs alone. The largest go first, so that small ones fill up
// the end. The first error ends all of them.
func atOnce(ctx context.Context, out *output, jobs []job, parallel int, load uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu             sync.Mutex
		changed        = sync.NewCond(&mu)
		busy           uint64
		running, begun int
		failed         error
		group          sync.WaitGroup
	)
	waiting := slices.Clone(jobs)
	slices.SortStableFunc(waiting, func(a, b job) int { return int(b.rate/1000) - int(a.rate/1000) })
	mu.Lock()
	for len(waiting) > 0 && failed == nil && ctx.Err() == nil {
		next := slices.IndexFunc(waiting, func(j job) bool {
			return running == 0 || running < parallel && busy+j.rate <= load
		})
		if next < 0 {
			changed.Wait()
			continue
		}
		j := waiting[next]
		waiting = slices.Delete(waiting, next, next+1)
		running++
		begun++
		busy += j.rate
		out.say("[%*d/%d] %s", len(fmt.Sprint(len(jobs))), begun, len(jobs), j.name)
		group.Go(func() {
			err := j.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			running--
			busy -= j.rate
			changed.Broadcast()
			if err != nil && failed == nil {
				failed = fmt.Errorf("%s: %w", j.name, err)
				cancel()
			}
		})
	}
	mu.Unlock()
	group.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}
