// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
)

// lists says whether a sync that is allowed costs the API server a long LIST, which the write barrier would save.
func (f *Facts) lists(r *Installation) Check {
	const name = "lists"
	switch {
	case f.ApplicationSets.Err != nil:
		return notRead(name, "the ApplicationSets", f.ApplicationSets.Err)
	case r.Flags == nil:
		return r.unsettled(name)
	case r.Flags.Barrier.Name != "" && f.Applications.Err == nil && !f.exists(r.Flags.Barrier):
		return warning(name, "Application %s does not exist, so there is no write barrier: %s", r.Flags.Barrier, longLists).
			do("Install the chart again.").by(r.upgrade())
	case r.Flags.Barrier.Name != "":
		return ok(name, "The write barrier takes the place of a LIST in namespaces of more than %d Applications.",
			cluster.ShortList)
	}
	namespace, most := "", 0
	for _, n := range f.orderedNamespaces() {
		if count := f.applications(n); r.gated(n) && count > most {
			namespace, most = n, count
		}
	}
	switch {
	case namespace == "":
		return skipped(name, "No ApplicationSet has RollingSync steps or waves where this release gates.")
	case most <= cluster.ShortList:
		return ok(name, "They are short: in no namespace are there more than %s.", count(most, "Application", "Applications"))
	}
	c := warning(name, "Namespace %s has %d Applications. %s", namespace, most, longLists)
	if r.Flags.NamesOnly {
		return c.do("The write barrier, which costs the same with any number, needs one watch of all namespaces, and so a " +
			"pattern instead of names. What it needs: " + screen.Page("docs/install.md#large-namespaces")).
			by(r.upgrade(fmt.Sprintf("argocd.applicationNamespaces={/^(%s)$/}", strings.Join(r.Flags.Namespaces, "|"))))
	}
	return c.do("Switch the write barrier on, which costs the same with any number.").
		by(r.upgrade("writeBarrier.enabled=true"))
}

const longLists = "For every sync that it allows, stepgate lists the Applications of the namespace, and the write takes up " +
	"to 25 times as long."

// applications counts those of a namespace. Who may not list them knows those that ApplicationSets say they have.
func (f *Facts) applications(namespace string) (n int) {
	for _, p := range f.Applications.Value {
		if p.Namespace == namespace {
			n++
		}
	}
	if f.Applications.Err == nil {
		return n
	}
	for i := range f.ApplicationSets.Value {
		if set := &f.ApplicationSets.Value[i]; set.Namespace == namespace {
			n += generated(set)
		}
	}
	return n
}

// exists reports whether there is an Application.
func (f *Facts) exists(name types.NamespacedName) bool {
	return slices.ContainsFunc(f.Applications.Value, func(p *argocd.Projection) bool {
		return p.Namespace == name.Namespace && p.Name == name.Name
	})
}

// generated is how many Applications an ApplicationSet has. Its status lists 5,000 of them by default, and counts all.
func generated(set *argo.ApplicationSet) int {
	return max(len(set.Status.Resources), int(set.Status.ResourcesCount))
}
