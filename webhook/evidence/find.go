package evidence

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// mostObjects bounds the objects that speak of one revision: each is read live.
const mostObjects = 10

// selector selects the objects of a Verification that speak of a revision.
func selector(v *settings.Verification, revision string) labels.Selector {
	set := labels.Set{}
	for key, value := range v.Selector {
		set[key] = value
	}
	set[RevisionLabel] = revision
	return set.AsSelector()
}

// found is what objects say together: yes if there is one and all say yes, and no as soon as one says no.
func found(v *settings.Verification, revision string, objects []*unstructured.Unstructured) policy.Finding {
	switch {
	case revision == "":
		return policy.Finding{Detail: "no label can stand for what is deployed"}
	case len(objects) == 0:
		return none(v, revision)
	case len(objects) > mostObjects:
		return tooMany(revision)
	}
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	all := policy.Finding{Answer: policy.Yes}
	for _, o := range objects {
		one := saysOne(v, o)
		one.Detail = o.GetName() + " says " + one.Detail
		if one.Answer == policy.No {
			return one
		}
		if one.Answer != policy.Yes && all.Answer == policy.Yes || all.Detail == "" {
			all = one
		}
	}
	return all
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

func saysOne(v *settings.Verification, o *unstructured.Unstructured) policy.Finding {
	switch {
	case o.GetDeletionTimestamp() != nil:
		return policy.Finding{Detail: "nothing: it is being deleted"}
	case v.If != nil:
		return v.If.Says(o.Object)
	}
	return healthSays(o)
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
