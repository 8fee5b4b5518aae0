package study

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/aqmkit/aqmkit/internal/cmdline"
)

// Report is what a study has to show.
type Report struct {
	Title    string
	Lead     string // what was run, in a few sentences
	Claims   []Claim
	Sections []Section
}

// Section is a part of a report.
type Section struct {
	Title   string
	Text    string
	Tables  []Table
	Figures []Figure
	Aside   bool // folded, on the page
}

// Table is a table; its cells are text.
type Table struct {
	Title   string
	Note    string
	Columns []string
	Rows    [][]string
}

// Long reports whether the table is folded, on the page.
func (t Table) Long() bool { return len(t.Rows) > 12 }

// WriteText writes the table for a terminal: columns of text flush left, those of
// numbers flush right.
func (t *Table) WriteText(w io.Writer) error {
	rows := append([][]string{t.Columns}, t.Rows...)
	width, text := make([]int, len(t.Columns)), make([]bool, len(t.Columns))
	for i, row := range rows {
		for k, cell := range row[:min(len(row), len(width))] {
			width[k] = max(width[k], utf8.RuneCountInString(cell))
			text[k] = text[k] || k == 0 || i > 0 && cell != "" && !strings.ContainsAny(cell[:1], "+-0123456789.")
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.Title)
	for _, row := range rows {
		line := ""
		for k, cell := range row[:min(len(row), len(width))] {
			pad := strings.Repeat(" ", width[k]-utf8.RuneCountInString(cell))
			if text[k] {
				line += "  " + cell + pad
			} else {
				line += "  " + pad + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if t.Note != "" {
		fmt.Fprintf(&b, "%s\n", t.Note)
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// WriteText writes the tables and a line for each claim.
func (r *Report) WriteText(w io.Writer, o Options) error {
	fmt.Fprintf(w, "%s\n%s\n\n", r.Title, r.Lead)
	for _, s := range r.Sections {
		for i := range s.Tables {
			if err := s.Tables[i].WriteText(w); err != nil {
				return err
			}
		}
	}
	return r.WriteClaims(w, o)
}

// WriteClaims writes a line for each claim.
func (r *Report) WriteClaims(w io.Writer, o Options) error {
	if !o.Full && len(r.Claims) > 0 {
		fmt.Fprintln(w, "Indicative only: the full profile judges.")
	}
	for _, c := range r.Claims {
		if _, err := fmt.Fprintf(w, "%-4s %-9s  %s\n", c.ID, c.Verdict, c.Numbers); err != nil {
			return err
		}
	}
	return nil
}

// WriteMarkdown writes the claims and tables for a document, with links to the
// figures in a folder beside it.
func (r *Report) WriteMarkdown(w io.Writer, o Options) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s\n\n## Claims (%s profile)\n\n", r.Title, r.Lead, o.Profile())
	for _, c := range r.Claims {
		fmt.Fprintf(&b, "- **%s %s**: %s\n  %s\n", c.ID, c.Verdict, c.Text, c.Numbers)
		for _, p := range c.Parts {
			aside := ""
			if p.Aside {
				aside = " (aside)"
			}
			fmt.Fprintf(&b, "  - %s%s: %s. %s\n", p.Verdict, aside, p.Text, p.Numbers)
		}
	}
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.Title, s.Text)
		for _, t := range s.Tables {
			fmt.Fprintf(&b, "\n%s\n\n| %s |\n|%s\n", t.Title, strings.Join(t.Columns, " | "), strings.Repeat(" --- |", len(t.Columns)))
			for _, row := range t.Rows {
				fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			}
			if t.Note != "" {
				fmt.Fprintf(&b, "\n%s\n", t.Note)
			}
		}
		for _, f := range s.Figures {
			fmt.Fprintf(&b, "\n![%s](figures/%s.svg)\n\n%s\n", f.Title, f.Name, f.Caption)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

//go:embed report.html
var pageText string

var page = template.Must(template.New("report").Parse(pageText))

// WriteHTML writes one page with everything in it, to be read offline.
func (r *Report) WriteHTML(w io.Writer, out *Output) error {
	type figure struct {
		Figure
		Source template.URL
	}
	type section struct {
		Section
		Drawn []figure
	}
	var parameters bytes.Buffer
	if err := json.Indent(&parameters, out.Parameters, "", "  "); err != nil {
		return err
	}
	data := struct {
		*Report
		Output     *Output
		Parameters string
		Drawn      []section
	}{Report: r, Output: out, Parameters: parameters.String()}
	for _, s := range r.Sections {
		drawn := section{Section: s}
		for i := range s.Figures {
			svg, err := s.Figures[i].SVG()
			if err != nil {
				return err
			}
			source := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg)
			drawn.Drawn = append(drawn.Drawn, figure{s.Figures[i], template.URL(source)}) //nolint:gosec // our own drawing
		}
		data.Drawn = append(data.Drawn, drawn)
	}
	return page.Execute(w, data)
}

// WriteDir fills a folder: index.html, report.md, results.json, and figures as SVG and
// PNG. index.html comes last.
func (r *Report) WriteDir(dir string, out *Output) error {
	if err := os.MkdirAll(filepath.Join(dir, "figures"), 0o755); err != nil {
		return fmt.Errorf("the report's folder cannot be made: %w", err)
	}
	for _, s := range r.Sections {
		for i := range s.Figures {
			f := &s.Figures[i]
			for ending, drawing := range map[string]func() ([]byte, error){"svg": f.SVG, "png": f.PNG} {
				b, err := drawing()
				if err != nil {
					return err
				}
				if err := writeFile(filepath.Join(dir, "figures", f.Name+"."+ending), b); err != nil {
					return err
				}
			}
		}
	}
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{"results.json", out.WriteJSON},
		{"report.md", func(w io.Writer) error { return r.WriteMarkdown(w, out.Options) }},
		{"index.html", func(w io.Writer) error { return r.WriteHTML(w, out) }},
	}
	for _, f := range files {
		if err := cmdline.WriteFile(filepath.Join(dir, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, b []byte) error {
	return cmdline.WriteFile(name, func(w io.Writer) error { _, err := w.Write(b); return err })
}

// WriteJSON writes the output, a result to a line.
func (o *Output) WriteJSON(w io.Writer) error {
	head := *o
	head.Results = nil
	b, err := json.Marshal(head)
	if err != nil {
		return err
	}
	text := strings.TrimSuffix(string(b), `"results":null}`)
	if _, err := fmt.Fprintf(w, "%s\"results\":[", text); err != nil {
		return err
	}
	for i, r := range o.Results {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		comma := ","
		if i == 0 {
			comma = ""
		}
		if _, err := fmt.Fprintf(w, "%s\n%s", comma, b); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "\n]}\n")
	return err
}

// ReadOutput reads what WriteJSON wrote.
func ReadOutput(r io.Reader) (*Output, error) {
	o := &Output{}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(o); err != nil {
		return nil, err
	}
	return o, nil
}
