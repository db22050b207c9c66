package main

import (
	"fmt"
	"io"
	"strings"
)

// printer writes the demo's output: with colours in a terminal, plain elsewhere.
type printer struct {
	w      io.Writer
	colour bool
}

func newPrinter(w io.Writer, colour bool) *printer { return &printer{w: w, colour: colour} }

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
	p.line("\n%3d  %-24s %s", n, p.paint(bold, who), what)
	verdict := p.paint(green, "admitted")
	if answer.err != nil {
		verdict = p.paint(red, "DENIED  ")
	}
	p.line("     -> %s  %s", verdict, answer.text())
	for _, w := range answer.warnings {
		p.line("        Warning: %s", w)
	}
	if answer.unexpected {
		p.line("     %s", p.paint(red, "!! UNEXPECTED: this is not what stepgate promises"))
	}
}

func (p *printer) note(text string) { p.line("\n     %s", p.paint(dim, "# "+text)) }
