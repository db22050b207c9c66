// SPDX-License-Identifier: Apache-2.0

package report

import "strings"

// kind is what a line of the output of a suite becomes in a page.
type kind int

const (
	blank kind = iota
	heading
	table
	// caption is the line above a table.
	caption
	// plain is everything else: aligned columns, and the lines for programs. It goes into a fence.
	plain
)

func kindOf(line string) kind {
	switch {
	case strings.TrimSpace(line) == "":
		return blank
	case strings.HasPrefix(line, "|"):
		return table
	case strings.HasPrefix(line, "## "):
		return heading
	}
	return plain
}

// markdown makes Markdown of what a suite has printed: tables and headings as they are, and the rest in fences.
func markdown(text string) string {
	var blocks []string
	var current []string
	last := blank
	end := func() {
		if block := strings.Trim(strings.Join(current, "\n"), "\n") + "\n"; last == plain {
			blocks = append(blocks, fenced(block))
		} else if len(current) > 0 {
			blocks = append(blocks, block)
		}
		current, last = nil, blank
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		k := kindOf(line)
		if k == plain && i+1 < len(lines) && kindOf(lines[i+1]) == table {
			k = caption
		}
		// A blank line within plain text stays.
		if k != last && (k != blank || last != plain) || k == heading {
			end()
		}
		if k != blank || last == plain {
			current = append(current, line)
		}
		if k != blank {
			last = k
		}
	}
	end()
	return strings.Join(blocks, "\n")
}

// fenced has a text shown as it is.
func fenced(text string) string { return "```text\n" + strings.Trim(text, "\n") + "\n```\n" }

// hasResults says that a suite has printed more than headings.
func hasResults(text string) bool {
	for line := range strings.Lines(text) {
		if k := kindOf(line); k != blank && k != heading {
			return true
		}
	}
	return false
}

// sections are the sections of a page, each with its heading. A line inside a fence is no heading.
func sections(page string) []string {
	var all []string
	inside := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
		}
		if !inside && kindOf(line) == heading {
			all = append(all, "")
		}
		if len(all) > 0 {
			all[len(all)-1] += line
		}
	}
	return all
}
