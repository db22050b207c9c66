// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/report"
)

// end prints what came of the faults, and writes the page. A run that has played no fault has a page if something else
// went wrong.
func (s *suite) end(problem error) error {
	if len(s.rows) == 0 && problem == nil {
		return nil
	}
	s.table(s.page.Printer)
	var failed []error
	for _, f := range s.rows {
		if reason := f.Reason(); reason != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.name, reason))
		}
	}
	return errors.Join(problem, s.page.Close(errors.Join(append(failed, problem)...)))
}

// table prints a row for each fault, and the notes.
func (s *suite) table(out *report.Printer) {
	if len(s.rows) == 0 {
		return
	}
	out.Line("| fault | injections | operation writes and questions | other writes | wrong allows | wrong denies | no " +
		"decision | slowest answer, of the webhook's timeout | recovery |")
	out.Line("|---|---|---|---|---|---|---|---|---|")
	var injections, calls, others, allows, denies int
	for _, f := range s.rows {
		slowest := "-"
		if f.share > 0 {
			slowest = fmt.Sprintf("%.0f %%", math.Ceil(100*f.share))
		}
		of := func(outcome load.Outcome) int { return f.writes.Count(outcome) + f.questions.Count(outcome) }
		asked := f.writes.Calls() + f.questions.Calls()
		out.Line("| %s | %d | %d | %d | %d | %d | %d | %s | %s |", f.name, f.injections, asked, f.writes.Others(),
			of(load.WrongAllow), of(load.WrongDeny), of(load.Failed), slowest, f.recovery.Round(time.Millisecond))
		injections += f.injections
		calls += asked
		others += f.writes.Others()
		allows += of(load.WrongAllow)
		denies += of(load.WrongDeny)
	}
	out.Line("| all | %d | %d | %d | %d | %d | | | |\n", injections, calls, others, allows, denies)
	for _, f := range s.rows {
		number, _, _ := strings.Cut(f.name, " ")
		for _, note := range f.notes {
			out.Line("%s: %s", number, note)
		}
	}
	peak, worst := 0.0, ""
	for _, f := range s.rows {
		if f.peak > peak {
			peak, worst = f.peak, f.name
		}
	}
	out.Line("anonymous memory of one replica: %.0f MiB at most, in %s", peak, worst)
}
