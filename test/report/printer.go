// Package report prints what the commands of test/ report: wrapped and in colours in a terminal, else as it is.
package report

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// The ways to paint.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Yellow = "33"
	Green  = "32"
)

// Printer prints lines.
type Printer struct {
	w      io.Writer
	colour bool
	width  int
}

// Write prints bytes as they are.
func (p *Printer) Write(text []byte) (int, error) { return p.w.Write(text) }

// New returns a Printer for a file. There are no colours outside a terminal, and none when NO_COLOR is set.
func New(file *os.File) *Printer {
	if !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return To(file)
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0
	}
	return &Printer{w: file, colour: os.Getenv("NO_COLOR") == "", width: width}
}

// To returns a Printer without colours.
func To(w io.Writer) *Printer { return &Printer{w: w} }

// Wrap breaks a text at spaces, and indents all lines but the first. No character of it is lost or added but the
// breaks.
func (p *Printer) Wrap(text string, indent int) string {
	room := p.width - indent
	if p.width == 0 || room < 30 {
		return text
	}
	var lines []string
	for len(text) > room {
		cut := strings.LastIndex(text[:room+1], " ")
		if cut <= 0 {
			break
		}
		lines = append(lines, text[:cut])
		text = text[cut+1:]
	}
	return strings.Join(append(lines, text), "\n"+strings.Repeat(" ", indent))
}

// Paint colours a text.
func (p *Printer) Paint(code, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Line prints a line.
func (p *Printer) Line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, format+"\n", args...)
}

// Heading prints a heading.
func (p *Printer) Heading(text string) {
	p.Line("\n%s", p.Paint(Bold, text))
	p.Line("%s", strings.Repeat("-", len(text)))
}
