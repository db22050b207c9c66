// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stepgate/stepgate/webhook/ledger"
)

// columns of the CSV. They keep their names and their order; columns may be added at the end.
var columns = []string{
	"applicationset", "source", "revision", "result", "compared_at", "ended_at", "step", "applications", "done",
	"started_at", "completed_at", "lead_seconds", "longest_wait_seconds", "longest_wait", "approved_by", "by_hand",
	"failures", "bypasses",
}

// CSV writes a line for each step of each rollout, with times of RFC 3339. A text that a spreadsheet would take for a
// formula begins with an apostrophe.
func CSV(out io.Writer, h *History) error {
	w := csv.NewWriter(out)
	if err := w.Write(columns); err != nil {
		return err
	}
	for _, l := range h.ApplicationSets {
		for i := range l.Rollouts {
			for j := range l.Rollouts[i].Steps {
				if err := w.Write(record(l, &l.Rollouts[i], &l.Rollouts[i].Steps[j], h.ReadAt.Time)); err != nil {
					return err
				}
			}
		}
	}
	w.Flush()
	return w.Error()
}

func record(l *ledger.Log, r *ledger.Rollout, s *ledger.Step, now time.Time) []string {
	lead, wait, waited := "", "", ""
	if !s.CompletedAt.IsZero() {
		lead = fmt.Sprintf("%.0f", s.CompletedAt.Sub(r.ComparedAt).Seconds())
	}
	if w := longest(s, now); w != nil {
		wait, waited = fmt.Sprintf("%.0f", w.Took(now).Seconds()), w.For
	}
	var approved, failures, bypasses []string
	for _, a := range s.Approvals {
		approved = append(approved, a.By+" "+stamp(a.At))
	}
	for _, f := range s.Failures {
		failures = append(failures, f.Application+" "+stamp(f.At))
	}
	for _, b := range r.Bypasses {
		bypasses = append(bypasses, b.Why)
	}
	all := []string{
		l.Set, where(r.Source), r.Revision, string(r.Result), stamp(r.ComparedAt), stamp(r.EndedAt), cell(s),
		fmt.Sprint(s.Applications), fmt.Sprint(s.Done), stamp(s.StartedAt), stamp(s.CompletedAt), lead, wait, waited,
		strings.Join(approved, "; "), strings.Join(s.By, "; "), strings.Join(failures, "; "), strings.Join(bypasses, "; "),
	}
	for i, text := range all {
		if strings.ContainsAny(text[:min(1, len(text))], "=+-@\t\r") {
			all[i] = "'" + text
		}
	}
	return all
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
