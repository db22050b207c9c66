// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"context"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/settings"
)

// waiter is an Application that comes after others.
type waiter struct {
	Follower
	// known tells whether it is in a circle; nil if nothing does.
	known KnownSets
	// changed and compared are the positions of its change and of its comparison.
	changed, compared uint64
}

// reading reads what there is of a name, live or not.
type reading struct {
	named func(name types.NamespacedName) (Named, error)
	live  bool
}

// follow decides about a write that the steps let through, as far as it comes after others: d is what the steps say. On
// an error there is no decision.
func (j *Judge) follow(
	ctx context.Context, w *Write, in policy.Input, set *argocd.ApplicationSet, after settings.After, d policy.Decision,
) (policy.Decision, error) {
	if d.Outcome == policy.Deny || !after.Waits() || !policy.Follows(in) {
		return d, nil
	}
	target := waiter{
		Follower: FollowerOf(cmp.Or(w.lender, set), w.Target.Name), known: j.Known, changed: j.changed(w),
		compared: j.Histories.ComparedAt(w.UID, w.Target.ReconciledAt),
	}
	return j.followed(in, d, after, target, reading{live: true, named: func(name types.NamespacedName) (Named, error) {
		return j.Live.Named(ctx, name)
	}})
}

// FollowKnown decides about the sync that an Application waits for in the same way, by what is known without a read. in
// is the completed input of that sync, and s are the Settings of its ApplicationSet.
func (j *Judge) FollowKnown(
	in policy.Input, d policy.Decision, set *argocd.ApplicationSet, s settings.Settings, p *argocd.Projection,
	known KnownSets,
) policy.Decision {
	if d.Outcome == policy.Deny || !policy.Follows(in) {
		return d
	}
	own, _ := j.Parser.OfApplication(p.Object().Namespace, p.Annotations)
	after := s.After.And(own).And(j.afterOf(p.Lender))
	if !after.Waits() {
		return d
	}
	target := waiter{
		Follower: FollowerOf(cmp.Or(p.Lender, set), p.Name), known: known,
		changed:  j.Histories.Changed(p.UID, in.Target.Compared, p.Compared),
		compared: j.Histories.ComparedAt(p.UID, in.Target.ReconciledAt),
	}
	d, _ = j.followed(in, d, after, target, reading{named: func(name types.NamespacedName) (Named, error) {
		return NamedKnown(known, name), nil
	}})
	return d
}

// followed decides by what a reading gives of the names.
func (j *Judge) followed(
	in policy.Input, d policy.Decision, after settings.After, w waiter, read reading,
) (policy.Decision, error) {
	named, err := readAll(after.Names, read)
	if err != nil {
		return policy.Decision{}, err
	}
	var all []policy.Dependency
	for i, name := range after.Names {
		dep := named[i].Dependency(name, j.Parser, func(p *argocd.Projection) policy.Past {
			return j.Histories.Past(p.UID, w.changed, w.compared)
		})
		if w.known != nil {
			dep.Circle = func() string { return w.Circle(j.Parser, w.known, name) }
		}
		all = append(all, dep)
	}
	return policy.Follow(in, d, all, after.Unreadable), nil
}

// mostAtOnce is how many names are read live at a time.
const mostAtOnce = 5

// readAll reads what there is of each name, in their order. Live reads run side by side: a write waits for the slowest,
// and not for their sum. The error is that of the first name that could not be read.
func readAll(names []types.NamespacedName, read reading) ([]Named, error) {
	all, errs := make([]Named, len(names)), make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(mostAtOnce)
	for i, name := range names {
		one := func() error {
			all[i], errs[i] = cluster.Recovered(func() (Named, error) { return read.named(name) })
			return nil
		}
		if !read.live || len(names) == 1 {
			_ = one()
			continue
		}
		group.Go(one)
	}
	_ = group.Wait()
	return all, cmp.Or(errs...)
}
