// SPDX-License-Identifier: Apache-2.0

package audit

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed report.html.tmpl
var page string

// mostTimelines bounds the rollouts that the page shows.
const mostTimelines = 100

// htmlPage is what the page shows.
type htmlPage struct {
	*Report
	Headline, Extent, Project string
	Sets                      []htmlSet
	Limits                    []string
	Next                      bool
}

// htmlSet is an ApplicationSet with the rollouts that are shown: those out of order, then those by hand, then those
// that may be.
type htmlSet struct {
	*ApplicationSet
	Shown []htmlRollout
	More  int
}

type htmlRollout struct {
	*Rollout
	Title, Note string
	Timeline    *timeline
}

// HTML writes the report as a page that needs nothing else: no script, no style sheet and no picture of its own.
func HTML(out io.Writer, r *Report) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"clock": clock, "span": span, "short": short, "count": count, "partial": partial,
	}).Parse(page)
	if err != nil {
		return err
	}
	p := htmlPage{Report: r, Headline: headline(r), Extent: extent(r), Project: project, Limits: limits(), Next: r.Found()}
	left := mostTimelines
	for i := range r.ApplicationSets {
		s := htmlSet{ApplicationSet: &r.ApplicationSets[i]}
		s.choose(&left)
		p.Sets = append(p.Sets, s)
	}
	return t.Execute(out, p)
}

// choose picks the rollouts that are shown, as long as there is room.
func (s *htmlSet) choose(left *int) {
	for _, wanted := range []Verdict{OutOfOrder, ByHand, Unclear} {
		for i := range s.Rollouts {
			r := &s.Rollouts[i]
			if r.Verdict != wanted || wanted == Unclear && r.Reason != MayHaveWaited {
				continue
			}
			if *left == 0 {
				s.More++
				continue
			}
			*left--
			s.Shown = append(s.Shown, htmlRollout{Rollout: r, Title: title(r), Note: note(r), Timeline: draw(r)})
		}
	}
}

func title(r *Rollout) string {
	return map[Verdict]string{OutOfOrder: "✖ out of order", ByHand: "⚠ by hand", Unclear: "◌ unclear"}[r.Verdict]
}

// note says why a rollout is unclear.
func note(r *Rollout) string {
	if r.Verdict != Unclear {
		return ""
	}
	return r.Example.Later + " and " + r.Example.Earlier + ": " + r.Reason.Text() + "."
}

// Where is the source of a rollout.
func (r htmlRollout) Where() string { return where(r.Rollout) }

// Sentences say who started before whom.
func (r htmlRollout) Sentences() []string {
	var all []string
	for _, e := range r.Early {
		all = append(all, e.sentence()+".")
	}
	return slices.Clip(all)
}

// Alt is the timeline in words.
func (r htmlRollout) Alt() string {
	return "Timeline of the syncs of " + short(r.Revision) + ". " + strings.Join(r.Sentences(), " ")
}
