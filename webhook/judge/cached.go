// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Remembered is what is known without a read about a write that has to be changed, as a member of its ApplicationSet, with
// what the watches have seen: so the Mutator goes by the same step as the Gate. Nothing is changed but in enforce mode.
// A write that adopts an Application has two owners; one that is gone, or that is not known, has no say.
func (j *Judge) Remembered(w *Write, known KnownSets) (in policy.Input, ok bool) {
	if d, settled := policy.Relevant(w.Target); settled && d.Reason != policy.DryRunOperation {
		return in, false
	}
	var sets []*argocd.ApplicationSet
	for _, owner := range w.Owners {
		set, _ := known.Set(owner.NamespacedName)
		if set != nil && set.UID == string(owner.UID) {
			sets = append(sets, set)
		}
	}
	if len(sets) != 1 {
		return in, false
	}
	set := sets[0]
	w = w.In(set.Namespace)
	if order := j.OrderOf(set, known); order != nil {
		w, set = w.Lent(set), order
	}
	s := j.Parser.OfWrite(set, w.Claim())
	after, _ := j.After(w, s)
	in = j.Input(w, &set.ApplicationSet, s, after)
	in.History = j.History(w, &set.ApplicationSet)
	return in, s.Mode == settings.Enforce
}
