// SPDX-License-Identifier: Apache-2.0

package history

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/ledger"
)

//go:embed history.html.tmpl
var layout string

// HTML writes a History as a page that needs nothing else: no script, no style sheet and no picture of its own.
func HTML(out io.Writer, h *History) error {
	now := h.ReadAt.Time
	t, err := template.New("history").Funcs(template.FuncMap{
		"clock": clock, "short": short, "where": where, "text": policy.ClientText,
		"span":    span,
		"took":    func(r ledger.Rollout) string { return span(took(&r, now)) },
		"after":   func(r ledger.Rollout, at time.Time) string { return after(&r, at) },
		"cell":    func(s ledger.Step) string { return cell(&s) },
		"title":   func(s ledger.Step) string { return strings.ToUpper(s.Name()[:1]) + s.Name()[1:] },
		"longest": func(s ledger.Step) *ledger.Wait { return longest(&s, now) },
		"waited":  func(w *ledger.Wait) string { return span(w.Took(now)) },
		"result": func(r ledger.Rollout) string {
			return results[r.Result].sign + " " + results[r.Result].word
		},
		"newest": func(all []ledger.Rollout) []ledger.Rollout {
			all = slices.Clone(all)
			slices.Reverse(all)
			return all
		},
		"repair": func(f ledger.Failure) string { return span(f.RepairedAt.Sub(f.At)) },
	}).Parse(layout)
	if err != nil {
		return err
	}
	return t.Execute(out, h)
}
