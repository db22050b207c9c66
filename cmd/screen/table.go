// SPDX-License-Identifier: Apache-2.0

package screen

import "strings"

// gap is the space between two columns.
const gap = 2

// shortest is the least width to which a column is cut.
const shortest = 8

// nameable is the width from which on a text that is cut in the middle can be told apart.
const nameable = 20

// Cell is a text with a style.
type Cell struct {
	Text  string
	Style Style
}

// Text is a cell without a style.
func Text(text string) Cell { return Cell{Text: text} }

// Column is a column of a Table.
type Column struct {
	// Title is its heading; a table without titles has no line for them.
	Title string
	// Cuts says how its cells are shortened where the screen is too narrow: not at all, at the end, or in the middle.
	// The widest ones are cut first.
	Cuts Cuts
}

// Cuts is how a cell may be shortened.
type Cuts int

// How a cell may be shortened.
const (
	Never Cuts = iota
	AtEnd
	InMiddle
)

// Table lays rows out in columns that are as wide as their widest cell, or narrower, where the screen is. It indents
// every line by a number of columns. Rows may be shorter than the list of columns.
func (s Screen) Table(indent int, columns []Column, rows [][]Cell) []string {
	titles := make([]Cell, len(columns))
	titled := false
	for i, c := range columns {
		titles[i] = Cell{Text: c.Title, Style: Bold}
		titled = titled || c.Title != ""
	}
	if titled {
		rows = append([][]Cell{titles}, rows...)
	}
	widths := s.widths(indent, columns, rows)
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		lines = append(lines, s.line(indent, columns, widths, row))
	}
	return lines
}

func (s Screen) widths(indent int, columns []Column, rows [][]Cell) []int {
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], Length(cell.Text))
		}
	}
	total := indent + gap*(len(columns)-1)
	for _, w := range widths {
		total += w
	}
	for ; s.Width > 0 && total > s.Width; total-- {
		i := widest(columns, widths)
		if i < 0 {
			break
		}
		widths[i]--
	}
	return widths
}

// widest is the column that is to be cut next; -1 if none can be. Of a text that is cut in the middle, less has to be
// seen than of one that is read.
func widest(columns []Column, widths []int) int {
	found, most := -1, 0
	for i, c := range columns {
		weight := map[Cuts]int{AtEnd: 2, InMiddle: 3}[c.Cuts] * widths[i]
		if c.Cuts == InMiddle && widths[i] <= nameable {
			weight = 1 // only if nothing else is left to be cut
		}
		if widths[i] > shortest && weight > most {
			found, most = i, weight
		}
	}
	return found
}

func (s Screen) line(indent int, columns []Column, widths []int, row []Cell) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", indent))
	for i, cell := range row {
		text := cell.Text
		switch columns[i].Cuts {
		case AtEnd:
			text = Cut(text, widths[i])
		case InMiddle:
			text = CutMiddle(text, widths[i])
		case Never:
		}
		b.WriteString(s.Paint(cell.Style, text))
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-Length(text)+gap))
		}
	}
	return strings.TrimRight(b.String(), " ")
}
