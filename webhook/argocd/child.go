// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"maps"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// Child is what an ApplicationSet is to the parent Application that deploys it: its Applications count as itself in the
// order that the parent may give.
type Child struct {
	// Owner and Set are the UID and the name of that order, as those of a Projection without a controller.
	Owner types.UID
	Set   string
	// Wave is its sync wave, as policy.WaveLabel has it; empty for wave 0.
	Wave string
}

// childOf is what an ApplicationSet is to its parent of its own namespace by Argo CD's tracking; nil if it has none.
func (t Tracking) childOf(set *argo.ApplicationSet) *Child {
	tracking := set.Annotations[common.AnnotationKeyAppInstance]
	parent := t.parentOf("ApplicationSet", set.Namespace, set.Name, set.Labels, tracking)
	if parent.Name == "" {
		return nil
	}
	return &Child{
		Owner: UIDOfParent(parent.Namespace, parent.Name), Set: policy.NameOfParent(parent.Name),
		Wave: withWave(nil, set.Annotations[synccommon.AnnotationSyncWave])[policy.WaveLabel],
	}
}

// Counts is how the Applications of an ApplicationSet count in the order of its parent: as itself. It is nil where it
// has no parent, and where it gives an order of its own: its Applications are then no members of its parent's order,
// which neither holds them up nor waits for them.
func (s *ApplicationSet) Counts() *Child {
	if s.Ordered() {
		return nil
	}
	return s.Child
}

// Lends reports whether the Applications of an ApplicationSet are members of an order.
func (s *ApplicationSet) Lends(order types.UID) bool {
	c := s.Counts()
	return c != nil && c.Owner == order
}

// WithSets is the order of a parent with those of the ApplicationSets that it deploys that are not done (policy's Sets), as
// find has them: nil for one that does not exist. What is given does not change.
func (s *ApplicationSet) WithSets(find func(name string) *ApplicationSet) *ApplicationSet {
	if s == nil || len(s.Deploys) == 0 {
		return s
	}
	with := *s
	with.Sets = map[string]policy.ChildSet{}
	for name, step := range s.Deploys {
		if c := find(name).lacks(); c != nil {
			c.Step = step
			with.Sets[policy.SetMember(name)] = *c
		}
	}
	return &with
}

// lacks is what keeps Argo CD from calling an ApplicationSet Healthy; nil if nothing does, or if it is being deleted:
// resource_customizations/argoproj.io/ApplicationSet/health.lua of argo-cd v3.5.7.
func (s *ApplicationSet) lacks() *policy.ChildSet {
	switch {
	case s == nil:
		return &policy.ChildSet{}
	case s.Deleting:
		return nil
	case s.Failing != "":
		return &policy.ChildSet{
			Detail: "it reports an error: " + s.Failing,
			Next:   "repair the ApplicationSet: kubectl get applicationset " + s.Name + " -n " + s.Namespace + " -o yaml",
		}
	case s.Progressing:
		return &policy.ChildSet{Detail: policy.OwnRollout, Next: "stepgate get " + s.Name + " -n " + s.Namespace}
	case !s.Generated:
		return &policy.ChildSet{
			Detail: policy.Unwritten,
			Next:   "wait until the ApplicationSet controller has written them",
		}
	}
	return nil
}

// Lend is an Application of an ApplicationSet as a member of the order of its parent. What is given does not change.
func (s *ApplicationSet) Lend(p *Projection) *Projection {
	lent := *p
	lent.Lender, lent.Application.Labels = s, s.Child.Labels(p.Application.Labels)
	return &lent
}

// Labels are labels of an Application with the sync wave of its ApplicationSet in place of its own. The map that is
// given does not change.
func (c *Child) Labels(labels map[string]string) map[string]string {
	switch {
	case labels[policy.WaveLabel] == c.Wave:
		return labels
	case labels == nil:
		return map[string]string{policy.WaveLabel: c.Wave}
	}
	with := maps.Clone(labels)
	if with[policy.WaveLabel] = c.Wave; c.Wave == "" {
		delete(with, policy.WaveLabel)
	}
	return with
}

// Target is the target of a write with the sync wave of its ApplicationSet in place of its own.
func (c *Child) Target(t policy.Target) policy.Target {
	t.Labels = c.Labels(t.Labels)
	if t.OldLabels != nil {
		t.OldLabels = c.Labels(t.OldLabels)
	}
	return t
}
