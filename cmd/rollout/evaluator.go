// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

// Evaluator evaluates the rule on objects that have just been read live, or that a watch has brought. It reads nothing
// itself.
type Evaluator struct{ known Known }

// NewEvaluator returns an Evaluator.
func NewEvaluator(known Known) *Evaluator { return &Evaluator{known: known} }

var _ judge.Evaluator = (*Evaluator)(nil)

// ApplicationSet implements webhook.Evaluator.
func (e *Evaluator) ApplicationSet(_ context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	set, _ := e.known.Set(name)
	return set, nil
}

// Named implements webhook.Evaluator.
func (e *Evaluator) Named(_ context.Context, name types.NamespacedName) (judge.Named, error) {
	return judge.NamedKnown(e.known, name), nil
}

// Evaluate implements webhook.Evaluator.
func (e *Evaluator) Evaluate(_ context.Context, in policy.Input, open policy.Decision) (policy.Decision, error) {
	in.Siblings = nil
	for _, p := range e.known.Owned(types.UID(in.ApplicationSet.UID)) {
		in.Siblings = append(in.Siblings, in.ApplicationSet.Sibling(&p.Application))
	}
	return policy.Weigh(in, open), nil
}
