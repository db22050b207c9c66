package doctor

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/cmd/screen"
)

// longList is the number of Applications above which the LIST of an allow costs most of it: docs/scale.md has the
// figures.
const longList = 1000

// lists says whether a sync that is allowed costs the API server a long LIST, which the write barrier would save.
func (f *Facts) lists(r *Installation) Check {
	const name = "lists"
	switch {
	case f.ApplicationSets.Err != nil:
		return notRead(name, "the ApplicationSets", f.ApplicationSets.Err)
	case r.Flags == nil:
		return r.unsettled(name)
	case r.Flags.Barrier.Name != "":
		return ok(name, "The write barrier takes the place of a LIST of more than 100 Applications.")
	}
	namespace, most := "", 0
	for _, n := range f.rollingNamespaces() {
		if count := f.applications(n); r.gated(n) && count > most {
			namespace, most = n, count
		}
	}
	switch {
	case namespace == "":
		return skipped(name, "No ApplicationSet has RollingSync steps where this release gates.")
	case most > longList:
		return warning(name, "ApplicationSets have %d Applications in namespace %s. For every sync that it allows, "+
			"stepgate lists those with the labels of earlier steps.", most, namespace).
			do("Switch the write barrier on. What it needs: " + screen.Page("docs/install.md#large-applicationsets")).
			by(r.upgrade("writeBarrier.enabled=true"))
	}
	return ok(name, "They are short: in no namespace do ApplicationSets have more than %s.",
		count(most, "Application", "Applications"))
}

// applications counts those that the ApplicationSets of a namespace have. A LIST has those of them that have the labels
// of earlier steps.
func (f *Facts) applications(namespace string) int {
	all := 0
	for i := range f.ApplicationSets.Value {
		if set := &f.ApplicationSets.Value[i]; set.Namespace == namespace {
			all += generated(set)
		}
	}
	return all
}

// generated is how many Applications an ApplicationSet has. Its status lists 5,000 of them by default, and counts all.
func generated(set *argo.ApplicationSet) int {
	return max(len(set.Status.Resources), int(set.Status.ResourcesCount))
}
