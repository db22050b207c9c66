package judge

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Cached is what is known without a read about a write that may have to be changed.
func (j *Judge) Cached(w *Write, known KnownSets) (in policy.Input, ok bool) {
	if _, settled := policy.Relevant(w.Target); settled || len(w.Owners) != 1 {
		return in, false
	}
	owner := w.Owners[0]
	set, _ := known.Set(types.NamespacedName{Namespace: w.Namespace, Name: owner.Name})
	if set == nil || set.UID != string(owner.UID) {
		return in, false
	}
	s := j.Parser.OfWrite(set, w.Claim())
	in = j.Input(w, set, s)
	return in, s.Mode == settings.Enforce && !s.Bypassed
}
