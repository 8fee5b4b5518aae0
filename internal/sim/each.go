package sim

import (
	"sync"
	"sync/atomic"
)

// Each calls run for every i in [0, n), on up to workers goroutines, and returns
// when all are done. The calls must not share what they write, so that the results
// do not depend on workers.
func Each(n, workers int, run func(i int)) {
	workers = max(1, min(workers, n))
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				run(i)
			}
		})
	}
	all.Wait()
}
