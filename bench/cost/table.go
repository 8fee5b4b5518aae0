package cost

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the report for people.
func (r Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "Cost per packet in ns, median of %d samples of %d packets; spread is the widest of a row's figures (%s, %s/%s, %s)\n\n", r.Rounds, r.Packets, r.Go, r.OS, r.Arch, r.CPU)
	t := newTable(w)
	fmt.Fprintln(t, "algorithm\tregime\tbytes\tenqueue\tabove floor\tdequeue\tabove floor\tbare\tboth\tunder a policy\tsignals\tFIFO round trip\tsignals\tdelivered\tspread\tallocations\t")
	fmt.Fprintf(t, "floor\tno-op AQM\t\t%.2f\t\t%.2f\t\t\t%.2f\t\t\t\t\t\t%s\t\t\n", r.FloorEnqueue.Median, r.FloorDequeue.Median, r.FloorBoth.Median, widest(r.FloorEnqueue, r.FloorDequeue, r.FloorBoth))
	fmt.Fprintf(t, "floor\tFIFO, no AQM\t\t\t\t\t\t\t\t\t\t%.2f\t\t\t%s\t\t\n", r.TailDropFIFO.Median, r.TailDropFIFO.spread())
	fmt.Fprintf(t, "channel\tbuffered\t\t\t\t\t\t\t\t\t\t%.2f\t\t\t%s\t\t\n", r.Channel.Median, r.Channel.spread())
	for _, row := range r.Rows {
		fifo := "-"
		if row.RoundTrip() {
			fifo = fmt.Sprintf("%.2f", row.FIFO.Median)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f %%\t%s\t%.2f %%\t%.1f %%\t%s\t%d\t\n", row.Algorithm, row.Regime, row.Bytes,
			row.Enqueue.Median, row.Enqueue.Median-r.FloorEnqueue.Median, row.Dequeue.Median, row.Dequeue.Median-r.FloorDequeue.Median,
			row.Bare.Median, row.Both.Median, row.Policy.Median, 100*row.Signals,
			fifo, 100*row.FIFOSignals, 100*row.FIFODelivered, widest(row.figures()...), row.Allocs)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nEnqueue and dequeue are one call each through the interface aqm.AQM, both is one at either end, bare the same by direct calls; the floor is a call where nothing is decided. "+
		"Each sample starts anew in its regime, and signals and delivered are shares of the packets that were timed. Where less than half is delivered there is no round trip to time: -. "+
		"A spread is half of what lies between the quartiles.\n")
	if err := r.writePolicies(w); err != nil {
		return err
	}
	return r.writeRates(w)
}

func newTable(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// halfRange returns half the distance of the quartiles, as a share of the median.
func (f Figure) halfRange() float64 {
	if f.Median == 0 {
		return 0
	}
	return 0.5 * (f.High - f.Low) / f.Median
}

// spread returns that in percent.
func (f Figure) spread() string { return widest(f) }

// widest returns the largest spread of figures.
func widest(figures ...Figure) string {
	largest := 0.0
	for _, f := range figures {
		largest = max(largest, f.halfRange())
	}
	return fmt.Sprintf("±%.0f %%", 100*largest)
}
