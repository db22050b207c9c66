// SPDX-License-Identifier: Apache-2.0

// Package report prints what the commands of test/ report: wrapped and in colours in a terminal, else as it is.
package report

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stepgate/stepgate/cmd/screen"
)

// Printer prints lines.
type Printer struct {
	io.Writer
	screen screen.Screen
}

// New returns a Printer for a file.
func New(file *os.File) *Printer { return &Printer{file, screen.Of(file, os.Getenv)} }

// To returns a Printer without colours.
func To(w io.Writer) *Printer { return &Printer{Writer: w} }

// Wrap breaks a text at spaces, and indents all lines but the first. Outside a terminal it stays as it is.
func (p *Printer) Wrap(text string, indent int) string {
	if p.screen.Width-indent < 30 {
		return text
	}
	margin := strings.Repeat(" ", indent)
	return strings.TrimPrefix(strings.Join(p.screen.Wrap(margin, margin, text), "\n"), margin)
}

// Paint gives a text a style.
func (p *Printer) Paint(style screen.Style, text string) string { return p.screen.Paint(style, text) }

// Line prints a line.
func (p *Printer) Line(format string, args ...any) {
	_, _ = fmt.Fprintf(p, format+"\n", args...)
}

// Heading prints a heading.
func (p *Printer) Heading(text string) {
	p.Line("\n%s", p.Paint(screen.Bold, text))
	p.Line("%s", strings.Repeat("-", len(text)))
}
