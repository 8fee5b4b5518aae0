package hadoop

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/aqmkit/aqmkit/internal/shuffle"
)

// Scale runs one cell on clusters of 16, 64 and 256 nodes and writes what it took. Wall
// time and memory are the machine's: this is no part of the reproducible output.
func Scale(w io.Writer, seed uint64, progress func(done, of int, what string)) error {
	const perNode = 32 << 20 // bytes of map output, whatever the size
	fmt.Fprintln(w, "nodes  racks  spines  connections  packets at ports    events  simulated s  wall s  events/s  MB of heap  allocated MB")
	sizes := []struct{ racks, nodes, spines int }{{2, 8, 1}, {4, 16, 1}, {8, 32, 2}}
	for i, size := range sizes {
		if progress != nil {
			progress(i, len(sizes), fmt.Sprint(size.racks*size.nodes, " nodes"))
		}
		c := configure(at(deep, "ecn"), scheme{aqm: "redi", target: 200 * us, mode: "acksyn"}, seed, terasort)
		c.Network.Racks, c.Network.Nodes, c.Network.Spines = size.racks, size.nodes, size.spines
		c.Job.Output = perNode / int64(c.Job.Maps)
		c.Job.MapTime /= quickPart
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		r, err := shuffle.Run(c)
		if err != nil {
			return err
		}
		wall := time.Since(began).Seconds()
		runtime.ReadMemStats(&after)
		fmt.Fprintf(w, "%5d  %5d  %6d  %11d  %16d  %8d  %11.3f  %6.2f  %8.3g  %10.1f  %12.1f\n",
			size.racks*size.nodes, size.racks, size.spines, r.TCP.Connections+r.Service.TCP.Connections, r.Packets, r.Events, r.RunTime.Seconds(), wall,
			float64(r.Events)/wall, float64(after.HeapSys-after.HeapReleased)/1e6, float64(after.TotalAlloc-before.TotalAlloc)/1e6)
	}
	if progress != nil {
		progress(len(sizes)-1, len(sizes), "")
	}
	return nil
}
