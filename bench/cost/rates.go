package cost

import (
	"fmt"
	"io"
)

// overhead is what a packet takes on an Ethernet beside its own bytes: preamble and
// start of frame 8, header 14, checksum 4 and the gap 12 [IEEE 802.3].
const overhead = 8 + 14 + 4 + 12

// smallest is the least that a frame takes, without preamble and gap.
const smallest = 64

// budget returns the nanoseconds that a link of gigabits per second leaves for a
// packet of IP bytes.
func budget(gigabits, bytes int) float64 {
	return float64(8*max(bytes+overhead, smallest+20)) / float64(gigabits)
}

// The link rates and packet sizes of the table.
var (
	gigabits = []int{10, 25, 100}
	sizes    = []int{64 - 18, 1500} // IP bytes of frames of 64 and 1518 bytes
)

// writeRates writes what share of one core a line rate takes: the round trips of the
// first table, over the time that the link gives a packet.
func (r Report) writeRates(w io.Writer) error {
	fmt.Fprint(w, "\nLine rates: share of one core that decisions and queue take, and how much the time of a packet leaves room for\n\n")
	t := newTable(w)
	fmt.Fprint(t, "algorithm\tregime\tM packets/s\t")
	for _, g := range gigabits {
		for _, s := range []int{64, 1500} {
			fmt.Fprintf(t, "%d Gb/s, %d B\t", g, s)
		}
	}
	fmt.Fprint(t, "\nbudget\tns a packet\t\t")
	for _, g := range gigabits {
		for _, s := range sizes {
			fmt.Fprintf(t, "%.1f\t", budget(g, s))
		}
	}
	fmt.Fprintln(t)
	for _, row := range r.Rows {
		if !row.RoundTrip() {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%.1f\t", row.Algorithm, row.Regime, 1e3/row.FIFO.Median)
		for _, g := range gigabits {
			for _, s := range sizes {
				fmt.Fprintf(t, "%.1f %%\t", 100*row.FIFO.Median/budget(g, s))
			}
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nFrames of 64 and 1518 bytes, with preamble and gap; above 100 % one core does not sustain the rate.\n")
	return err
}
