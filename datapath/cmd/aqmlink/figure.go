package main

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
)

// plotPoint is one dot of a stripPlot.
type plotPoint struct {
	group  string // its place from left to right
	kind   string // its colour
	filled bool   // with ECN
	value  float64
	label  string // shown by a viewer that is pointed at it
}

// stripPlot is a figure with a strip of dots for each group.
type stripPlot struct {
	title, unit string
	low, high   float64
	step        float64 // between the lines of the grid
	log         bool    // which has a line at each power of ten
	line        float64 // emphasised; 0 for none
	points      []plotPoint
}

var plotColours = []string{"#0b6e99", "#c2571a", "#5b8c2a", "#7a4fa3"}

// write writes the figure as SVG. The same points give the same bytes.
func (p stripPlot) write(w io.Writer) error {
	const left, top, strip, height, bottom = 60.0, 40.0, 100.0, 300.0, 60.0
	var groups, kinds []string
	for _, x := range p.points {
		if !slices.Contains(groups, x.group) {
			groups = append(groups, x.group)
		}
		if !slices.Contains(kinds, x.kind) {
			kinds = append(kinds, x.kind)
		}
	}
	slices.Sort(kinds)
	width := left + strip*float64(len(groups)) + 40
	at := func(v float64) float64 {
		v = min(max(v, p.low), p.high)
		share := (v - p.low) / (p.high - p.low)
		if p.log {
			share = math.Log(v/p.low) / math.Log(p.high/p.low)
		}
		return top + height*(1-share)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12">`+"\n", width, top+height+bottom)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="%g" y="20" font-size="14">%s</text>`+"\n", left, html.EscapeString(p.title))
	var lines []float64
	if p.log {
		for v := p.low; v <= p.high*1.0001; v *= 10 {
			lines = append(lines, v)
		}
	} else {
		for i := 0; p.low+float64(i)*p.step <= p.high+p.step/100; i++ {
			lines = append(lines, p.low+float64(i)*p.step)
		}
	}
	for _, v := range lines {
		fmt.Fprintf(&b, `<path d="M%g %.1fH%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%g</text>`+"\n", left, at(v), width-40, left-6, at(v)+4, math.Round(v*1e6)/1e6)
	}
	fmt.Fprintf(&b, `<text x="14" y="%g" transform="rotate(-90 14 %[1]g)" text-anchor="middle">%s</text>`+"\n", top+height/2, html.EscapeString(p.unit))
	if p.line > 0 {
		fmt.Fprintf(&b, `<path d="M%g %.1fH%g" stroke="#900" stroke-dasharray="4 3"/><text x="%g" y="%.1f" fill="#900">%g</text>`+"\n", left, at(p.line), width-40, width-36, at(p.line)+4, p.line)
	}
	for i, group := range groups {
		x := left + strip*float64(i)
		fmt.Fprintf(&b, `<path d="M%g %gV%g" stroke="#eee"/><text x="%g" y="%g" text-anchor="middle">%s</text>`+"\n", x, top, top+height, x+strip/2, top+height+18, html.EscapeString(group))
		var of []plotPoint
		for _, q := range p.points {
			if q.group == group {
				of = append(of, q)
			}
		}
		for j, q := range of {
			colour := plotColours[slices.Index(kinds, q.kind)%len(plotColours)]
			fill := "none"
			if q.filled {
				fill = colour
			}
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="4.5" stroke="%s" stroke-width="1.5" fill="%s" fill-opacity="0.75"><title>%s: %.3g %s</title></circle>`+"\n",
				x+strip*(float64(j)+1)/(float64(len(of))+1), at(q.value), colour, fill, html.EscapeString(q.label), q.value, html.EscapeString(p.unit))
		}
	}
	for i, kind := range kinds {
		x := left + 90*float64(i)
		fmt.Fprintf(&b, `<circle cx="%g" cy="%g" r="4.5" fill="%s"/><text x="%g" y="%g">%s</text>`+"\n", x+6, top+height+42, plotColours[i%len(plotColours)], x+16, top+height+46, html.EscapeString(kind))
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g">filled: with ECN; hollow: without</text>`+"\n</svg>\n", left+90*float64(len(kinds)), top+height+46)
	_, err := io.WriteString(w, b.String())
	return err
}
