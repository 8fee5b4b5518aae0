package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// table is text in columns. Those whose heading begins with a space are set to the
// right.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

func (t *table) write(w *strings.Builder) {
	head := make([]string, len(t.head))
	width := make([]int, len(t.head))
	for i, h := range t.head {
		head[i] = strings.TrimPrefix(h, " ")
		width[i] = utf8.RuneCountInString(head[i])
		for _, row := range t.rows {
			width[i] = max(width[i], utf8.RuneCountInString(row[i]))
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for i, c := range cells {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if strings.HasPrefix(t.head[i], " ") {
				c = pad + c
			} else {
				c += pad
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(c)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	line(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = strings.Repeat("-", width[i])
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
}
