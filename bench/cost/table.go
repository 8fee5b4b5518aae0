package cost

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the report for people.
func (r Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "Cost per packet in ns, median of %d samples of %d packets (%s, %s/%s, %s)\n\n", r.Rounds, r.Packets, r.Go, r.OS, r.Arch, r.CPU)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "algorithm\tregime\tenqueue\tdequeue\tboth under a policy\tFIFO round trip\tsignals\tallocations\t")
	fmt.Fprintf(t, "floor\tno-op AQM\t%.2f\t%.2f\t\t\t\t\t\n", r.FloorEnqueue.Median, r.FloorDequeue.Median)
	fmt.Fprintf(t, "floor\tFIFO, no AQM\t\t\t\t%.2f\t\t\t\n", r.TailDropFIFO.Median)
	fmt.Fprintf(t, "channel\tbuffered\t\t\t\t%.2f\t\t\t\n", r.Channel.Median)
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f %%\t%d\t\n", row.Algorithm, row.Regime,
			row.Enqueue.Median, row.Dequeue.Median, row.Policy.Median, row.FIFO.Median, 100*row.Signals, row.Allocs)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nA decision is one call through the interface aqm.AQM; the floor is what that costs where nothing is decided.\n")
	return err
}
