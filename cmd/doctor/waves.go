// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepgate/stepgate/cmd/lint"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// orders are the ApplicationSets that a release gates and that have an order, and the orders of parent Applications that
// it gates, if it orders their children.
func (f *Facts) orders(r *Installation) (all []*argocd.ApplicationSet) {
	for i := range f.ApplicationSets.Value {
		if set := argocd.NewApplicationSet(&f.ApplicationSets.Value[i]); set.Ordered() && r.gated(set.Namespace) {
			all = append(all, set)
		}
	}
	if r.Flags != nil && r.Flags.Gate.Waves {
		all = append(all, f.parents(r)...)
	}
	return all
}

// orderingParents are the parent Applications of the cluster, if a release orders the children of parents.
func (f *Facts) orderingParents() (all []*argocd.Projection) {
	if slices.ContainsFunc(f.Installations, func(r *Installation) bool { return r.Flags != nil && r.Flags.Gate.Waves }) {
		for _, p := range f.Applications.Value {
			if p.Waves != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// parents are the orders of parent Applications that a release gates.
func (f *Facts) parents(r *Installation) (all []*argocd.ApplicationSet) {
	for _, p := range f.Applications.Value {
		if p.Waves != nil && r.gated(p.Namespace) {
			all = append(all, p.Waves)
		}
	}
	return all
}

// named is the kind that kubectl takes, and the name, of what gives an order.
func named(set *argocd.ApplicationSet) (kind, name string) {
	if parent, is := policy.ParentNamed(set.Name); is {
		return "application", parent
	}
	return "applicationset", set.Name
}

// waves says whether a release orders by sync waves, and what lint finds there.
func (f *Facts) waves(r *Installation) Check {
	const name = "waves"
	sets := 0
	for i := range f.ApplicationSets.Value {
		set := &f.ApplicationSets.Value[i]
		_, waves := set.Annotations[settings.WavesAnnotation]
		_, limited := set.Annotations[settings.MaxUpdateAnnotation]
		if (waves || limited) && r.gated(set.Namespace) {
			sets++
		}
	}
	parents := f.parents(r)
	switch {
	case f.ApplicationSets.Err != nil:
		return notRead(name, "the ApplicationSets", f.ApplicationSets.Err)
	case f.Applications.Err != nil:
		return notRead(name, "the Applications", f.Applications.Err)
	case sets+len(parents) == 0:
		return skipped(name, "Nothing that was read has the annotation %s.", settings.WavesAnnotation)
	case r.Flags == nil:
		return r.unsettled(name)
	}
	var wrong, lost, commands []string
	for _, result := range f.Lint.Check(lint.Options{
		Clock: settings.At(f.Now), ProgressiveSyncs: true, Installation: &r.Flags.Gate,
	}).ApplicationSets {
		for _, found := range result.Findings {
			if !lint.OfWaves(found.Rule) || !r.gated(result.Namespace) {
				continue
			}
			text := fmt.Sprintf("%s %s/%s: %s", cmp.Or(result.Kind, "ApplicationSet"), result.Namespace, result.Name,
				found.Message)
			if found.Severity < lint.Warning {
				lost = append(lost, text)
				continue
			}
			wrong, commands = append(wrong, text), append(commands, "stepgate lint -n "+result.Namespace)
		}
	}
	return r.wavesFound(name, sets, parents, wrong, lost, slices.Compact(slices.Sorted(slices.Values(commands))))
}

// wavesFound words what was found. lost are children of parents that are not known.
func (r *Installation) wavesFound(
	name string, sets int, parents []*argocd.ApplicationSet, wrong, lost, commands []string,
) (c Check) {
	switch {
	case len(parents) > 0 && !r.Flags.Gate.Waves:
		c = warning(name, "%s, and this release orders the children of none.", count(len(parents),
			"Application has "+settings.WavesAnnotation, "Applications have "+settings.WavesAnnotation)).
			do("Have it order them, or remove the annotation.").by(r.upgrade("waves.enabled=true"))
		for _, set := range parents {
			c.Details = append(c.Details, policy.Called(set.Namespace+"/"+set.Name))
		}
	case len(wrong) > 0:
		c = warning(name, "%s.", count(len(wrong), "thing is wrong with sync waves", "things are wrong with sync waves")).
			do("What to do about each:", commands...)
	default:
		c = ok(name, "Sync waves order %s, and the children of %s.", count(sets, "ApplicationSet", "ApplicationSets"),
			count(len(parents), "Application", "Applications"))
	}
	c.Details = slices.Concat(c.Details, wrong, lost)
	return c
}
