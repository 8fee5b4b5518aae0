package dumbbell

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// rate returns bit/s as one would say it.
func rate(r uint64) string {
	for _, u := range []struct {
		scale uint64
		name  string
	}{{1e9, "Gb/s"}, {1e6, "Mb/s"}, {1e3, "kb/s"}} {
		if r >= u.scale {
			return fmt.Sprint(float64(r)/float64(u.scale), " ", u.name)
		}
	}
	return fmt.Sprint(r, " bit/s")
}

func (s Scenario) rtt() string {
	if s.RTTMin == s.RTTMax {
		return s.RTTMin.String()
	}
	return fmt.Sprint(s.RTTMin, " to ", s.RTTMax)
}

// String returns the scenario in one line, but for the algorithm.
func (s Scenario) String() string {
	flows := fmt.Sprint(s.Flows, " ", strings.Join(s.Kinds.names(), " and "), " flows")
	if s.Flows == 1 {
		flows = strings.TrimSuffix(flows, "s")
	}
	if s.Reverse > 0 {
		flows += fmt.Sprint(", ", s.Reverse, " against them")
	}
	return fmt.Sprintf("%s, %s %s ECN, RTT %s, buffer %d packets, %v s of which %v s warm-up, settings %s",
		rate(s.Rate), flows, map[bool]string{true: "with", false: "without"}[s.ECN], s.rtt(), s.Buffer, s.Seconds, s.Warmup, s.Settings)
}

// WriteTable writes reports on one scenario side by side, for people.
func WriteTable(w io.Writer, reports []*Report) error {
	if len(reports) == 0 {
		return nil
	}
	first := reports[0]
	fmt.Fprintf(w, "%s; %d seed", first.Scenario, len(first.Runs))
	if len(first.Runs) > 1 {
		fmt.Fprint(w, "s, means")
	}
	fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "algorithm\tutilisation\tgoodput Mb/s\tqueue mean\tp50\tp99\tdelay mean ms\tp50\tp99\tmarks\tearly drops\tforced\toverflow\tretransmits\ttimeouts\tfairness\t")
	for _, r := range reports {
		all := r.Total()
		fmt.Fprintf(t, "%s\t%.3f\t%.5g\t%.1f\t%.0f\t%.0f\t%.3g\t%.3g\t%.3g\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.3f\t\n",
			r.Scenario.Algorithm, r.Utilisation, r.Goodput/1e6, r.QueueMean, r.QueueP50, r.QueueP99, r.DelayMean, r.DelayP50, r.DelayP99,
			all.Marked, all.Early, all.Forced, all.Overflow, r.Retransmits, r.Timeouts, r.Fairness)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nAt the bottleneck, by class of packet:\n\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "algorithm\tclass\tarrived\tmarked\tearly drops\tforced\toverflow\t")
	for _, r := range reports {
		for _, c := range r.Kinds {
			if c.Arrived > 0 {
				fmt.Fprintf(t, "%s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", r.Scenario.Algorithm, c.Kind, c.Arrived, c.Marked, c.Early, c.Forced, c.Overflow)
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nQueues in packets; the delay is the time in the queue; fairness is Jain's index of the flows' goodput.\n")
	return err
}

// figure returns a number for machines, the shortest that is read back as the same.
func figure(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// WriteCSV writes one line for every run, under a line of names. Wall times are not
// among them, so that equal runs are equal bytes.
func WriteCSV(w io.Writer, reports []*Report) error {
	c := csv.NewWriter(w)
	head := []string{
		"algorithm", "settings", "rate_bit_per_s", "rtt_min_ms", "rtt_max_ms", "buffer_packets", "flows", "reverse_flows", "ecn", "seconds", "warmup_seconds", "seed",
		"utilisation", "goodput_bit_per_s", "mean_queue_packets", "queue_p50_packets", "queue_p99_packets", "delay_mean_ms", "delay_p50_ms", "delay_p99_ms",
		"fairness_jain", "retransmissions", "timeouts", "packets_bottleneck",
	}
	for i, r := range reports {
		if i == 0 {
			for _, k := range r.Kinds {
				name := strings.ReplaceAll(strings.ToLower(k.Kind), " ", "_")
				name = strings.ReplaceAll(name, "-", "_")
				for _, what := range []string{"arrived", "marked", "dropped_early", "dropped_forced", "dropped_overflow"} {
					head = append(head, name+"_"+what)
				}
			}
			_ = c.Write(head) // Error below has it
		}
		s := r.Scenario
		for _, one := range r.Runs {
			line := []string{
				s.Algorithm, string(s.Settings), fmt.Sprint(s.Rate), figure(ms(s.RTTMin)), figure(ms(s.RTTMax)), fmt.Sprint(s.Buffer),
				fmt.Sprint(s.Flows), fmt.Sprint(s.Reverse), fmt.Sprint(s.ECN), figure(s.Seconds), figure(s.Warmup), fmt.Sprint(one.Seed),
			}
			for _, x := range []float64{
				one.Utilisation, one.Goodput, one.QueueMean, one.QueueP50, one.QueueP99, one.DelayMean, one.DelayP50, one.DelayP99,
				one.Fairness, one.Retransmits, one.Timeouts, one.Packets,
			} {
				line = append(line, figure(x))
			}
			for _, k := range one.Kinds {
				for _, x := range []float64{k.Arrived, k.Marked, k.Early, k.Forced, k.Overflow} {
					line = append(line, figure(x))
				}
			}
			_ = c.Write(line)
		}
	}
	c.Flush()
	return c.Error()
}

// WriteSeries writes the samples of every run as CSV.
func WriteSeries(w io.Writer, reports []*Report) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"algorithm", "seed", "seconds", "queue_packets", "queue_bytes", "delay_ms", "probability"}) // Error below has it
	for _, r := range reports {
		for _, one := range r.Runs {
			for _, s := range one.Samples {
				_ = c.Write([]string{
					r.Scenario.Algorithm, fmt.Sprint(one.Seed), figure(time.Duration(s.At).Seconds()), fmt.Sprint(s.Packets), fmt.Sprint(s.Bytes),
					figure(ms(s.Delay)), figure(s.Probability),
				})
			}
		}
	}
	c.Flush()
	return c.Error()
}
