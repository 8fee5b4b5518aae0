package cost

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the report for people.
func (r Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "Cost per packet in ns, median of %d samples of %d packets (%s, %s/%s, %s)\n\n", r.Rounds, r.Packets, r.Go, r.OS, r.Arch, r.CPU)
	t := newTable(w)
	fmt.Fprintln(t, "algorithm\tregime\tbytes\tenqueue\tabove floor\tdequeue\tabove floor\tboth\tspread\tunder a policy\tFIFO round trip\tspread\tsignals\tallocations\t")
	fmt.Fprintf(t, "floor\tno-op AQM\t\t%.2f\t\t%.2f\t\t%.2f\t%s\t\t\t\t\t\t\n", r.FloorEnqueue.Median, r.FloorDequeue.Median, r.FloorBoth.Median, r.FloorBoth.spread())
	fmt.Fprintf(t, "floor\tFIFO, no AQM\t\t\t\t\t\t\t\t\t%.2f\t%s\t\t\t\n", r.TailDropFIFO.Median, r.TailDropFIFO.spread())
	fmt.Fprintf(t, "channel\tbuffered\t\t\t\t\t\t\t\t\t%.2f\t%s\t\t\t\n", r.Channel.Median, r.Channel.spread())
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%s\t%.2f\t%.2f\t%s\t%.2f %%\t%d\t\n", row.Algorithm, row.Regime, row.Bytes,
			row.Enqueue.Median, row.Enqueue.Median-r.FloorEnqueue.Median, row.Dequeue.Median, row.Dequeue.Median-r.FloorDequeue.Median,
			row.Both.Median, row.Both.spread(), row.Policy.Median, row.FIFO.Median, row.FIFO.spread(), 100*row.Signals, row.Allocs)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nA decision is one call through the interface aqm.AQM; the floor is what that costs where nothing is decided. The spread is half of what lies between the quartiles.\n")
	return r.writeRates(w)
}

func newTable(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// spread returns half the distance of the quartiles, in percent of the median.
func (f Figure) spread() string {
	if f.Median == 0 {
		return ""
	}
	return fmt.Sprintf("±%.0f %%", 50*(f.High-f.Low)/f.Median)
}
