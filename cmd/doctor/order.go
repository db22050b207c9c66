// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"slices"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// objects are all ApplicationSets and Applications that were read.
func (f *Facts) objects() *judge.Objects {
	all := judge.NewObjects()
	for i := range f.ApplicationSets.Value {
		all.AddSet(argocd.NewApplicationSet(&f.ApplicationSets.Value[i]))
	}
	for _, p := range f.Applications.Value {
		all.AddApplication(p)
	}
	return all
}

// follower is an ApplicationSet with stepgate.io/after, or an Application in the form of one, with its name.
type follower struct {
	set         *argocd.ApplicationSet
	application string
}

// name is that of the object that has the annotation.
func (f follower) name() string { return f.set.Namespace + "/" + cmp.Or(f.application, f.set.Name) }

// followers are the ApplicationSets and Applications with stepgate.io/after that a release gates.
func (f *Facts) followers(r *Installation) (all []follower) {
	for i := range f.ApplicationSets.Value {
		set := &f.ApplicationSets.Value[i]
		if _, has := set.Annotations[argocd.AfterAnnotation]; has && r.gated(set.Namespace) {
			all = append(all, follower{set: argocd.NewApplicationSet(set)})
		}
	}
	for _, p := range f.Applications.Value {
		if _, has := p.Annotations.Get(argocd.AfterAnnotation); has && r.gated(p.Namespace) {
			all = append(all, follower{argocd.Alone(p.Namespace, p.UID, p.Annotations), p.Name})
		}
	}
	return all
}

// order says what is wrong with what comes after what.
func (f *Facts) order(r *Installation) Check {
	const name = "after"
	all := f.followers(r)
	switch {
	case f.ApplicationSets.Err != nil:
		return notRead(name, "the ApplicationSets", f.ApplicationSets.Err)
	case f.Applications.Err != nil:
		return notRead(name, "the Applications", f.Applications.Err)
	case len(all) == 0:
		return skipped(name, "Nothing that was read has the annotation %s.", settings.AfterAnnotation)
	case r.Flags == nil:
		return r.unsettled(name)
	}
	parser, known := settings.NewParser(r.Flags.Gate, settings.At(f.Now)), f.objects()
	var unreadable, wrong []string
	for _, one := range all {
		read := parser.Of(one.set)
		for _, p := range read.Problems {
			if p.Annotation == settings.AfterAnnotation {
				unreadable = append(unreadable, one.name()+": "+p.Text)
			}
		}
		for _, p := range judge.AfterProblems(parser, known, judge.FollowerOf(one.set, one.application), read.After) {
			wrong = append(wrong, one.name()+": "+p.Text)
		}
	}
	return r.orderFound(name, len(all), unreadable, wrong)
}

func (r *Installation) orderFound(name string, all int, unreadable, wrong []string) Check {
	var c Check
	allowed := "no other namespace may be named"
	if names := r.Flags.Gate.AfterNamespaces; len(names) > 0 {
		allowed = "--after-namespaces: " + list(names)
	}
	switch {
	case len(unreadable) > 0:
		c = problem(name, "%s cannot be read, and nothing of it starts (%s).",
			count(len(unreadable), "annotation", "annotations"), allowed).
			do("Correct the annotation, or allow the namespace in config.afterNamespaces: " +
				screen.Page("docs/after.md") + ".")
	case len(wrong) > 0:
		c = warning(name, "%s has %s.", settings.AfterAnnotation,
			count(len(wrong), "name that does not exist or closes a circle", "names that do not exist or close a circle")).
			do("Nothing starts that waits for a name that does not exist: create it, or take the name out. In a circle " +
				"each waits until the others are done: take one of its names out.")
	default:
		return ok(name, "%s after others that exist (%s).", count(all, "object comes", "objects come"), allowed)
	}
	c.Details = slices.Concat(unreadable, wrong)
	return c
}
