// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// AfterProblems are what is wrong with what the ApplicationSet comes after, or an Application that has its form.
func (o *Outlook) AfterProblems(application string) []settings.Problem {
	return judge.AfterProblems(o.judge.Parser, o.known, judge.FollowerOf(o.Set, application), o.Settings.After)
}

// NotDone is what is not done of a name that the ApplicationSet comes after, or with its name an Application, whatever was
// compared when.
func (o *Outlook) NotDone(application string, name types.NamespacedName) []policy.Blocker {
	n := judge.NamedKnown(o.known, name)
	dep := n.Dependency(name, o.judge.Parser, func(*argocd.Projection) policy.Past {
		return policy.Past{Freshness: policy.Fresh}
	})
	in := o.Input
	in.Target.Name = application
	return policy.Follow(in, policy.Decision{}, []policy.Dependency{dep}, "").Blockers
}

// SlotsProblem says that the slots of the ApplicationSet count by what its Applications show, because the object of
// them cannot be read; empty if it can, or need not be.
func (o *Outlook) SlotsProblem() string {
	if o.seen == nil {
		return ""
	}
	err := o.view.Problem(o.Set)
	if err == nil {
		return ""
	}
	return "the slots of maxUpdate count by what the Applications show, and the gate may know of more, because its " +
		"ConfigMaps cannot be read: " + err.Error()
}
