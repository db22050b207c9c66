// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// mostObjects bounds the objects that speak of one revision: each is read live.
const mostObjects = 10

// selectors select the objects of a Verification that speak of a revision: those that stepgate has created for its
// ApplicationSet, and, unless it creates them, those of others. What it has created for another ApplicationSet, it has
// because somebody asked it to who may not be allowed to do so himself.
func selectors(v *settings.Verification, revision string) []labels.Selector {
	own := labels.Set{}
	for key, value := range v.Selector {
		own[key] = value
	}
	own[RevisionLabel], own[ForLabel] = revision, v.For
	if v.Template != "" {
		return []labels.Selector{own.AsSelector()}
	}
	others := labels.Set{}
	for key, value := range own {
		others[key] = value
	}
	delete(others, ForLabel)
	return []labels.Selector{own.AsSelector(), others.AsSelector().Add(notCreated)}
}

// notCreated is what the labels have to be of what stepgate has not created.
var notCreated = requirement("!" + ForLabel)

// requirement is the first of a selector that is valid.
func requirement(text string) labels.Requirement {
	selector, _ := labels.Parse(text)
	all, _ := selector.Requirements()
	return all[0]
}

// speaks reports whether an object of the kind and the namespace of a Verification is one of those that are selected.
func speaks(v *settings.Verification, selected []labels.Selector, name string, of map[string]string) bool {
	return (v.Name == "" || name == v.Name) && slices.ContainsFunc(selected, func(s labels.Selector) bool {
		return s.Matches(labels.Set(of))
	})
}

// said is what an object of a name says, which was created at a time.
func said(name string, at metav1.Time, found policy.Finding) policy.Finding {
	found.Detail, found.At = name+" says "+found.Detail, at.Time
	return found
}

// together is what objects say together.
func together(v *settings.Verification, revision string, each []policy.Finding) policy.Finding {
	switch {
	case len(each) == 0:
		return none(v, revision)
	case len(each) > mostObjects:
		return tooMany(revision)
	}
	slices.SortFunc(each, func(a, b policy.Finding) int { return strings.Compare(a.Detail, b.Detail) })
	return policy.Together(each)
}

// none says that no object speaks of the revision, and who was to make it.
func none(v *settings.Verification, revision string) policy.Finding {
	detail := fmt.Sprintf("there is none with the label %s=%s", RevisionLabel, revision)
	if v.Template != "" {
		detail += "; stepgate makes it (config.verify.create), or logs why not"
	}
	return policy.Finding{Detail: detail}
}

func tooMany(revision string) policy.Finding {
	return policy.Finding{Detail: fmt.Sprintf("more than %d have the label %s=%s", mostObjects, RevisionLabel, revision)}
}

// unspeakable is found where nothing can speak of what is deployed.
var unspeakable = policy.Finding{Detail: "no label can stand for what is deployed"}

// Among finds what those of some objects say that are of a Verification and speak of what is deployed. The objects are of
// its kind, and in its namespace.
func Among(v *settings.Verification, what string, objects []*unstructured.Unstructured) policy.Finding {
	revision := LabelOf(what)
	if revision == "" {
		return unspeakable
	}
	var each []policy.Finding
	selected := selectors(v, revision)
	for _, o := range objects {
		if speaks(v, selected, o.GetName(), o.GetLabels()) {
			each = append(each, said(o.GetName(), o.GetCreationTimestamp(), says(v, o)))
		}
	}
	return together(v, revision, each)
}

// Concerns reports whether an object of a kind in a namespace may be one that is waited for.
func Concerns(all []settings.Verification, kind schema.GroupResource, namespace string) bool {
	return slices.ContainsFunc(all, func(v settings.Verification) bool {
		return v.Resource == kind && v.Namespace == namespace
	})
}

// Of finds the entry of a Verification of the rule; nil if there is none.
func Of(all []settings.Verification, v policy.Verification) *settings.Verification {
	if i := slices.IndexFunc(all, func(o settings.Verification) bool { return o.Verification == v }); i >= 0 {
		return &all[i]
	}
	return nil
}
