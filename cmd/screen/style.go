// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Style says what a text means. A Screen without colours shows all in the same way, so a style never carries the
// meaning alone.
type Style int

// The styles.
const (
	Plain Style = iota
	Bold
	Faint
	Good
	Busy
	Bad
)

// codes are the SGR parameters of the styles, as ECMA-48 has them: bold, faint, green, yellow, red.
var codes = map[Style]string{Bold: "1", Faint: "2", Good: "32", Busy: "33", Bad: "31"}

// Signs stand before the name of something, as in kubectl argo rollouts.
const (
	SignGood    = "✔"
	SignBusy    = "⟳"
	SignBad     = "✖"
	SignWaiting = "◌"
	SignWarning = "⚠"
)

// Paint gives a text a style.
func (s Screen) Paint(style Style, text string) string {
	if code := codes[style]; s.Colour && code != "" && text != "" {
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	return text
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Length is the number of columns that a text takes.
func Length(text string) int { return utf8.RuneCountInString(escapes.ReplaceAllString(text, "")) }

// Cut shortens a text without colours to a number of columns; 0 leaves it.
func Cut(text string, columns int) string {
	if columns <= 0 || Length(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns-1]) + "…"
}

// CutMiddle shortens a name in its middle: its ends tell names apart.
func CutMiddle(text string, columns int) string {
	runes := []rune(text)
	if columns <= 2 || len(runes) <= columns {
		return Cut(text, columns)
	}
	head := (columns - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(columns-1-head):])
}

// Wrap breaks a text at spaces, so that every line fits. The first line begins with first, and the others with rest. A
// word that is too long for a line stays whole: it may be a command to copy.
func (s Screen) Wrap(first, rest, text string) []string {
	var lines []string
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		switch {
		case empty:
			line += word
		case s.Width > 0 && Length(line)+1+Length(word) > s.Width:
			lines = append(lines, line)
			line = rest + word
		default:
			line += " " + word
		}
		empty = false
	}
	return append(lines, line)
}
