// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// SiblingReader reads an ApplicationSet and its Applications. cluster.Reader is one.
type SiblingReader interface {
	// ApplicationSet reads an ApplicationSet live; nil without an error means that it does not exist.
	ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error)
	// Known returns the siblings as last watched, without a read. They may be out of date. Callers share the slice.
	Known(set *policy.ApplicationSet) []policy.Sibling
	// Application reads one Application of the ApplicationSet live; nil without an error means that there is none.
	Application(ctx context.Context, set *policy.ApplicationSet, name string) (*argocd.Projection, error)
	// Alone reads an Application live, whoever controls it; nil without an error means that it does not exist.
	Alone(ctx context.Context, name types.NamespacedName) (*argocd.Projection, error)
	// Members returns all live Applications of an ApplicationSet.
	Members(ctx context.Context, set *policy.ApplicationSet) ([]*argocd.Projection, error)
	// Current returns the live siblings of the steps before step: the slice of Known where that proves to be current. It
	// does not read known siblings that are current, nor one that has just been read; read may be nil.
	Current(ctx context.Context, set *policy.ApplicationSet, step int, read *argocd.Projection) ([]policy.Sibling, error)
}

// LiveEvaluator evaluates the rule on live siblings. The watches' knowledge may only make a decision stricter or
// cheaper; only a live read makes it more permissive:
//
//   - One live GET confirms a known blocker. With the read of the ApplicationSet, a denial costs two reads, whatever the
//     number of siblings.
//   - Otherwise the decision is made from the siblings that a live LIST shows to be current. An allow rests on that alone.
type LiveEvaluator struct{ reader SiblingReader }

// NewLiveEvaluator returns a LiveEvaluator.
func NewLiveEvaluator(reader SiblingReader) *LiveEvaluator { return &LiveEvaluator{reader: reader} }

// ApplicationSet reads an ApplicationSet live; nil without an error means that it does not exist.
func (e *LiveEvaluator) ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	return e.reader.ApplicationSet(ctx, name)
}

// Evaluate decides on the siblings as the API server holds them now. It ignores the input's Siblings. open is what
// policy.Scope says of the input, without settling it. On an error there is no decision.
func (e *LiveEvaluator) Evaluate(ctx context.Context, in policy.Input, open policy.Decision) (policy.Decision, error) {
	in.Siblings = e.reader.Known(in.ApplicationSet)
	byKnown := policy.Weigh(in, open)
	d, read, err := e.confirm(ctx, in, open, byKnown)
	if err != nil || len(d.Blockers) > 0 {
		return d, err
	}
	current, err := e.current(ctx, in, open.Step, read)
	switch {
	case err != nil:
		return policy.Decision{}, err
	case same(current, in.Siblings):
		return byKnown, nil
	}
	in.Siblings = current
	return policy.Weigh(in, open), nil
}

// same reports whether two slices are one.
func same(a, b []policy.Sibling) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// current reads the siblings that decide. Before step 1 there are none.
func (e *LiveEvaluator) current(
	ctx context.Context, in policy.Input, step int, read *argocd.Projection,
) ([]policy.Sibling, error) {
	steps := policy.StepsToRead(in, step)
	if steps == 0 {
		return nil, nil
	}
	return e.reader.Current(ctx, in.ApplicationSet, steps, read)
}

// confirm denies if the first blocker of what is known, which is d, is still one when it is read live. It reads only that
// one: the other blockers of the denial are as last watched. Without blockers there is no decision yet; read is then the
// Application that it read. Failures are counted, and one of them proves nothing.
func (e *LiveEvaluator) confirm(
	ctx context.Context, in policy.Input, open, d policy.Decision,
) (confirmed policy.Decision, read *argocd.Projection, err error) {
	if len(d.Blockers) == 0 || d.Reason == policy.TooManyFailures {
		return policy.Decision{}, nil, nil
	}
	first := d.Blockers[0]
	if _, is := policy.SetNamed(first.Application); !is { // an ApplicationSet has been read with the order
		if read, err = e.reader.Application(ctx, in.ApplicationSet, first.Application); err != nil {
			return policy.Decision{}, nil, err
		}
	}
	var sibling *policy.Application
	if read != nil {
		sibling = &read.Application
	}
	if b, blocks := policy.BlockedBy(in, open.Step, first.Application, sibling); blocks && b.Step == first.Step {
		return d.Confirmed(b), read, nil
	}
	return policy.Decision{}, read, nil
}

// InSteps gives Applications their steps of an ApplicationSet.
func InSteps(set *policy.ApplicationSet, known []*argocd.Projection) []policy.Sibling {
	all := make([]policy.Sibling, 0, len(known))
	for _, p := range known {
		all = append(all, set.Sibling(&p.Application))
	}
	return all
}
