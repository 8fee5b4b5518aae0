package dumbbell

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/aqmkit/aqmkit/internal/netmodel"
)

// PlotFormat returns svg or png by the file's name.
func PlotFormat(file string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".svg", ".png":
		return ext[1:], nil
	}
	return "", fmt.Errorf("%s: a plot's name ends in .svg or .png", file)
}

// WritePlot draws queue, probability and delay over time, one above the other and a
// line for each report: that of its first seed. The probability is left out where no
// algorithm has one.
func WritePlot(w io.Writer, format string, reports []*Report) error {
	const width, height = 24 * vg.Centimeter, 26 * vg.Centimeter
	panels := []struct {
		label string
		value func(netmodel.Sample) float64
	}{
		{"queue, packets", func(s netmodel.Sample) float64 { return float64(s.Packets) }},
		{"probability", func(s netmodel.Sample) float64 { return s.Probability }},
		{"delay, ms", func(s netmodel.Sample) float64 { return ms(s.Delay) }},
	}
	if !slices.ContainsFunc(reports, (*Report).hasProbability) {
		panels = slices.Delete(panels, 1, 2)
	}
	var column [][]*plot.Plot
	for i, panel := range panels {
		p := plot.New()
		p.Y.Label.Text = panel.label
		if i == 0 && len(reports) > 0 {
			p.Title.Text = heading(reports)
			p.Title.TextStyle.Font.Size = font.Points(10)
		}
		if i == len(panels)-1 {
			p.X.Label.Text = "time, s"
		}
		p.Legend.Top = true
		for k, r := range reports {
			line, err := plotter.NewLine(points(r.Runs[0].Samples, panel.value))
			if err != nil {
				return err
			}
			line.Color, line.Width = plotutil.Color(k), vg.Points(.7)
			p.Add(line)
			if i == 0 {
				p.Legend.Add(r.Scenario.Algorithm, line)
			}
		}
		p.Add(plotter.NewGrid())
		p.Y.Min = 0
		if p.Y.Max <= 0 {
			p.Y.Max = 1 // an empty range cannot be drawn
		}
		column = append(column, []*plot.Plot{p})
	}
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "svg":
		canvas = vgsvg.New(width, height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.New(width, height)}
	default:
		return fmt.Errorf("plot format %q, must be svg or png", format)
	}
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadY: vg.Millimeter * 3, PadTop: vg.Millimeter * 2, PadRight: vg.Millimeter * 4, PadBottom: vg.Millimeter * 2, PadLeft: vg.Millimeter * 2}
	for i, row := range plot.Align(column, tiles, draw.New(canvas)) {
		column[i][0].Draw(row[0])
	}
	_, err := canvas.WriteTo(w)
	return err
}

// hasProbability reports whether the algorithm has a probability to signal.
func (r *Report) hasProbability() bool {
	a, err := r.Scenario.instance(1)
	_, ok := a.(prober)
	return err == nil && ok
}

// heading says what is drawn; in two lines, so that it fits.
func heading(reports []*Report) string {
	s := reports[0].Scenario
	return fmt.Sprintf("%s\n(seed %d)", strings.Replace(s.String(), ", RTT", ",\nRTT", 1), reports[0].Runs[0].Seed)
}

// most is the number of points of a line; more could not be told apart.
const most = 2500

// points returns what is drawn of a series: of each stretch of a long one its least
// and its greatest, so that no peak is lost.
func points(samples []netmodel.Sample, value func(netmodel.Sample) float64) plotter.XYs {
	point := func(s netmodel.Sample) plotter.XY {
		return plotter.XY{X: time.Duration(s.At).Seconds(), Y: value(s)}
	}
	var xys plotter.XYs
	stretch := max(1, (2*len(samples)+most-1)/most)
	for len(samples) > 0 {
		n := min(stretch, len(samples))
		low, high := 0, 0
		for i, s := range samples[:n] {
			if value(s) < value(samples[low]) {
				low = i
			}
			if value(s) > value(samples[high]) {
				high = i
			}
		}
		if low != high {
			xys = append(xys, point(samples[min(low, high)]))
		}
		xys = append(xys, point(samples[max(low, high)]))
		samples = samples[n:]
	}
	return xys
}
