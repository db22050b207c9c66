// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestNothingStartsEarly goes through all histories of fewer events: make prove has those of 8.
func TestNothingStartsEarly(t *testing.T) {
	more := 1
	if testing.Short() {
		more = 0
	}
	for name, plan := range map[string]Plan{
		"pinned to the compared revision":    Plan{}.With(settings.PinCompared, false, 4+more),
		"pinned to the newest candidate":     Plan{}.With(settings.PinCandidate, false, 4+more),
		"with everything that goes wrong":    Plan{}.With(settings.PinCompared, true, 3+more),
		"with that, and to the newest of it": Plan{}.With(settings.PinCandidate, true, 3+more),
	} {
		t.Run(name, func(t *testing.T) {
			plan.Commits = 2
			f := Explore(plan)
			t.Logf("%d events: %d states, %d of them for stepgate, %d writes judged, %d by the handlers as well, in %s",
				f.Events, f.States, f.Visible, f.Judged, f.Confirmed, f.Took)
			g := NewWithT(t)
			g.Expect(f.Early).To(BeNil(), "%s", f.Early)
			g.Expect(f.Events).To(Equal(plan.Events))
			g.Expect(f.States).To(BeNumerically(">", 1500))
			g.Expect(f.Confirmed).To(BeNumerically(">", 5))
		})
	}
}

// TestADamageIsFound takes something away that a decision rests on. The shortest history is found.
func TestADamageIsFound(t *testing.T) {
	sibling := func(change func(app *policy.Application)) Rule {
		return Rule{Live: func(live, _ *argocd.Projection) *argocd.Projection {
			damaged := *live
			change(&damaged.Application)
			return &damaged
		}}
	}
	for name, tc := range map[string]struct {
		rule   Rule
		wide   bool
		events int
		last   string
	}{
		"there is no rule": {Rule{Open: true}, false, 0, "prod starts a sync by the ApplicationSet controller of c1"},
		"siblings are those of the watch": {
			Rule{Live: func(_, known *argocd.Projection) *argocd.Projection { return known }}, true, 2,
			"qa starts a sync by the ApplicationSet controller of c1",
		},
		"a failure is forgotten": {
			sibling(func(app *policy.Application) { app.LastFull.Phase = "Succeeded" }), false, 3,
			"qa starts a sync by the ApplicationSet controller of c1",
		},
		"health is forgotten": {
			sibling(func(app *policy.Application) { app.Health = "Healthy" }), false, 3,
			"prod starts a sync by the ApplicationSet controller of c1",
		},
		"a comparison may be of before the sync": {
			sibling(func(app *policy.Application) { app.LastFull.FinishedAt = time.Time{} }), false, 5,
			"qa starts a sync by the ApplicationSet controller of c1",
		},
		"something counts as completed that was not": {
			Rule{Pin: settings.PinCandidate, Start: true, Past: remembering()}, false, 0,
			"prod starts a sync by the ApplicationSet controller of c1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := Explore(Plan{Rule: tc.rule, Wide: tc.wide, Events: tc.events, Commits: 2})
			g := NewWithT(t)
			g.Expect(f.Early).NotTo(BeNil())
			t.Logf("\n%s", f.Early)
			g.Expect(f.Early.Events[len(f.Early.Events)-1]).To(ContainSubstring(tc.last))
		})
	}
}

// remembering takes the first commit for the second one in what an Application has completed last.
func remembering() func(past *policy.Past) {
	return func(past *policy.Past) {
		if len(past.Completions) == 0 {
			return
		}
		last := past.Completions[len(past.Completions)-1]
		next := slices.Clone(last.Sources)
		next[0].Revision = strings.Replace(next[0].Revision, "c0", "c1", 1)
		last.Sources = next
		past.Completions = append(slices.Clone(past.Completions), last)
	}
}
