// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// Outlook is one ApplicationSet at one moment. It parses the annotations once, and decides once about all Applications
// that are alike. It is for one goroutine.
type Outlook struct {
	Set      *argocd.ApplicationSet
	Settings settings.Settings
	// Applications are those of the ApplicationSet, by name: the first of some that are alike is the same each time.
	Applications []*argocd.Projection
	// Input is what the rule judges them by, without a target.
	Input policy.Input

	judge *judge.Judge
	known judge.KnownSets
	view  *slots.View
	// seen are the slots of the steps; nil if nobody keeps maxUpdate there.
	seen   *slots.Seen
	weigh  Weigh
	keys   *policy.Keys
	judged map[policy.Key]*alike
	toCome map[string]*Sync
}

// Weigh is policy.Weigh.
type Weigh func(in policy.Input, open policy.Decision) policy.Decision

// New returns the Outlook of an ApplicationSet, or of an Application that has the form of one. A View tells who has the
// slots of its steps.
func New(j *judge.Judge, set *argocd.ApplicationSet, known judge.KnownSets, view *slots.View) *Outlook {
	return Weighing(policy.Weigh, j, set, known, view)
}

// Weighing is New with another policy.Weigh.
func Weighing(
	weigh Weigh, j *judge.Judge, set *argocd.ApplicationSet, known judge.KnownSets, view *slots.View,
) *Outlook {
	o := &Outlook{
		Set: set, Settings: j.Parser.Of(set), judge: j, known: known, view: view, weigh: weigh,
		judged: map[policy.Key]*alike{},
	}
	o.Applications = slices.SortedFunc(slices.Values(known.Owned(types.UID(set.UID))), func(a, b *argocd.Projection) int {
		return cmp.Compare(a.Name, b.Name)
	})
	now := j.Histories.Position()
	o.Input = policy.Input{
		ApplicationSet: &set.ApplicationSet, Settings: o.Settings.Settings, Now: j.Clock.Now(),
		Siblings: judge.InSteps(&set.ApplicationSet, o.Applications), Evidence: j.KnownEvidence(o.Settings),
		History: j.Histories.History(&set.ApplicationSet, now, now),
	}
	o.keys = policy.NewKeys(o.Input.Siblings)
	if j.Config.MaxUpdate && o.Settings.Mode == settings.Enforce {
		o.seen = view.Look(set, o.Applications)
	}
	return o
}

// WithoutBypass is the Outlook as it would be if nobody had switched the rule off for a while.
func (o *Outlook) WithoutBypass() *Outlook {
	gated := *o
	gated.Input.Settings.Bypassed, gated.judged, gated.toCome = false, map[policy.Key]*alike{}, nil
	return &gated
}
