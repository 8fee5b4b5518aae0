package replay

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// WriteTable writes the comparison for people.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s: %d packets, %d bytes in %.3g s, which is %.3g of %.6g Mb/s; limit %d packets; settings %s for %v and %d flows; seed %d\n",
		r.File, r.Packets, r.Bytes, r.Seconds, r.Offered, float64(r.Link.Rate)/1e6, r.Link.LimitPackets, r.Link.Settings, r.Link.RTT, r.Link.Flows, r.Link.Seed)
	if r.Skipped+r.Filtered+r.Backwards > 0 {
		fmt.Fprintf(w, "Left out: %d packets that are not IP or damaged, %d that the filter does not take. %d were out of order.\n", r.Skipped, r.Filtered, r.Backwards)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "algorithm\tdelivered\tutilisation\tdelay mean ms\tp50\tp99\tmax\tmarks\tearly drops\tforced\toverflow\t")
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3g\t%.3g\t%.3g\t%.3g\t%d\t%d\t%d\t%d\t\n", x.Algorithm, x.Delivered, x.Utilisation,
			x.DelayMean, x.DelayP50, x.DelayP99, x.DelayMax, x.Total.Marked, x.Total.Early, x.Total.Forced, x.Total.Overflow)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nBy class of packet, marks and drops:\n\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "algorithm\t")
	for _, c := range r.Results[0].Classes {
		fmt.Fprintf(t, "%s\t\t", c.Class)
	}
	fmt.Fprintln(t)
	fmt.Fprint(t, "arrived\t")
	for _, c := range r.Results[0].Classes {
		fmt.Fprintf(t, "%d\t\t", c.Arrived)
	}
	fmt.Fprintln(t)
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t", x.Algorithm)
		for _, c := range x.Classes {
			fmt.Fprintf(t, "%d\t%d\t", c.Marked, c.Dropped())
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nThe delay is the time in the queue. Senders that were recorded do not answer to marks and drops.\n")
	return err
}

// WriteCSV writes one line for every algorithm, under a line of names.
func (r *Report) WriteCSV(w io.Writer) error {
	head := []string{
		"algorithm", "settings", "rate_bit_per_s", "rtt_ms", "flows", "limit_packets", "seed",
		"packets", "seconds", "delivered", "utilisation", "delay_mean_ms", "delay_p50_ms", "delay_p99_ms", "delay_max_ms",
	}
	for _, c := range append([]string{"all"}, classNames[:]...) {
		for _, what := range []string{"arrived", "marked", "dropped_early", "dropped_forced", "dropped_overflow"} {
			head = append(head, c+"_"+what)
		}
	}
	rows := [][]string{head}
	figure := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, x := range r.Results {
		row := []string{
			x.Algorithm, r.Link.Settings, fmt.Sprint(r.Link.Rate), figure(r.Link.RTT.Seconds() * 1e3), fmt.Sprint(r.Link.Flows), fmt.Sprint(r.Link.LimitPackets), fmt.Sprint(r.Link.Seed),
			fmt.Sprint(r.Packets), figure(r.Seconds), fmt.Sprint(x.Delivered), figure(x.Utilisation), figure(x.DelayMean), figure(x.DelayP50), figure(x.DelayP99), figure(x.DelayMax),
		}
		for _, c := range append([]Count{x.Total}, x.Classes[:]...) {
			for _, n := range []uint64{c.Arrived, c.Marked, c.Early, c.Forced, c.Overflow} {
				row = append(row, fmt.Sprint(n))
			}
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}
