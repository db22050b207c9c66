// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/stepgate/stepgate/cmd/screen"

	"github.com/stepgate/stepgate/test/report"
)

// printer writes the demo's output.
type printer struct{ *report.Printer }

func (p *printer) progress(text string) { p.Line("  starting %s", text) }

// write shows one write and its answer.
func (p *printer) write(n int, who, what string, answer answer) {
	p.Line("\n%3d  %s %s", n, p.Paint(screen.Bold, fmt.Sprintf("%-24s", who)), what)
	verdict := p.Paint(screen.Good, "admitted")
	switch {
	case answer.err != nil:
		verdict = p.Paint(screen.Bad, "DENIED  ")
	case answer.held != "":
		verdict = p.Paint(screen.Busy, "HELD    ")
	}
	p.Line("     -> %s  %s", verdict, p.Wrap(answer.text(), 18))
	for _, w := range answer.warnings {
		p.Line("        Warning: %s", p.Wrap(w, 17))
	}
	if answer.unexpected {
		p.Line("     %s", p.Paint(screen.Bad, "!! UNEXPECTED: this is not what stepgate promises"))
	}
}

func (p *printer) note(text string) { p.Line("\n     %s", p.Paint(screen.Faint, "# "+text)) }
