package main

import (
	"fmt"
	"io"
	"strings"
)

// printer writes the demo's output: in a terminal with colours and wrapped, elsewhere plain, a line per answer.
type printer struct {
	w      io.Writer
	colour bool
	width  int
}

// newPrinter returns a printer; a width of 0 wraps nothing.
func newPrinter(w io.Writer, colour bool, width int) *printer {
	return &printer{w: w, colour: colour, width: width}
}

// wrap breaks a text at spaces, and indents all lines but the first. No character of it is lost or added but the breaks.
func (p *printer) wrap(text string, indent int) string {
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

const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

func (p *printer) paint(code, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *printer) heading(text string) {
	p.line("\n%s", p.paint(bold, text))
	p.line("%s", strings.Repeat("-", len(text)))
}

func (p *printer) progress(text string) { p.line("  starting %s", text) }

// write shows one write and its answer.
func (p *printer) write(n int, who, what string, answer answer) {
	p.line("\n%3d  %s %s", n, p.paint(bold, fmt.Sprintf("%-24s", who)), what)
	verdict := p.paint(green, "admitted")
	if answer.err != nil {
		verdict = p.paint(red, "DENIED  ")
	}
	p.line("     -> %s  %s", verdict, p.wrap(answer.text(), 18))
	for _, w := range answer.warnings {
		p.line("        Warning: %s", p.wrap(w, 17))
	}
	if answer.unexpected {
		p.line("     %s", p.paint(red, "!! UNEXPECTED: this is not what stepgate promises"))
	}
}

func (p *printer) note(text string) { p.line("\n     %s", p.paint(dim, "# "+text)) }
