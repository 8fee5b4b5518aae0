package study

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a diagram.
type Figure struct {
	Name           string // of its files, without the ending
	Title          string
	Caption        string
	XLabel, YLabel string
	LogX, LogY     bool
	XMin, XMax     float64 // 0, 0: as the series need
	YMin, YMax     float64
	LegendTop      bool // else it is below
	LegendLeft     bool // else it is to the right
	Series         []Series
}

// Series is a line, or points, of a figure.
type Series struct {
	Name   string // in the legend; "" for none
	X, Y   []float64
	Labels []string // beside the points; "" for none
	Dashed bool
	Points bool // points without a line
	Color  int  // k has the colour k-1 of the palette; 0 that of its place
}

const figureWidth, figureHeight = 20 * vg.Centimeter, 13 * vg.Centimeter

// SVG draws the figure.
func (f *Figure) SVG() ([]byte, error) {
	c := vgsvg.New(figureWidth, figureHeight)
	return f.draw(c, c)
}

// PNG draws the figure.
func (f *Figure) PNG() ([]byte, error) {
	c := vgimg.PngCanvas{Canvas: vgimg.New(figureWidth, figureHeight)}
	return f.draw(c, c)
}

func (f *Figure) draw(canvas vg.CanvasSizer, w io.WriterTo) ([]byte, error) {
	p, err := f.plot()
	if err != nil {
		return nil, fmt.Errorf("figure %s: %w", f.Name, err)
	}
	p.Draw(draw.Crop(draw.New(canvas), 2*vg.Millimeter, -4*vg.Millimeter, 2*vg.Millimeter, -2*vg.Millimeter))
	var b bytes.Buffer
	_, err = w.WriteTo(&b)
	return b.Bytes(), err
}

func (f *Figure) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.XLabel, f.YLabel
	p.Title.TextStyle.Font.Size = font.Points(11)
	p.Legend.TextStyle.Font.Size = font.Points(8)
	p.Legend.Top, p.Legend.Left = f.LegendTop, f.LegendLeft
	p.Add(plotter.NewGrid())
	drawn := false
	for i, s := range f.Series {
		xys := f.points(s)
		if len(xys) == 0 {
			continue
		}
		drawn = true
		k := i
		if s.Color > 0 {
			k = s.Color - 1
		}
		if err := add(p, s, xys, k); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if !drawn { // an empty range cannot be drawn
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1, 10, 1, 10
	}
	if f.XMin != f.XMax {
		p.X.Min, p.X.Max = f.XMin, f.XMax
	}
	if f.YMin != f.YMax {
		p.Y.Min, p.Y.Max = f.YMin, f.YMax
	}
	scale(&p.X, f.LogX)
	scale(&p.Y, f.LogY)
	return p, nil
}

// points leaves out what cannot be shown on the axes.
func (f *Figure) points(s Series) (xys plotter.XYs) {
	for i := range min(len(s.X), len(s.Y)) {
		x, y := s.X[i], s.Y[i]
		bad := math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0)
		if bad || f.LogX && x <= 0 || f.LogY && y <= 0 {
			continue
		}
		xys = append(xys, plotter.XY{X: x, Y: y})
	}
	return xys
}

// shades are colours that people who see few of them can tell apart [Okabe and Ito
// 2008]; past them come those of plotutil.
var shades = []color.Color{
	color.RGBA{0, 114, 178, 255},
	color.RGBA{213, 94, 0, 255},
	color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255},
	color.RGBA{230, 159, 0, 255},
	color.RGBA{86, 180, 233, 255},
	color.RGBA{90, 90, 90, 255},
	color.RGBA{0, 0, 0, 255},
}

func shade(k int) color.Color {
	if k < len(shades) {
		return shades[k]
	}
	return plotutil.Color(k)
}

func add(p *plot.Plot, s Series, xys plotter.XYs, k int) error {
	points, err := plotter.NewScatter(xys)
	if err != nil {
		return err
	}
	points.Color, points.Radius, points.Shape = shade(k), vg.Points(3), plotutil.Shape(k)
	thumbs := []plot.Thumbnailer{points}
	if !s.Points {
		line, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		line.Color, line.Width = shade(k), vg.Points(1.2)
		if s.Dashed {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(line)
		thumbs = []plot.Thumbnailer{line}
	}
	if s.Points || len(xys) <= 20 { // more points than that are a curve
		p.Add(points)
		if !s.Points {
			thumbs = append(thumbs, points)
		}
	}
	if len(s.Labels) == len(xys) {
		labels, err := plotter.NewLabels(plotter.XYLabels{XYs: xys, Labels: s.Labels})
		if err != nil {
			return err
		}
		for i := range labels.TextStyle {
			labels.TextStyle[i].Font.Size = font.Points(7)
		}
		labels.Offset = vg.Point{X: vg.Points(4), Y: vg.Points(2)}
		p.Add(labels)
	}
	if s.Name != "" {
		p.Legend.Add(s.Name, thumbs...)
	}
	return nil
}

// scale makes an axis logarithmic where the range lets it, and no range empty.
func scale(a *plot.Axis, log bool) {
	if !(a.Min < a.Max) {
		a.Min, a.Max = a.Min-math.Abs(a.Min)/2-.5, a.Max+math.Abs(a.Max)/2+.5
		if log {
			a.Min, a.Max = a.Max/10, a.Max*10
		}
	}
	if log && a.Min > 0 {
		a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 4}
	}
}
